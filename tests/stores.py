"""Small stores that the real ingest makes, as fixtures, and readers of their arrays."""

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import icechunk
import numpy as np
import pytest
import zarr

import store
from ingest import pipeline
from ingest.run.parallel import allotted_cores, fits_on
from ingest.run.settings import USUAL, Limits, Settings
from ingest.text import reviews
from ingest.text.reviews import Data
from ingest.text.table import Table
from store.repository.writer import Writer, open_writer
from tests.coreference import write_chains, write_gap
from tests.made_once import made_once
from tests.treebanks import write_treebank

#: Tokens of a block: few, so that a few sentences make many blocks, and most blocks are not in the fit.
BLOCK = 128
FIT_TOKENS = 200
NEIGHBOUR_TOKENS = 80
TRAINING_STEPS = 200
#: Limits of an ingest with one short fit of the map of heads, and no rules, which most tests do not need.
LIMITS = Limits(
    block=BLOCK,
    fit_tokens=FIT_TOKENS,
    head_tokens=NEIGHBOUR_TOKENS,
    attention_steps=TRAINING_STEPS,
    map_fits=1,
    map_steps=60,
    rule_fit_sentences=0,
)
MAX_LENGTH = 24
SENTENCES = 40
#: Sentences and reviews in the store of the embedded model: to split all reviews takes 10 seconds.
DEFAULT_SENTENCES = 60
DEFAULT_REVIEWS = 300
#: A picture that takes no time; the default of `ingest_small`.
VIEW = "pca-exact-2d"
#: Pictures of feature points that take no time, one whole review, and context mixing.
FEATURES = {"features": "pca-joint,pca-each", "reviews": "3", "mixing": "auto"}
#: Every kind of picture, once: a projection that trains, one that is a matrix, two that look for neighbours.
RICH_VIEWS = (
    "pca-exact-2d",
    "attention-raw-2d",
    "pca-exact-3d",
    "pca-centroid-2d",
    "attentionviz-centroid-2d",
    "umap-exact-2d",
)

#: Limits of an ingest with rules and roles of few sentences, without random weights.
RULES = {"rule_fit_sentences": 8, "rule_judged_sentences": 12, "random_sentences": 0}

Ingest = Callable[..., str]


def ingest_small(place: Path, *, own_pool: bool = False, **settings: Any) -> str:
    """Run the real ingest in small blocks; any setting and any limit can be given. Returns the store's address.

    With `own_pool` fits run in the processes of the ingest, as for a user.
    """
    limits = {field.name: settings.pop(field.name) for field in fields(Limits) if field.name in settings}
    chosen: dict[str, Any] = {
        "max_length": MAX_LENGTH,
        "views": VIEW,
        "features": "none",
        "annotate": "none",
        "mixing": "none",
    }
    if "tokens" not in settings:
        chosen["sentences"] = SENTENCES
    chosen |= {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
    begin = pipeline.run if own_pool else _run
    with allotted_cores(1):
        begin(Settings(**chosen, store=str(place)), replace(LIMITS, **limits))
    return str(place)


@pytest.fixture(scope="session")
def ingest(tiny_model: Path, tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Ingest:
    """`ingest_small` of the tiny model on the reviews, unless another model or other data are given."""
    ingest = partial(ingest_small, model=tiny_model, data=tiny_data)
    if "PYTEST_XDIST_WORKER" in os.environ:  # one process compiles by numba, the others wait
        made_once(tmp_path_factory, "plain", ingest)
    return ingest


def _run(settings: Settings, limits: Limits = USUAL) -> None:
    """Run an ingest with its fits in a thread: a process of their own would import for seconds."""
    with ThreadPoolExecutor(1) as fits, fits_on(fits, workers=1):
        pipeline.run(settings, limits)


def ingest_without(stage: str, ingest: Ingest, place: Path, **settings: Any) -> str:
    """Make a store as a Headscape without this stage would; `stage` is the name of what the stage writes."""
    name = store.open_corpus(ingest(place, **settings)).name
    with rewritten(place) as writer:
        writer.delete(f"models/{name}/{stage}")
    return str(place)


@contextmanager
def rewritten(place: str | Path) -> Iterator[Writer]:
    """A writer of a store, for what another version of Headscape would have left there; published at the end."""
    with open_writer(str(place)) as writer:
        yield writer
        writer.commit("rewritten")
        writer.publish("rewritten")


@pytest.fixture(scope="session")
def tiny_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store of the tiny model, with the feature points of the sample and of a review."""
    return str(made_once(tmp_path_factory, "tiny", partial(ingest, **FEATURES)))


@pytest.fixture(scope="session")
def plain_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store that `ingest` makes in one go with its default settings; tests compare stores made in other ways with it."""
    return str(made_once(tmp_path_factory, "plain", ingest))


@pytest.fixture(scope="session")
def rich_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store with every kind of picture, for tests of neighbours. A process imports and compiles UMAP for it."""
    return str(made_once(tmp_path_factory, "rich", partial(ingest, views=",".join(RICH_VIEWS), **FEATURES)))


@pytest.fixture(scope="session")
def default_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of the embedded model on a few embedded reviews, with the first picture; without probes, which take half a minute."""
    chosen: dict[str, Any] = {"sentences": DEFAULT_SENTENCES, "dtype": "float32", "views": VIEW, "probes": "none"}

    def make(place: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reviews, "_embedded_reviews", partial(_few_reviews, reviews._embedded_reviews))
            limits = replace(USUAL, map_fits=LIMITS.map_fits, map_steps=LIMITS.map_steps, **RULES)
            _run(Settings(**chosen | FEATURES, store=str(place)), limits)

    return str(made_once(tmp_path_factory, "default", make))


def _few_reviews(read: Callable[[Data], Table], data: Data) -> Table:
    """`DEFAULT_REVIEWS` rows at equal distances: negative reviews come first in the table."""
    table = read(data)
    return replace(table, columns=table.columns[:: len(table) // DEFAULT_REVIEWS])


@pytest.fixture(scope="session")
def any_store(any_model: Path, tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store of each of the random models."""
    return _of_model(any_model, tmp_path_factory, ingest)


@pytest.fixture(scope="session")
def odd_store(odd_model: Path, tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    return _of_model(odd_model, tmp_path_factory, ingest)


def _of_model(model: Path, factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    return str(made_once(factory, f"store-of-{model.name}", partial(ingest, model=model)))


@pytest.fixture(scope="session")
def few_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store of ten sentences, without feature points."""
    return str(made_once(tmp_path_factory, "few", partial(ingest, sentences=10)))


@pytest.fixture(scope="session")
def bank_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store of a small treebank, with its words and relations."""
    bank = made_once(tmp_path_factory, "bank.conllu", write_treebank)
    return str(made_once(tmp_path_factory, "bank", partial(ingest, data=bank, annotate="auto")))


@pytest.fixture(scope="session")
def roles_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store of the small treebank, with rules and roles of the heads, without probes."""
    bank = made_once(tmp_path_factory, "bank.conllu", write_treebank)
    return str(
        made_once(tmp_path_factory, "roles", partial(ingest, data=bank, annotate="auto", probes="none", **RULES))
    )


@pytest.fixture(scope="session")
def chains_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store of passages with chains of mentions."""
    chains = made_once(tmp_path_factory, "chains.conll", write_chains)
    return str(made_once(tmp_path_factory, "chains", partial(ingest, data=chains, annotate="auto")))


@pytest.fixture(scope="session")
def gap_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store of a table in the format of GAP."""
    gap = made_once(tmp_path_factory, "gap.tsv", write_gap)
    return str(made_once(tmp_path_factory, "gap", partial(ingest, data=gap, annotate="auto")))


@pytest.fixture(scope="module")
def bank_corpus(bank_store: str) -> store.Corpus:
    return store.open_corpus(bank_store)


@pytest.fixture
def few(few_store: str, tmp_path: Path) -> str:
    """A copy of `few_store`, which a test may write to."""
    return str(shutil.copytree(few_store, tmp_path / "few"))


@pytest.fixture(scope="session")
def tiny_corpus(tiny_store: str) -> store.Corpus:
    """The corpus of `tiny_store`, opened once: a snapshot never changes, and hundreds of tests read its arrays."""
    return store.open_corpus(tiny_store)


@pytest.fixture
def without_reach(tiny_store: str, tmp_path: Path) -> str:
    """A copy of `tiny_store` whose context mixing has no reaches, as before the format had them."""
    place = str(shutil.copytree(tiny_store, tmp_path / "store"))
    with rewritten(place) as writer:
        group = writer.group(f"models/{store.open_corpus(place).name}/mixing")
        for name in ("target", "reach", "received", "reach_hash"):
            del group[name]
        group.attrs.put({name: value for name, value in group.attrs.items() if name != "reached_sentences"})
    return place


@pytest.fixture(scope="session")
def two_views(ingest: Ingest, genre_data: Path, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    """A corpus with pictures in two and in three dimensions, and a column of the data."""
    make = partial(ingest, data=genre_data, views="pca-exact-2d,pca-exact-3d")
    return store.open_corpus(str(made_once(tmp_path_factory, "two_views", make)))


@pytest.fixture(scope="session")
def three(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of three ingests; the first also published its first picture early."""

    def make(place: Path) -> None:
        for sentences in (5, 10, 15):
            ingest(place, sentences=sentences)

    return str(made_once(tmp_path_factory, "three", make))


@pytest.fixture
def copy(three: str, tmp_path: Path) -> str:
    return str(shutil.copytree(three, tmp_path / "store"))


@pytest.fixture(scope="session")
def read_arrays() -> Callable[[str], dict[str, np.ndarray]]:
    """A reader of every published array of a store, by its path, with icechunk and zarr alone."""

    def read(url: str) -> dict[str, np.ndarray]:
        repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
        root = zarr.open_group(repository.readonly_session("main").store, mode="r")
        members = root.members(max_depth=None)
        return {path: np.asarray(array[...]) for path, array in members if isinstance(array, zarr.Array)}

    return read


@pytest.fixture(scope="session")
def commits() -> Callable[[str], list[str]]:
    """A reader of the messages of all commits of a store, oldest first."""

    def read(url: str) -> list[str]:
        repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
        return [info.message for info in repository.ancestry(branch="ingest")][::-1]

    return read
