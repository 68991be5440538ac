"""A larger budget only adds to a store; stored numbers are not computed again."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import store
from dashboard.web.corpus_model import CorpusModel, find_checkpoint
from ingest.projections.head_pictures import HeadPictures
from ingest.projections.head_view import HeadView
from ingest.text.blocks import Block
from store.verify import verify
from tests.reviews import write_reviews
from tests.stores import BLOCK, FEATURES, VIEW

Ingest = Callable[..., str]
ReadArrays = Callable[[str], dict[str, np.ndarray]]
Commits = Callable[[str], list[str]]

STEP = 26


@pytest.fixture(scope="module")
def small(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return ingest(tmp_path_factory.mktemp("small") / "store", sentences=STEP)


@pytest.fixture
def copy(small: str, tmp_path: Path) -> Path:
    """A copy of the store with the first sentences, for one test."""
    return Path(shutil.copytree(small, tmp_path / "store"))


@dataclass(frozen=True)
class Grown:
    """The place of a store, and the parts of pictures that its growth placed: view, layer and block."""

    place: str
    placed: list[tuple[str, int, int]]


@pytest.fixture(scope="module")
def growth(small: str, ingest: Ingest, tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """The store of the first sentences after it has grown by a budget of tokens."""
    placed: list[tuple[str, int, int]] = []
    write = HeadView.write_places

    def listen(picture: HeadView, layer: int, block: Block, places: np.ndarray) -> np.ndarray:
        placed.append((str(picture.name), layer, block.index))
        return write(picture, layer, block, places)

    place = shutil.copytree(small, tmp_path_factory.mktemp("grown") / "store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HeadView, "write_places", listen)
        return Grown(ingest(place, tokens=store.open_corpus(tiny_store).n_tokens, **FEATURES), placed)


@pytest.fixture(scope="module")
def grown(growth: Grown) -> str:
    return growth.place


@pytest.fixture(scope="module")
def odd_budget(tiny_store: str) -> int:
    """The number of tokens of the first 6 sentences plus one, which no sentence can use."""
    return int(store.open_corpus(tiny_store).sentences.row_size.values[:6].sum()) + 1


def blocks_computed(messages: list[str], stage: str) -> list[int]:
    """Blocks of `tensors` ("model: block 3") or of the pairs ("model: pairs block 3") that were committed."""
    return [int(message.rpartition(" ")[2]) for message in messages if f": {stage}block " in message]


def assert_same(arrays: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert arrays.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, err_msg=path)


def test_growing_by_tokens_equals_ingesting_at_once(grown: str, tiny_store: str, read_arrays: ReadArrays) -> None:
    assert_same(read_arrays(grown), read_arrays(tiny_store))


@pytest.mark.parametrize("stage", ["", "pairs "])
def test_growing_computes_only_the_last_block_and_those_after_it(
    stage: str, small: str, grown: str, commits: Commits
) -> None:
    corpus = store.open_corpus(grown)
    last_before, first_new, last = (
        int(corpus.sentences.row_start[sentence]) // BLOCK for sentence in (STEP - 1, STEP, -1)
    )
    assert last_before == first_new, "choose a STEP that ends amid a block"
    new = commits(grown)[len(commits(small)) :]
    assert blocks_computed(new, stage) == list(range(first_new, last + 1))


#: Arrays of the model and of its picture that have a token axis, with the index of this axis.
OF_TOKENS = {"query": 2, "key": 2, "token_statistic": 3, "value_norm": 2, "coordinates": 3}


@pytest.mark.parametrize("name", OF_TOKENS)
def test_growing_writes_no_chunk_of_an_earlier_block_again(name: str, small: str, grown: str) -> None:
    before, after = store.open_snapshot(small), store.open_snapshot(grown)
    written = after.repository.diff(from_snapshot_id=before.id, to_snapshot_id=after.id).updated_chunks
    (chunks,) = (chunks for path, chunks in written.items() if path.endswith(f"/{name}") and "/features/" not in path)
    last_before = int(before.corpus().sentences.row_start[-1]) // BLOCK
    assert last_before > 0
    assert min(chunk[OF_TOKENS[name]] for chunk in chunks) == last_before


def test_growing_places_only_the_last_block_and_those_after_it(small: str, growth: Grown) -> None:
    last = int(store.open_corpus(small).sentences.row_start[-1]) // BLOCK
    stop = int(store.open_corpus(growth.place).sentences.row_start[-1]) // BLOCK + 1
    assert growth.placed == [("pca-exact-2d", layer, block) for layer in range(2) for block in range(last, stop)]


@pytest.mark.slow
def test_another_fit_is_judged_again_and_growth_judges_no_picture_whose_fit_and_judging_sentences_stay(
    copy: Path, ingest: Ingest, read_arrays: ReadArrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow = partial(ingest, copy, fit_tokens=100, judged_sentences=5)
    first = fidelity(read_arrays(str(copy)))
    before = fidelity(read_arrays(grow(sentences=STEP)))
    assert (before != first).any()
    with monkeypatch.context() as patch:
        patch.delattr(HeadPictures, "_judge_on")
        grown = fidelity(read_arrays(grow(sentences=STEP + 4)))
    np.testing.assert_array_equal(grown, before)


def fidelity(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The fidelity of the only picture."""
    (found,) = (array for path, array in arrays.items() if path.endswith("/pca-exact-2d/fidelity"))
    return found


def test_growing_changes_nothing_in_any_view_of_the_store_when_the_fit_has_to_follow(
    copy: Path, ingest: Ingest, read_arrays: ReadArrays, tmp_path: Path
) -> None:
    """Views that the second ingest does not ask for grow too."""
    ingest(copy, views="pca-raw-3d", stage="projections")
    grown = ingest(copy, sentences=STEP + 4, fit_tokens=10_000)
    at_once = ingest(tmp_path / "once", sentences=STEP + 4, fit_tokens=10_000, views="pca-exact-2d,pca-raw-3d")
    assert set(store.open_corpus(grown).views) == {"pca-exact-2d", "pca-raw-3d"}
    assert_same(read_arrays(grown), read_arrays(at_once))


def test_growing_moves_no_sentence_and_keeps_its_tokens(small: str, grown: str) -> None:
    """The requested number of tokens differs: the first ingest requested a number of sentences."""
    before, after = store.open_corpus(small), store.open_corpus(grown)
    sentences = after.sentences.isel(sentence=slice(STEP))
    tokens = after.tokens.isel(token=slice(before.tokens.sizes["token"]))
    assert sentences.assign_attrs(tokens_asked=0).identical(before.sentences)
    assert tokens.assign_attrs(tokens_asked=0).identical(before.tokens)


@pytest.mark.parametrize("name", ["query", "key", "value_norm", "token_statistic", "token_mixing"])
def test_growing_leaves_the_numbers_of_earlier_sentences(name: str, small: str, grown: str) -> None:
    """Whole blocks are the same bit for bit; sentences of the last block are now in other batches."""
    before, after = store.open_corpus(small), store.open_corpus(grown)
    whole = int(before.sentences.row_start[-1]) // BLOCK * BLOCK
    first, again = getattr(before, name), getattr(after, name).isel(token=slice(before.tokens.sizes["token"]))
    np.testing.assert_array_equal(first.isel(token=slice(whole)), again.isel(token=slice(whole)))
    np.testing.assert_allclose(first, again, rtol=1e-3, atol=1e-4)


def test_a_second_run_has_nothing_to_do(copy: Path, ingest: Ingest, capsys: pytest.CaptureFixture[str]) -> None:
    before = store.open_snapshot(str(copy)).id
    ingest(copy, sentences=STEP)
    assert capsys.readouterr().out.startswith("Nothing to do: ")
    assert store.open_snapshot(str(copy)).id == before


def test_a_smaller_budget_does_nothing(
    copy: Path, ingest: Ingest, commits: Commits, capsys: pytest.CaptureFixture[str]
) -> None:
    before = commits(str(copy))
    for budget in ({"sentences": 5}, {"tokens": 50}, {"sentences": 1}, {"tokens": 1}):
        ingest(copy, **budget)
        assert capsys.readouterr().out.startswith("Nothing to do: "), budget
    assert commits(str(copy)) == before


def settings_of(place: str | Path) -> dict[str, Any]:
    return dict(store.open_corpus(str(place)).attributes["provenance"]["settings"])


def test_pictures_that_are_added_later_are_in_the_settings_of_the_model(copy: Path, ingest: Ingest) -> None:
    """The settings keep the encoded sentences and the pictures that a later ingest does not ask for."""
    before = settings_of(copy) | {"store": str(copy)}
    ingest(copy, sentences=5, views="pca-raw-2d", features="pca-joint")
    assert settings_of(copy) == before | {"views": f"pca-raw-2d,{VIEW}", "features": "pca-joint"}
    ingest(copy, stage="projections", sentences=None, features="pca-each")
    assert settings_of(copy) == before | {"views": f"{VIEW},pca-raw-2d", "features": "pca-each,pca-joint"}


def test_a_model_and_data_that_moved_are_found_where_the_last_ingest_had_them(
    copy: Path, ingest: Ingest, tiny_model: Path, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = shutil.copytree(tiny_model, tmp_path / "moved" / tiny_model.name)
    data = Path(shutil.copy(tiny_data, tmp_path / "moved"))
    ingest(copy, sentences=STEP, model=moved, data=data)
    assert capsys.readouterr().out.startswith("Published ")
    corpus = store.open_corpus(str(copy))
    found = find_checkpoint(CorpusModel.of(corpus))
    assert found.place == moved
    assert corpus.attributes["provenance"]["folder"] == str(moved)
    assert corpus.attributes["provenance"]["data"]["place"] == str(data)
    ingest(copy, sentences=STEP, model=moved, data=data)
    assert capsys.readouterr().out.startswith("Nothing to do: ")


@pytest.mark.slow
def test_a_budget_of_tokens_takes_as_many_sentences_as_fit_and_a_second_run_has_nothing_to_do(
    ingest: Ingest, tmp_path: Path, odd_budget: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, sentences in ((-2, 5), (-1, 6), (0, 6)):
        corpus = store.open_corpus(ingest(tmp_path / "store", tokens=odd_budget + more))
        assert corpus.n_sentences == sentences
        assert corpus.n_tokens == corpus.sentences.row_size.sum() <= odd_budget + more
    assert "Nothing to do: " not in capsys.readouterr().out
    ingest(tmp_path / "store", tokens=odd_budget)
    assert "Nothing to do: " in capsys.readouterr().out


def test_a_budget_larger_than_the_data_takes_all_of_it_once(
    ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grow = partial(ingest, tmp_path / "store", data=write_reviews(tmp_path / "few.csv", reviews=10))
    everything = store.open_corpus(grow(sentences=100_000)).n_sentences
    grow(sentences=200_000)
    assert "Nothing to do: " in capsys.readouterr().out
    assert store.open_corpus(grow(tokens=10_000_000)).n_sentences == everything < 100


@pytest.mark.slow
def test_another_seed_takes_another_sample_beside_the_first(copy: Path, ingest: Ingest) -> None:
    first = store.open_corpus(str(copy))
    second = store.open_corpus(ingest(copy, sentences=STEP, seed=7))
    assert set(first.sentences.text.values) != set(second.sentences.text.values)
    assert len(store.open_snapshot(str(copy)).models) == 2


#: Settings of which the first makes another model in the store, the second another corpus too.
BESIDE = [("model", "data"), pytest.param(("dtype", "max_length"), marks=pytest.mark.slow)]


@pytest.mark.slow
@pytest.mark.parametrize("names", BESIDE, ids="+".join)
def test_an_ingest_beside_a_model_leaves_it_unchanged(
    names: tuple[str, ...], few: str, ingest: Ingest, odd_model: Path, read_arrays: ReadArrays, tmp_path: Path
) -> None:
    (tmp_path / "other.txt").write_text("A film.\nA long film.\n")
    others: dict[str, Any] = {
        "model": odd_model,
        "dtype": "bfloat16",
        "data": tmp_path / "other.txt",
        "max_length": 10,
    }
    before, sizes = read_arrays(few), []
    for name in names:
        ingest(Path(few), sentences=10, **{name: others[name]})
        models = store.open_snapshot(few).models
        sizes.append((len(models), len({model["corpus"] for model in models.values()})))
    after = read_arrays(few)
    assert_same({path: after[path] for path in before}, before)
    assert sizes == [(2, 1), (3, 2)]  # models and their corpora
    assert list(verify(store.open_snapshot(few))) == []
