"""The highest-scoring pairs, against all pairs one by one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import store
from ingest import pipeline
from ingest.heads import pairs as stage
from store.kernels.attention import Pairs, admitted_pairs, combine, distinct_largest, merge_pairs, strongest_pairs
from store.kernels.bias import AttentionBias, LayerBias, Mask
from store.repository.errors import StoreError
from store.schema.corpus import CLS, PAD, SEP
from store.schema.model import PAIR_NUMBERS
from tests.interruption import interrupted
from tests.stores import ingest_without

Ingest = Callable[..., str]
Commits = Callable[[str], list[str]]
ScoredPairs = list[tuple[int, int, float, float]]
HEADS, CHANNELS = 2, 3
#: A batch of two sentences, the second padded; wordpiece 5 comes more than once.
FLAGS = np.array([[CLS, 0, 0, 0, SEP], [CLS, 0, 0, SEP, PAD]], np.uint8)
PIECES = np.array([[1, 5, 6, 5, 2], [1, 5, 6, 2, 0]])
ROWS = np.array([[10, 11, 12, 13, 14], [20, 21, 22, 23, -1]])


def by_hand(query: np.ndarray, key: np.ndarray, pieces: np.ndarray, flags: np.ndarray, rows: np.ndarray) -> ScoredPairs:
    """Every pair of one head in one sentence: (query row, key row, logit, weight)."""
    logits = np.array([[float(np.dot(q, k)) / len(q) ** 0.5 for k in key] for q in query])
    weights = [np.exp(row - row.max()) / np.exp(row - row.max()).sum() for row in logits]
    words = [token for token in range(len(pieces)) if not flags[token] & (CLS | SEP)]
    return [(rows[i], rows[j], logits[i, j], weights[i][j]) for i in words for j in words if i != j]


def strongest_by_hand(pairs: ScoredPairs, piece_of: dict[int, int], count: int) -> ScoredPairs:
    """The `count` strongest pairs; of pairs with the same wordpieces only the first."""
    seen: set[tuple[int, int]] = set()
    strongest: ScoredPairs = []
    for pair in sorted(pairs, key=lambda pair: -pair[2]):
        combination = piece_of[pair[0]], piece_of[pair[1]]
        if combination not in seen:
            strongest.append(pair)
        seen.add(combination)
    return strongest[:count]


@pytest.fixture
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys (head, sentence, token, channel) of the batch."""
    random = np.random.default_rng(0)
    query, key = random.normal(size=(2, HEADS, *FLAGS.shape, CHANNELS)).astype(np.float32)
    return query, key


def in_batch(vectors: tuple[np.ndarray, np.ndarray], *, count: int) -> Pairs:
    return strongest_pairs(*vectors, ROWS, admitted_pairs(PIECES, FLAGS, ROWS >= 0), count=count)


@pytest.mark.parametrize("at_once", [1, 12, 49])
def test_pairs_of_long_sentences_in_parts_are_those_of_the_whole(
    at_once: int, vectors: tuple[np.ndarray, np.ndarray]
) -> None:
    """The heads see no later token, so that each part has its own mask."""
    bias, admitted = AttentionBias([LayerBias(Mask(causal=True))]), admitted_pairs(PIECES, FLAGS, ROWS >= 0)
    whole = strongest_pairs(*vectors, ROWS, admitted, count=4, bias=bias)
    parts = strongest_pairs(*vectors, ROWS, admitted, count=4, bias=bias, at_once=at_once)
    assert (whole.query_token[:, :2] > whole.key_token[:, :2]).all()
    for name in PAIR_NUMBERS:
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-5)


def batch_by_hand(vectors: tuple[np.ndarray, np.ndarray], head: int, *, count: int) -> ScoredPairs:
    pairs: ScoredPairs = []
    for sentence, length in enumerate((ROWS >= 0).sum(axis=1)):
        part = [array[sentence, :length] for array in (vectors[0][head], vectors[1][head], PIECES, FLAGS, ROWS)]
        pairs += by_hand(*part)
    return strongest_by_hand(pairs, dict(zip(ROWS.ravel(), PIECES.ravel(), strict=True)), count)


@pytest.mark.parametrize("head", range(HEADS))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_strongest_pairs_of_a_batch_are_those_found_one_by_one(
    head: int, count: int, vectors: tuple[np.ndarray, np.ndarray]
) -> None:
    pairs = in_batch(vectors, count=count)
    numbers = [getattr(pairs, name)[head] for name in PAIR_NUMBERS]
    np.testing.assert_allclose(np.stack(numbers, axis=-1), batch_by_hand(vectors, head, count=count), rtol=1e-5)


def test_ranks_without_a_pair_are_empty(vectors: tuple[np.ndarray, np.ndarray]) -> None:
    pairs = in_batch(vectors, count=6)
    assert (pairs.query_token[:, 3:] == -1).all()
    assert (pairs.key_token[:, 3:] == -1).all()
    assert np.isnan(pairs.logit[:, 3:]).all()
    assert np.isnan(pairs.weight[:, 3:]).all()


def test_neither_special_tokens_nor_padding_nor_a_token_with_itself_make_a_pair() -> None:
    admitted = admitted_pairs(PIECES, FLAGS, ROWS >= 0)
    sentence, query, key = np.unravel_index(admitted.whole[0], (2, 5, 5))
    positions = set(zip(ROWS[sentence, query].tolist(), ROWS[sentence, key].tolist(), strict=True))
    assert positions == {(11, 12), (12, 11), (11, 13), (13, 11), (12, 13), (13, 12), (21, 22), (22, 21)}


def test_two_wordpieces_in_the_other_order_are_another_combination() -> None:
    assert combine(np.array([3]), np.array([4])) != combine(np.array([4]), np.array([3]))


@pytest.mark.parametrize("combinations", [1, 3, 50, 5000])
@pytest.mark.parametrize("length", [0, 1, 7, 1000])
def test_the_largest_of_different_combination_are_those_of_a_full_sort(combinations: int, length: int) -> None:
    random = np.random.default_rng(length)
    values = random.integers(0, 100, length).astype(np.float32)  # many values are equal
    combination = random.integers(0, combinations, length)
    expected: list[int] = []
    for place in sorted(range(length), key=lambda place: (-values[place], place)):
        if combination[place] not in combination[expected]:
            expected.append(place)
    assert distinct_largest(values, combination, count=5).tolist() == expected[:5]


def test_a_frequent_combination_does_not_hide_others() -> None:
    values, combination = np.arange(1000, 0, -1.0), np.zeros(1000, np.int64)
    combination[[900, 950]] = 1, 2
    assert distinct_largest(values, combination, count=3).tolist() == [0, 900, 950]


def test_merging_the_parts_equals_the_whole() -> None:
    random = np.random.default_rng(0)
    pieces = random.integers(0, 6, 200)
    query, key = random.integers(0, 200, (2, 1, 300))
    logit = random.permutation(300).astype(np.float32)[None]
    whole = Pairs(query, key, logit, logit / 300)
    parts = [Pairs(*(getattr(whole, name)[:, at::3] for name in PAIR_NUMBERS)) for at in range(3)]
    parts = [merge_pairs([part], pieces, count=10) for part in parts]
    merged, expected = merge_pairs(parts, pieces, count=10), merge_pairs([whole], pieces, count=10)
    for name in PAIR_NUMBERS:
        np.testing.assert_array_equal(getattr(merged, name), getattr(expected, name))


# -- in a store -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus(odd_store: str) -> store.Corpus:
    return store.open_corpus(odd_store)


def corpus_by_hand(corpus: store.Corpus, layer: int, head: int, *, count: int) -> ScoredPairs:
    query, key = (array[layer, head].values.astype(np.float64) for array in (corpus.query, corpus.key))
    pieces, flags = corpus.tokens.token_id.values, corpus.tokens.token_flags.values
    pairs: ScoredPairs = []
    for sentence in range(corpus.n_sentences):
        rows = corpus.sentence_rows(sentence)
        pairs += by_hand(query[rows], key[rows], pieces[rows], flags[rows], np.arange(rows.start, rows.stop))
    return strongest_by_hand(pairs, dict(enumerate(pieces)), count)


@pytest.mark.parametrize("layer", range(3))
@pytest.mark.parametrize("head", range(4))
def test_pairs_of_every_head_are_those_found_one_by_one(layer: int, head: int, corpus: store.Corpus) -> None:
    """Pairs of almost equal logits may come in another order, so the test compares the numbers of each rank."""
    pairs = corpus.pairs.sel(layer=layer, head=head)
    expected = np.array(corpus_by_hand(corpus, layer, head, count=pairs.sizes["rank"]))
    np.testing.assert_allclose(pairs.logit, expected[:, 2], rtol=1e-4, atol=1e-5)
    assert set(pairs.query_token.values[:50]) <= set(expected[:, 0])
    np.testing.assert_array_equal(pairs.query_token[0], expected[0, 0])
    np.testing.assert_array_equal(pairs.key_token[0], expected[0, 1])


def test_the_weight_of_a_pair_stands_in_the_pattern_of_its_sentence(corpus: store.Corpus) -> None:
    pairs = corpus.pairs.isel(layer=1, head=2)
    for rank in range(20):
        query, key = int(pairs.query_token[rank]), int(pairs.key_token[rank])
        sentence = int(corpus.tokens.sentence_index[query])
        start = corpus.sentence_rows(sentence).start
        pattern = corpus.pattern(sentence, layer=1, head=2).values
        np.testing.assert_allclose(pairs.weight[rank], pattern[query - start, key - start], rtol=1e-4)


def test_a_combination_of_wordpieces_is_there_once(corpus: store.Corpus) -> None:
    pairs = corpus.pairs.isel(layer=0, head=0)
    query, key = (corpus.wordpieces(pairs[name].values) for name in ("query_token", "key_token"))
    assert len(set(zip(query, key, strict=True))) == len(query) == 100


def test_a_corpus_with_fewer_pairs_leaves_ranks_empty(ingest: Ingest, tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("A film.\n")
    pairs = store.open_corpus(ingest(tmp_path / "store", data=tmp_path / "short.txt")).pairs
    there = (pairs.query_token >= 0).sum("rank")
    assert (there == there[0, 0]).all()
    assert 0 < int(there[0, 0]) < 100
    xr.testing.assert_equal(pairs.logit.notnull(), pairs.query_token >= 0)


def test_a_corpus_without_any_pair_has_empty_ranks(ingest: Ingest, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Film\n")
    pairs = store.open_corpus(ingest(tmp_path / "store", data=tmp_path / "one.txt")).pairs
    assert (pairs.key_token == -1).all()


# -- growth and interruption ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return ingest(tmp_path_factory.mktemp("small") / "store", sentences=26)


@pytest.fixture
def copy(small: str, tmp_path: Path) -> str:
    return str(shutil.copytree(small, tmp_path / "store"))


def pair_blocks(messages: list[str]) -> list[int]:
    return [int(message.rpartition(" ")[2]) for message in messages if ": pairs block " in message]


@pytest.mark.slow
def test_an_interrupted_search_goes_on_where_it_was(
    copy: str,
    ingest: Ingest,
    commits: Commits,
    tiny_store: str,
) -> None:
    before = len(commits(copy))
    interrupted(ingest, copy, (stage, "_keep_block"), after=1)
    ingest(copy)
    numbers = pair_blocks(commits(copy)[before:])
    assert len(numbers) == len(set(numbers)) == 2
    assert store.open_corpus(copy).pairs.identical(store.open_corpus(tiny_store).pairs)


@pytest.mark.slow
def test_pairs_of_a_larger_ingest_are_not_visible_before_its_sentences(
    copy: str,
    ingest: Ingest,
    odd_model: Path,
) -> None:
    """The search is over, the ingest is killed, and another model is published meanwhile."""
    before = store.open_corpus(copy)
    expected = before.pairs
    interrupted(ingest, copy, (pipeline, "complete"), after=0)
    ingest(copy, model=odd_model, sentences=5)
    assert store.open_snapshot(copy).corpus(before.name).pairs.identical(expected)


@pytest.mark.slow
def test_a_model_whose_pairs_are_not_finished_has_none(
    ingest: Ingest,
    odd_model: Path,
    tmp_path: Path,
) -> None:
    place = tmp_path / "store"
    name = store.open_corpus(ingest_without("pairs", ingest, place)).name
    with pytest.raises(StoreError, match=r"Highest-scoring pairs: not computed"):
        _ = store.open_corpus(str(place)).pairs
    interrupted(ingest, place, (stage, "_merge"), after=0)
    ingest(place, model=odd_model, sentences=5)
    with pytest.raises(StoreError, match=r"Run `headscape ingest`\.$"):
        _ = store.open_snapshot(str(place)).corpus(name).pairs
    ingest(place)
    assert store.open_snapshot(str(place)).corpus(name).pairs.sizes["rank"] == 100
