"""An ingest that stores the vectors of the first tokens only; head and layer statistics are of all sentences."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import zarr

import store
from ingest import pipeline
from ingest.run.errors import IngestError
from ingest.run.settings import Settings
from store.repository.arrays import array_of
from store.repository.writer import open_writer
from store.schema.model import BOUNDS
from store.verify import verify
from tests.interruption import interrupted
from tests.made_once import made_once
from tests.stores import BLOCK, Ingest

ReadArrays = Callable[[str], dict[str, np.ndarray]]

#: Tokens with vectors, fewer than a block of the tests has.
VECTORS = "100"


@pytest.fixture(scope="module")
def part_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    return str(made_once(tmp_path_factory, "part", partial(ingest, vectors=VECTORS)))


@pytest.fixture(scope="module")
def part(part_store: str) -> store.Corpus:
    return store.open_corpus(part_store)


@pytest.fixture
def copy(part_store: str, tmp_path: Path) -> Path:
    """A copy of `part_store`, which a test may write to."""
    return Path(shutil.copytree(part_store, tmp_path / "store"))


def test_vectors_are_stored_of_the_first_whole_block(part: store.Corpus, part_store: str) -> None:
    model = store.open_snapshot(part_store).group(f"models/{part.name}")
    assert part.n_tokens < part.counted_tokens
    for name in ("query", "key", "value_norm", "token_statistic", "token_mixing"):
        array = model[name]
        assert isinstance(array, zarr.Array)
        assert array.shape[array.metadata.dimension_names.index("token")] == BLOCK


def test_all_sentences_are_counted(part: store.Corpus, tiny_corpus: store.Corpus) -> None:
    assert (part.counted_sentences, part.counted_tokens) == (tiny_corpus.n_sentences, tiny_corpus.n_tokens)
    assert (tiny_corpus.counted_sentences, tiny_corpus.counted_tokens) == (40, tiny_corpus.n_tokens)


@pytest.mark.parametrize("name", ["head_statistic", "head_profile", "received_at", "layer_mixing", "head_labels"])
def test_a_statistic_is_that_of_all_sentences(name: str, part: store.Corpus, tiny_corpus: store.Corpus) -> None:
    assert getattr(part, name).equals(getattr(tiny_corpus, name))


@pytest.mark.parametrize("name", ["query", "key", "value_norm", "token_statistic", "token_mixing"])
def test_the_numbers_of_a_token_are_those_of_an_ingest_with_all_vectors(
    name: str, part: store.Corpus, tiny_corpus: store.Corpus
) -> None:
    """The first block has the same sentences in both ingests, and so the same batches."""
    some, every = getattr(part, name), getattr(tiny_corpus, name)
    np.testing.assert_array_equal(some, every.isel(token=slice(some.sizes["token"])))


@pytest.mark.parametrize("name", ["head_interval", "layer_interval"])
def test_an_interval_is_nearly_that_of_the_bootstrap(name: str, part: store.Corpus, tiny_corpus: store.Corpus) -> None:
    """For 40 sentences the intervals are not symmetric, and 500 draws give a percentile to a ninth of their deviation."""
    some, every = (getattr(corpus, name).sel(source=["all", "word", "other"]) for corpus in (part, tiny_corpus))
    width = every.sel(bound="high") - every.sel(bound="low")
    off = abs(some - every) / width.where(width > 1e-6)
    assert int(off.notnull().sum()) > 100
    assert float(off.mean()) < 0.06
    assert float(off.max()) < 0.5


def test_an_interval_contains_its_mean(part: store.Corpus) -> None:
    low, high = (part.head_interval.sel(bound=bound, source="all") for bound in BOUNDS)
    means = part.head_statistic.sel(source="all")
    assert bool(((low <= means) & (means <= high)).all())


def test_verify_finds_nothing_wrong(part_store: str) -> None:
    assert list(verify(store.open_snapshot(part_store))) == []


def test_verify_finds_intervals_that_are_not_those_of_the_sums(copy: Path, part: store.Corpus) -> None:
    with open_writer(str(copy)) as writer:
        squares = array_of(writer.group(f"models/{part.name}"), "block_square")
        squares[1] = 2 * np.asarray(squares[1])
        writer.publish("changed")
    findings = list(verify(store.open_snapshot(str(copy))))
    assert findings == [f"{part.name}: the intervals of heads do not follow from the sums of the blocks."]


def test_a_default_store_has_no_sums_of_squares(tiny_store: str) -> None:
    snapshot = store.open_snapshot(tiny_store)
    (model,) = snapshot.models
    assert "block_square" not in snapshot.group(f"models/{model}")
    assert "counted_sentences" not in snapshot.models[model]


def test_more_vectors_equal_an_ingest_with_all(copy: Path, ingest: Ingest, plain_store: str) -> None:
    grown = store.open_corpus(ingest(copy, vectors="all"))
    at_once = store.open_corpus(plain_store)
    assert (grown.n_tokens, "counted_tokens" in grown.attributes) == (at_once.n_tokens, False)
    for name in ("query", "head_statistic", "head_interval", "layer_interval"):
        assert getattr(grown, name).equals(getattr(at_once, name)), name
    np.testing.assert_array_equal(grown.places("pca-exact-2d", grown.rows), at_once.places("pca-exact-2d", grown.rows))


def test_fewer_vectors_delete_nothing(
    copy: Path, ingest: Ingest, capsys: pytest.CaptureFixture[str], part: store.Corpus
) -> None:
    grown = store.open_corpus(ingest(copy, vectors=str(BLOCK + 1)))
    assert grown.n_tokens > part.n_tokens
    capsys.readouterr()
    ingest(copy, vectors="1")
    assert capsys.readouterr().out.startswith("Nothing to do: ")


@pytest.fixture(scope="module")
def cut_short(part_store: str, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which the vectors of all tokens are written, but not yet declared."""
    place = Path(shutil.copytree(part_store, tmp_path_factory.mktemp("cut-short") / "store"))
    interrupted(ingest, place, (pipeline, "write_intervals"), after=0, vectors="all")
    return place


def test_an_interrupted_growth_is_not_seen(cut_short: Path, part: store.Corpus) -> None:
    seen = store.open_corpus(str(cut_short))
    assert (seen.n_tokens, seen.counted_tokens) == (part.n_tokens, part.counted_tokens)
    assert seen.head_interval.equals(part.head_interval)


def test_an_interrupted_growth_goes_on(
    cut_short: Path, ingest: Ingest, tiny_corpus: store.Corpus, tmp_path: Path
) -> None:
    grown = store.open_corpus(ingest(shutil.copytree(cut_short, tmp_path / "store"), vectors="all"))
    assert grown.n_tokens == tiny_corpus.n_tokens
    assert grown.head_interval.equals(tiny_corpus.head_interval)


@pytest.mark.slow
def test_an_interrupted_growth_may_be_given_up(
    cut_short: Path, ingest: Ingest, part: store.Corpus, tmp_path: Path
) -> None:
    copy = shutil.copytree(cut_short, tmp_path / "store")
    left = store.open_corpus(ingest(copy, vectors="1"))
    assert left.n_tokens == part.n_tokens
    assert left.head_interval.equals(part.head_interval)
    assert list(verify(store.open_snapshot(str(copy)))) == []


def test_more_sentences_are_only_counted(
    ingest: Ingest, part_store: str, tmp_path: Path, read_arrays: ReadArrays
) -> None:
    for sentences in (20, 40):
        ingest(tmp_path / "steps", sentences=sentences, vectors=VECTORS)
    steps, once = read_arrays(str(tmp_path / "steps")), read_arrays(part_store)
    assert steps.keys() == once.keys()
    for path, array in once.items():
        np.testing.assert_array_equal(steps[path], array, err_msg=path)


def test_a_store_with_all_vectors_keeps_them_and_counts_new_sentences(
    tmp_path: Path, ingest: Ingest, part: store.Corpus, tiny_corpus: store.Corpus
) -> None:
    """The intervals need sums of the former blocks, two or more, which follow from their stored statistics."""
    held = store.open_corpus(ingest(tmp_path, sentences=30)).n_sentences
    grown = store.open_corpus(ingest(tmp_path, vectors="1"))
    assert held <= grown.n_sentences < grown.counted_sentences == 40
    np.testing.assert_allclose(grown.head_statistic, tiny_corpus.head_statistic, rtol=1e-6)
    np.testing.assert_allclose(grown.head_interval, part.head_interval, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(grown.layer_interval, part.layer_interval, rtol=1e-4, atol=1e-6)
    assert list(verify(store.open_snapshot(str(tmp_path)))) == []


def test_pictures_alone_encode_no_more_vectors(copy: Path, ingest: Ingest, part: store.Corpus) -> None:
    grown = store.open_corpus(ingest(copy, stage="projections", views="pca-raw-2d", vectors="all"))
    assert (grown.views, grown.n_tokens) == (["pca-exact-2d", "pca-raw-2d"], part.n_tokens)


def test_an_ingest_says_what_has_vectors(
    tmp_path: Path, ingest: Ingest, capsys: pytest.CaptureFixture[str], part: store.Corpus
) -> None:
    ingest(tmp_path / "store", vectors=VECTORS)
    counted, stored = (
        f"40 sentences ({part.counted_tokens} tokens)",
        f"{part.n_sentences} sentences ({part.n_tokens} tokens)",
    )
    assert f"{counted} with vectors of the first {stored}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("vectors", "complaint"),
    [("some", "is no number of tokens"), ("9" * 5_000, "is no number of tokens"), ("0", "is too few")],
)
def test_vectors_must_be_a_number_or_all(vectors: str, complaint: str) -> None:
    with pytest.raises(IngestError, match=complaint):
        Settings(vectors=vectors)
