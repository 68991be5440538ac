"""A tiny random BERT, a few reviews, and the store the real ingest makes of them. Nothing here needs a network."""

import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Before anything imports `datasets`, `transformers` or `huggingface_hub`: they read these once.
_CACHE = tempfile.TemporaryDirectory(prefix="headscape-tests-", ignore_cleanup_errors=True)
os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "HF_HOME": _CACHE.name,
    "HF_DATASETS_CACHE": f"{_CACHE.name}/datasets",
    "TOKENIZERS_PARALLELISM": "false",
}

import hypothesis  # noqa: E402
import icechunk  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import zarr  # noqa: E402

import store  # noqa: E402
from ingest import corpus, pipeline, sample  # noqa: E402
from ingest.__main__ import main as ingest_command  # noqa: E402
from ingest.pictures import attention_projection, neighbours  # noqa: E402
from ingest.settings import DEFAULT_VIEWS, Settings  # noqa: E402
from tests.browser import chromium, open_page, space, space_server, space_store, tiny_server  # noqa: E402, F401
from tests.client import base, client  # noqa: E402, F401

# No clock decides a test, and the same cases run every time.
hypothesis.settings.register_profile("calm", deadline=None, database=None, derandomize=True)
hypothesis.settings.load_profile("calm")

#: Small, so that a few sentences already make many blocks, and most are not a part of the fit.
BLOCK = 64
FIT_TOKENS = 200
NEIGHBOUR_TOKENS = 80
TRAINING_STEPS = 200
MAX_LENGTH = 24
SENTENCES = 40
#: Of the store of the embedded model.
DEFAULT_SENTENCES = 200
#: A picture that takes no time, unless a test is about another.
VIEW = "pca-exact-2d"
#: Of feature points, those that take no time, and the one whole review.
FEATURES = {"features": "pca-joint,pca-each", "reviews": "3"}
#: Every kind of picture, once: a projection that trains, one that is a matrix, two that look for neighbours.
RICH_VIEWS = (
    "pca-exact-2d",
    "attention-raw-2d",
    "pca-exact-3d",
    "pca-centroid-2d",
    "attentionviz-centroid-2d",
    "umap-exact-2d",
)

_TEXT = (
    "the a film movie plot was is not very good bad great awful acting i it we loved hated scene ending and but with of"
    " music mr . wayne really never watch again one two slow funny sad long"
)
WORDS = _TEXT.split()

Ingest = Callable[..., str]


def save_model(
    folder: Path,
    *,
    layers: int = 2,
    heads: int = 2,
    channels: int = 8,
    seed: int = 0,
    architecture: str = "BertModel",
    labels: tuple[str, ...] = ("negative", "positive"),
) -> Path:
    """A BERT with random weights, large enough that attention is not uniform, and with biases that are not zero."""
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=heads * channels,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * channels,
        max_position_embeddings=128,
        initializer_range=0.3,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    options = {"add_pooling_layer": False} if architecture == "BertModel" else {}
    model = getattr(transformers, architecture)(config, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    _save_tokenizer(folder)
    return folder


def _vocabulary() -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,!?'\"-()", *"0123456789", *letters]
    return list(dict.fromkeys([*pieces, *(f"##{letter}" for letter in letters), *WORDS]))


def _save_tokenizer(folder: Path) -> None:
    vocabulary = {piece: number for number, piece in enumerate(_vocabulary())}
    transformers.BertTokenizer(vocab=vocabulary, do_lower_case=True).save_pretrained(folder)


def write_reviews(path: Path, *, reviews: int = 60, seed: int = 0, genres: bool = False) -> Path:
    """Short reviews with breaks, duplicates, an empty one, and words the model does not know; with genres, if asked."""
    import csv

    choose = random.Random(seed)
    rows = [("", "positive"), ("The film was good.", "positive"), ("The film was good.", "negative")]
    while len(rows) < reviews:
        sentences = [_sentence(choose) for _ in range(choose.randint(1, 4))]
        rows.append((choose.choice([" ", "<br /><br />"]).join(sentences), choose.choice(["negative", "positive"])))
    table = [("text", "label"), *rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(_with_genres(table) if genres else table)
    return path


def _with_genres(table: list[tuple[str, str]]) -> list[tuple[str, ...]]:
    genres = ["genre", *("war", "art", "") * len(table)]
    return [(*row, genre) for row, genre in zip(table, genres, strict=False)]


def _sentence(choose: random.Random) -> str:
    words = [choose.choice([word for word in WORDS if word.isalpha()]) for _ in range(choose.randint(2, 9))]
    return " ".join([*words, choose.choice(["zany", "very", "odd"])]).capitalize() + choose.choice(".!?")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model") / "tiny-bert")


@pytest.fixture(scope="session")
def odd_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Other numbers of layers, heads and channels, no two of them equal."""
    return save_model(tmp_path_factory.mktemp("model") / "odd-bert", layers=3, heads=4, channels=5, seed=1)


@pytest.fixture(scope="session", params=["tiny_model", "odd_model"])
def any_model(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder


@pytest.fixture(scope="session")
def eager() -> Callable[[Path], Any]:
    """Loads transformers' own BERT with its slow attention, which hands out the patterns, in float64."""

    def load(folder: Path) -> Any:
        return transformers.BertModel.from_pretrained(
            folder, attn_implementation="eager", dtype=torch.float64, add_pooling_layer=False
        ).eval()

    return load


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reviews(tmp_path_factory.mktemp("data") / "reviews.csv")


@pytest.fixture(scope="session")
def ingest(tiny_model: Path, tiny_data: Path) -> Ingest:
    """Runs the real ingest in small blocks; every setting can be given. Returns the store's address."""

    def ingest(place: Path, *, fit_tokens: int = FIT_TOKENS, **settings: Any) -> str:
        chosen: dict[str, Any] = {"model": str(tiny_model), "data": str(tiny_data), "max_length": MAX_LENGTH}
        chosen |= {"views": VIEW, "features": "none"}
        if "tokens" not in settings:
            chosen["sentences"] = SENTENCES
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(corpus, "BLOCK", BLOCK)
            patch.setattr(sample, "FIT_TOKENS", fit_tokens)
            patch.setattr(neighbours.Neighbours, "fit_tokens", NEIGHBOUR_TOKENS)
            patch.setattr(attention_projection, "STEPS", TRAINING_STEPS)
            chosen |= {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
            pipeline.run(Settings(**(chosen | {"store": str(place)})))
        return str(place)

    return ingest


@pytest.fixture(scope="session")
def tiny_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """With the feature points of the sample and of a review."""
    return ingest(tmp_path_factory.mktemp("store") / "tiny", **FEATURES)


@pytest.fixture(scope="session")
def rich_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store with several pictures. It takes processes that import UMAP: tests of neighbours look here."""
    return ingest(tmp_path_factory.mktemp("store") / "rich", views=",".join(RICH_VIEWS), **FEATURES)


@pytest.fixture(scope="session")
def default_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The embedded model on a few of the embedded reviews, with the picture that is made first."""
    place = str(tmp_path_factory.mktemp("default") / "store")
    chosen = {"sentences": DEFAULT_SENTENCES, "dtype": "float32", "views": DEFAULT_VIEWS[0], **FEATURES}
    pipeline.run(Settings(store=place, **chosen))
    return place


@pytest.fixture
def tiny_corpus(tiny_store: str) -> Iterator[store.Corpus]:
    return store.open_corpus(tiny_store)


@pytest.fixture(scope="session")
def genre_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews with a column beside text and label."""
    return write_reviews(tmp_path_factory.mktemp("genres") / "reviews.csv", genres=True)


@pytest.fixture(scope="session")
def two_views(ingest: Ingest, genre_data: Path, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    """Pictures in two and in three dimensions, with a column of the data."""
    place = tmp_path_factory.mktemp("two_views")
    return store.open_corpus(ingest(place / "store", data=genre_data, views="pca-exact-2d,pca-exact-3d"))


@pytest.fixture(scope="session")
def three(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with three publications."""
    place = tmp_path_factory.mktemp("three") / "store"
    for sentences in (5, 10, 15):
        ingest(place, sentences=sentences)
    return str(place)


@pytest.fixture
def copy(three: str, tmp_path: Path) -> str:
    return str(shutil.copytree(three, tmp_path / "store"))


@pytest.fixture(scope="session")
def read_arrays() -> Callable[[str], dict[str, np.ndarray]]:
    """Every array of what is published, by its path, read by icechunk and zarr alone."""

    def read(url: str) -> dict[str, np.ndarray]:
        repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
        root = zarr.open_group(repository.readonly_session("main").store, mode="r")
        members = root.members(max_depth=None)
        return {path: np.asarray(array[...]) for path, array in members if isinstance(array, zarr.Array)}

    return read


@pytest.fixture(scope="session")
def commits() -> Callable[[str], list[str]]:
    """Messages of everything ever committed to a store, oldest first."""

    def read(url: str) -> list[str]:
        repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
        return [info.message for info in repository.ancestry(branch="ingest")][::-1]

    return read


@pytest.fixture
def complaint(
    tiny_model: Path, tiny_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """The one sentence with which `python -m ingest` refuses what it is asked."""

    def complaint(**settings: object) -> str:
        asked = {"model": tiny_model, "data": tiny_data, "store": tmp_path / "store", "max_length": MAX_LENGTH}
        asked |= settings
        flags = [part for name, value in asked.items() for part in (f"--{name.replace('_', '-')}", str(value))]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["ingest", *flags])
            status = ingest_command()
        said = _said(capfd.readouterr().err)
        assert (status, len(said)) == (1, 1), said
        assert said[0].startswith("ingest: ")
        assert _INSTRUCTION.search(said[0]), f"says no next step: {said[0]}"
        return said[0].removeprefix("ingest: ")

    return complaint


#: The last sentence tells what to do.
_INSTRUCTION = re.compile(
    r"[.)] (Give|Run|Save|Choose|Name|Install|Ingest|Free|Use|Try|Update|Check|List)[^.]*(\.\S[^.]*)*\.{1,3}$"
)


def _said(stderr: str) -> list[str]:
    """Lines for a person: neither empty nor a progress bar."""
    return [
        line
        for line in stderr.replace("\r", "\n").splitlines()
        if line.strip() and "it/s]" not in line and "|" not in line
    ]
