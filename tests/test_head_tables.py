"""Tables of a head and the parts of its logits, against a second implementation in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.kernels.head_tables import (
    PARTS,
    HeadTables,
    TableSums,
    TokenRows,
    VarianceShares,
    logit_parts,
    static_logits,
    table_logits,
)
from tests.published.roles import split_vectors

LENGTHS = np.array([4, 6, 3, 5])
HEADS, CHANNELS, POSITIONS = 2, 4, 8


def tokens_of(generator: np.random.Generator) -> TokenRows:
    """Sentences of few kinds of wordpieces, each from wordpiece 0 to wordpiece 1."""
    pieces = [np.concatenate([[0], generator.integers(2, 6, length - 2), [1]]) for length in LENGTHS]
    token_id = np.concatenate(pieces)
    position = np.concatenate([np.arange(length) for length in LENGTHS])
    return TokenRows(token_id, position, token_id > 1, LENGTHS)


def vectors_of(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shape = (HEADS, int(LENGTHS.sum()), CHANNELS)
    query, key = (generator.normal(1, 1, shape).astype(np.float32) for _ in range(2))
    return query, key


def tables_of(query: np.ndarray, key: np.ndarray, tokens: TokenRows) -> HeadTables:
    sums = TableSums(np.unique(tokens.token_id), POSITIONS, HEADS, CHANNELS)
    sums.add(query, key, tokens)
    return sums.tables()


@pytest.fixture
def made() -> tuple[np.ndarray, np.ndarray, TokenRows]:
    generator = np.random.default_rng(0)
    return *vectors_of(generator), tokens_of(generator)


def test_parts_of_queries_and_keys_agree_with_a_second_implementation(
    made: tuple[np.ndarray, np.ndarray, TokenRows],
) -> None:
    query, key, tokens = made
    tables = tables_of(query, key, tokens)
    for role, vectors in enumerate((query, key)):
        for head in range(HEADS):
            mean, of_position, of_word = split_vectors(
                vectors[head].astype(np.float64), tokens.token_id, tokens.position, tokens.is_word
            )
            np.testing.assert_allclose(tables.mean[role, head], mean, atol=1e-5)
            for place, part in of_position.items():
                np.testing.assert_allclose(tables.position[role, head, place], part, atol=1e-5)
            for row, piece in enumerate(tables.token_ids):
                np.testing.assert_allclose(tables.word[role, head, row], of_word[int(piece)], atol=1e-5)


def test_the_sink_score_is_what_a_wordpiece_gets_from_the_mean_query(
    made: tuple[np.ndarray, np.ndarray, TokenRows],
) -> None:
    query, key, tokens = made
    above: dict[int, list[float]] = {}
    start = 0
    for length in LENGTHS:
        rows = slice(start, start + length)
        mean_query, mean_key = query[0, rows].mean(axis=0), key[0, rows].mean(axis=0)
        for piece, vector in zip(tokens.token_id[rows], key[0, rows], strict=True):
            above.setdefault(int(piece), []).append(float(mean_query @ (vector - mean_key)) / CHANNELS**0.5)
        start += length
    tables = tables_of(query, key, tokens)
    expected = [sum(above[int(piece)]) / (len(above[int(piece)]) + 3) for piece in tables.token_ids]
    np.testing.assert_allclose(tables.sink[0, :-1], expected, atol=1e-5)


def test_sentences_may_be_added_in_parts(made: tuple[np.ndarray, np.ndarray, TokenRows]) -> None:
    query, key, tokens = made
    sums = TableSums(np.unique(tokens.token_id), POSITIONS, HEADS, CHANNELS)
    for rows, lengths in ((slice(0, 10), LENGTHS[:2]), (slice(10, None), LENGTHS[2:])):
        part = TokenRows(tokens.token_id[rows], tokens.position[rows], tokens.is_word[rows], lengths)
        sums.add(query[:, rows], key[:, rows], part)
    whole = tables_of(query, key, tokens)
    np.testing.assert_allclose(sums.tables().word, whole.word, atol=1e-5)
    np.testing.assert_allclose(sums.tables().position, whole.position, atol=1e-5)


def test_a_wordpiece_that_was_not_seen_has_no_part(made: tuple[np.ndarray, np.ndarray, TokenRows]) -> None:
    tables = tables_of(*made)
    of_position, of_word = tables.parts(np.array([99]), np.array([POSITIONS + 5]))
    assert not of_position.any()
    assert not of_word.any()


def test_a_position_of_special_tokens_alone_has_no_part(made: tuple[np.ndarray, np.ndarray, TokenRows]) -> None:
    assert not tables_of(*made).position[:, :, 0].any()


@given(st.integers(0, 1000))
def test_parts_of_a_logit_sum_to_it(seed: int) -> None:
    generator = np.random.default_rng(seed)
    (query, key), tokens = vectors_of(generator), tokens_of(generator)
    tables, rows = tables_of(query, key, tokens), slice(4, 10)
    parts = logit_parts(query[:, rows], key[:, rows], tables, tokens.token_id[rows], tokens.position[rows])
    logits = query[:, rows] @ key[:, rows].swapaxes(1, 2) / CHANNELS**0.5
    np.testing.assert_allclose(parts.sum(axis=0), logits, atol=1e-4)
    constants = parts[PARTS.index("constants")]
    np.testing.assert_allclose(constants, np.broadcast_to(constants[..., :1], constants.shape), atol=1e-5)


def test_tables_and_the_static_model_are_sums_of_parts(made: tuple[np.ndarray, np.ndarray, TokenRows]) -> None:
    """The sums may differ by a constant in a row, which the softmax ignores."""
    query, key, tokens = made
    tables, rows = tables_of(query, key, tokens), slice(4, 10)
    ids, places = tokens.token_id[rows], tokens.position[rows]
    parts = dict(zip(PARTS, logit_parts(query[:, rows], key[:, rows], tables, ids, places), strict=True))
    static = parts["position"] + parts["word"] + parts["position and word"]
    centred = [each - each.mean(axis=-1, keepdims=True) for each in (static_logits(tables, ids, places), static)]
    np.testing.assert_allclose(*centred, atol=1e-4)
    words = [each - each.mean(axis=-1, keepdims=True) for each in (table_logits(tables, ids)[:, 1], parts["word"])]
    np.testing.assert_allclose(*words, atol=1e-4)


@given(st.integers(0, 1000))
def test_shares_of_the_variance_sum_to_one(seed: int) -> None:
    shares = VarianceShares(2)
    for _ in range(2):
        shares.add(np.random.default_rng(seed).normal(size=(len(PARTS), 2, 5, 5)).astype(np.float32))
    np.testing.assert_allclose(shares.shares.sum(axis=0), 1, atol=1e-6)


def test_a_head_with_equal_logits_has_no_shares() -> None:
    shares = VarianceShares(1)
    shares.add(np.zeros((len(PARTS), 1, 3, 3), np.float32))
    assert np.isnan(shares.shares).all()
