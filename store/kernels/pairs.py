"""The strongest pairs of a head: which query meets which key with the largest logit, each two wordpieces once."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from store.kernels.attention import attention_logits, softmax
from store.schema.corpus import CLS, PAD, SEP

#: Tokens that make no pair. Heads rest on them where they have nothing to say (Clark et al. 2019, section 3.2): in 45
#: of the default model's 72 heads they would be in more than half of the 100 strongest pairs (300 sentences of IMDB).
NO_PAIR = CLS | SEP | PAD


class Admitted(NamedTuple):
    """The pairs of a batch that count: flat places in (sentence, query_token, key_token), and their two wordpieces as one number."""

    places: NDArray[np.intp]
    combination: NDArray[np.int64]


class Pairs(NamedTuple):
    """Pairs by rank: arrays (..., rank). Where there are fewer, the tokens are -1 and the numbers NaN.

    `query_token` and `key_token` are rows of the token axis.
    """

    query_token: NDArray[np.int64]
    key_token: NDArray[np.int64]
    logit: NDArray[np.float32]
    weight: NDArray[np.float32]


Number = TypeVar("Number", bound=np.generic)


def combine(query_piece: NDArray[np.integer], key_piece: NDArray[np.integer]) -> NDArray[np.int64]:
    """One number for two wordpieces in this order; both below 2^31."""
    return query_piece.astype(np.int64) << 32 | key_piece.astype(np.int64)


def admitted_pairs(pieces: NDArray[np.integer], flags: NDArray[np.uint8], real: NDArray[np.bool_]) -> Admitted:
    """Pairs within each sentence of two different tokens, none of them `NO_PAIR`.

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
    """The pairs with the largest logit q.k / sqrt(channel), each combination of wordpieces at its strongest.

    Parameters
    ----------
    query, key
        (head, sentence, token, channel) in float32, finite in the padding too.
    rows
        (sentence, token): row of the token axis, -1 for padding.
    admitted
        Pairs that count.
    count
        Ranks to fill.

    Returns
    -------
    (head, rank), the strongest first; the weight is that of the softmax over every token of the sentence.
    """
    logits = attention_logits(query, key)
    chosen = np.full((len(logits), count), -1, np.intp)
    for head, ranks in zip(logits, chosen, strict=True):
        among = distinct_largest(head.reshape(-1)[admitted.places], admitted.combination, count=count)
        ranks[: len(among)] = admitted.places[among]
    return _at(logits, chosen, rows)


def _at(logits: NDArray[np.float32], chosen: NDArray[np.intp], rows: NDArray[np.int64]) -> Pairs:
    """What stands at flat places (head, rank) of logits (head, sentence, query_token, key_token); -1 is none."""
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
    """Places of the `count` largest values of different combination, the largest first, of equal ones the first; exact.

    Sorting everything would be most of the work: the largest few are tried first, and more of them where too many are
    of one combination.
    """
    tried = 4 * count
    while tried < len(values):
        largest = np.flatnonzero(values >= np.partition(values, -tried)[-tried])
        found = largest[_distinct(values[largest], combination[largest])]
        if len(found) >= count:
            return found[:count]
        tried *= 4
    return _distinct(values, combination)[:count]


def _distinct(values: NDArray[np.floating], combination: NDArray[np.int64]) -> NDArray[np.intp]:
    order = np.argsort(-values, kind="stable")
    _, first = np.unique(combination[order], return_index=True)
    return order[np.sort(first)]


def merge_pairs(parts: Sequence[Pairs], pieces: NDArray[np.integer], *, count: int) -> Pairs:
    """The strongest pairs of several parts of a corpus: exact, if every part brought its own `count` strongest.

    Parameters
    ----------
    parts
        Pairs (head, rank) of each part.
    pieces
        (token,): wordpiece of every row of the token axis.
    count
        Ranks to fill.
    """
    candidates = Pairs(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))
    chosen = [_strongest_of(candidates, head, pieces, count) for head in range(len(candidates.logit))]
    return Pairs(*(np.stack(arrays) for arrays in zip(*chosen, strict=True)))


def _strongest_of(candidates: Pairs, head: int, pieces: NDArray[np.integer], count: int) -> Pairs:
    """The ranks of one head: arrays (rank)."""
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
