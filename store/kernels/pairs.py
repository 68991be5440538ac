"""Highest-scoring query-key pairs of a head by logit, each combination of two wordpieces once."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from store.kernels.attention import attention_logits, softmax
from store.schema.corpus import NO_WORD, PAD

#: Tokens that form no pair. Idle heads attend to them (Clark et al. 2019, section 3.2): in 45 of the 72 heads of the
#: default model they would be in more than half of the 100 highest-scoring pairs (300 sentences of IMDB).
NO_PAIR = NO_WORD | PAD


class Admitted(NamedTuple):
    """Admitted pairs of a batch: flat indices into (sentence, query_token, key_token), and both wordpieces as one number."""

    places: NDArray[np.intp]
    combination: NDArray[np.int64]


class Pairs(NamedTuple):
    """Pairs by rank: arrays (..., rank). Where there are fewer pairs, tokens are -1 and numbers NaN.

    `query_token` and `key_token` are rows of the token axis; `logit` is q.k / sqrt(channels), `weight` the attention weight.
    """

    query_token: NDArray[np.int64]
    key_token: NDArray[np.int64]
    logit: NDArray[np.float32]
    weight: NDArray[np.float32]


Number = TypeVar("Number", bound=np.generic)


def combine(query_piece: NDArray[np.integer], key_piece: NDArray[np.integer]) -> NDArray[np.int64]:
    """One number for an ordered pair of wordpieces, each below 2^31."""
    return query_piece.astype(np.int64) << 32 | key_piece.astype(np.int64)


def admitted_pairs(pieces: NDArray[np.integer], flags: NDArray[np.uint8], real: NDArray[np.bool_]) -> Admitted:
    """Pairs of two different tokens of a sentence, neither of them `NO_PAIR`.

    Parameters
    ----------
    pieces, flags, real
        (sentence, token): wordpiece, token flags, False for padding.
    """
    token = real & ((flags & NO_PAIR) == 0)
    pair = token[:, :, None] & token[:, None, :] & ~np.eye(token.shape[1], dtype=bool)
    sentence, query, key = np.nonzero(pair)
    return Admitted(np.flatnonzero(pair), combine(pieces[sentence, query], pieces[sentence, key]))


def strongest_pairs(
    query: NDArray[np.float32], key: NDArray[np.float32], rows: NDArray[np.int64], admitted: Admitted, *, count: int
) -> Pairs:
    """Pairs with the largest logits q.k / sqrt(channels), each combination of wordpieces at its largest.

    Parameters
    ----------
    query, key
        (head, sentence, token, channel) in float32, finite in the padding too.
    rows
        (sentence, token): row of the token axis, -1 for padding.
    admitted
        The pairs to choose from.
    count
        Number of ranks.

    Returns
    -------
    (head, rank), largest logit first. Weights are those of the softmax over all tokens of the sentence.
    """
    logits = attention_logits(query, key)
    chosen = np.full((len(logits), count), -1, np.intp)
    for head, ranks in zip(logits, chosen, strict=True):
        among = distinct_largest(head.reshape(-1)[admitted.places], admitted.combination, count=count)
        ranks[: len(among)] = admitted.places[among]
    return _at(logits, chosen, rows)


def _at(logits: NDArray[np.float32], chosen: NDArray[np.intp], rows: NDArray[np.int64]) -> Pairs:
    """Pairs at flat indices (head, rank) into logits (head, sentence, query_token, key_token); -1 for no pair."""
    sentence, query, key = np.unravel_index(np.maximum(chosen, 0), logits.shape[1:])
    row = logits[np.arange(len(logits))[:, None], sentence, query]
    weight = softmax(np.where(rows[sentence] >= 0, row, np.float32(-np.inf)))
    missing = chosen < 0
    logit, weight = (
        np.where(missing, np.float32(np.nan), np.take_along_axis(values, key[..., None], axis=-1)[..., 0])
        for values in (row, weight)
    )
    query_token, key_token = (np.where(missing, -1, rows[sentence, token]) for token in (query, key))
    return Pairs(query_token, key_token, logit, weight)


def distinct_largest(values: NDArray[np.floating], combination: NDArray[np.int64], *, count: int) -> NDArray[np.intp]:
    """Indices of the largest values of different combinations, largest first, of equal ones the first. Exact.

    Sorting all values would be most of the work: the largest few are tried first, and more where too many of them have
    the same combination.

    Parameters
    ----------
    values, combination
        (pair,).
    count
        Number of indices.
    """
    tried = 4 * count
    while tried < len(values):
        largest = np.flatnonzero(values >= np.partition(values, -tried)[-tried])
        distinct = largest[_distinct(values[largest], combination[largest])]
        if len(distinct) >= count:
            return distinct[:count]
        tried *= 4
    return _distinct(values, combination)[:count]


def _distinct(values: NDArray[np.floating], combination: NDArray[np.int64]) -> NDArray[np.intp]:
    order = np.argsort(-values, kind="stable")
    _, first = np.unique(combination[order], return_index=True)
    return order[np.sort(first)]


def merge_pairs(parts: Sequence[Pairs], pieces: NDArray[np.integer], *, count: int) -> Pairs:
    """Highest-scoring pairs of several parts of a corpus. Exact where each part has its own `count` highest-scoring.

    Parameters
    ----------
    parts
        Pairs (head, rank) of each part.
    pieces
        Wordpiece of each row of the token axis: (token,).
    count
        Number of ranks.
    """
    candidates = Pairs(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))
    chosen = [_strongest_of(candidates, head, pieces, count) for head in range(len(candidates.logit))]
    return Pairs(*(np.stack(arrays) for arrays in zip(*chosen, strict=True)))


def _strongest_of(candidates: Pairs, head: int, pieces: NDArray[np.integer], count: int) -> Pairs:
    """Pairs of one head: arrays (rank)."""
    there = np.flatnonzero(candidates.query_token[head] >= 0)
    query, key = candidates.query_token[head, there], candidates.key_token[head, there]
    among = there[distinct_largest(candidates.logit[head, there], combine(pieces[query], pieces[key]), count=count)]
    return Pairs(
        _filled(candidates.query_token[head, among], count, -1),
        _filled(candidates.key_token[head, among], count, -1),
        _filled(candidates.logit[head, among], count, np.nan),
        _filled(candidates.weight[head, among], count, np.nan),
    )


def _filled(array: NDArray[Number], count: int, fill: float) -> NDArray[Number]:
    return np.pad(array, (0, count - len(array)), constant_values=fill)
