"""Attention patterns from queries and keys, attention between words, value norms, pairs.

The pairs of a head have the highest logits, each combination of two wordpieces once. The weights of a long sentence are never in
memory all at once: they are computed for some queries at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, namespace
from store.kernels.bias import AttentionBias
from store.schema.corpus import IDLE, PAD

#: Queries, keys or both (..., token, channel), of any precision.
Vectors = NDArray[np.floating]
#: Indices of the wordpieces of each word; no word is empty.
Groups = Sequence[tuple[int, ...]]
#: Tokens that form no pair. Idle heads attend to them (Clark et al. 2019, section 3.2): in 45 of the 72 heads of the
#: default model they would be in more than half of the 100 highest-scoring pairs (300 sentences of IMDB).
NO_PAIR = IDLE | PAD
#: Most pairs of tokens of a batch that are searched at once for the strongest: each takes up to 190 bytes.
AT_ONCE = 1 << 20
#: Pairs: flat indices into (sentence, query_token, key_token), and both wordpieces as one number.
Places = tuple[NDArray[np.intp], NDArray[np.int64]]
Number = TypeVar("Number", bound=np.generic)
#: Most weights in memory at once: 16 MiB in float32. For 8,000 tokens in 12 heads, an eighth of this takes two and a half times as long.
ROOM = 1 << 22


def attention_logits(
    query: AnyArray, key: AnyArray, real: AnyArray | None = None, *, bias: AttentionBias | None = None
) -> AnyArray:
    """Attention logits q.k / sqrt(channels) + bias (Vaswani et al. 2017, section 3.2.1).

    Parameters
    ----------
    query, key
        (..., token, channel), before the 1/sqrt(channels) scale.
    real
        (..., key_token), False for padding, whose logits are minus infinite; None where there is no padding.
    bias
        Bias that the model adds to the logits. The first axis of queries and keys is then the head.

    Returns
    -------
    (..., query_token, key_token).
    """
    xp = namespace(query)
    logits = xp.matmul(query, xp.swapaxes(key, -1, -2)) * query.shape[-1] ** -0.5
    logits = logits if bias is None else bias.add_to(logits, query, key)
    if real is None:
        return logits
    masked = xp.where(real[..., None, :], logits, -float("inf"))
    if bias is None:
        return masked
    # A query in the padding may see only padding: its unused weights must still be numbers.
    blind = ~xp.isfinite(masked).any(-1)[..., None] & real[..., None, :]
    return xp.where(blind, 0.0, masked)


def attention_pattern(
    query: AnyArray, key: AnyArray, real: AnyArray | None = None, *, bias: AttentionBias | None = None
) -> AnyArray:
    """Attention weights softmax(q.k / sqrt(channels) + bias); every row sums to 1 (Vaswani et al. 2017, section 3.2.1).

    Parameters
    ----------
    query, key
        (..., token, channel), before the 1/sqrt(channels) scale.
    real
        (..., key_token), False for padding, which gets weight 0; None where there is no padding.
    bias
        Bias that the model adds to the logits, see `attention_logits`.

    Returns
    -------
    (..., query_token, key_token) in the dtype of `query`.
    """
    return softmax(attention_logits(query, key, real, bias=bias))


def softmax(logits: AnyArray) -> AnyArray:
    """Softmax over the last axis; tensors use torch's."""
    xp = namespace(logits)
    if hasattr(xp, "softmax"):
        return xp.softmax(logits, -1)
    weights = xp.exp(logits - xp.amax(logits, axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def output_gram(weight: AnyArray) -> AnyArray:
    """Gram matrix G = W W' of each head's part W of the output projection, so that ||f(x)||^2 = v G v'.

    The bias of the output projection is not a part of f (Kobayashi et al. 2020, section 3).

    Parameters
    ----------
    weight
        (head, channel, feature), so that f(x) = value @ weight[head].

    Returns
    -------
    (head, channel, channel).
    """
    xp = namespace(weight)
    return xp.matmul(weight, xp.swapaxes(weight, -1, -2))


def value_norm(value: AnyArray, gram: AnyArray) -> AnyArray:
    """Value norm ||f(x)|| with f(x) = (x W_V + b_V) W_O (Kobayashi et al. 2020, equation 4).

    Parameters
    ----------
    value
        x W_V + b_V (..., head, token, channel).
    gram
        `output_gram` of the layer: (head, channel, channel).

    Returns
    -------
    (..., head, token).
    """
    xp = namespace(value)
    square = (xp.matmul(value, gram) * value).sum(axis=-1)
    return xp.sqrt(xp.clip(square, 0, None))


def expansion_rate(
    value_weight: AnyArray, value_bias: AnyArray, output_weight: AnyArray, output_bias: AnyArray
) -> float:
    """Root mean square gain of x -> f(x) of all heads together, from the weights alone.

    The root mean square of the singular values of the affine map [x, 1] -> [f(x), 1] (Kobayashi et al. 2021, section 5);
    their sum of squares is the sum of squares of the map's entries. As in the authors' code, whose numbers were published, the
    bias of the output projection is a further column of the map, although it is not a part of f.

    Parameters
    ----------
    value_weight, value_bias
        (feature, feature) and (feature,), so that value = x @ value_weight + value_bias.
    output_weight
        (feature, feature), so that f(x) = value @ output_weight.
    output_bias
        (feature,).
    """
    xp = namespace(value_weight)
    affine = xp.concatenate([value_weight, value_bias[None]], 0)
    squares = float((xp.matmul(affine, output_weight) ** 2).sum())
    column = xp.matmul(affine, output_bias)
    last = float((column[:-1] ** 2).sum() + (column[-1] + 1) ** 2)
    return float(((squares + last) / affine.shape[0]) ** 0.5)


def merge_words(pattern: AnyArray, queries: Groups, keys: Groups) -> AnyArray:
    """Attention between words: to a word the sum over its wordpieces, from a word their mean (Clark et al. 2019, section 4.1).

    Rows that sum to 1 still do.

    Parameters
    ----------
    pattern
        (..., query_token, key_token).
    queries, keys
        Wordpieces of each query word and key word. Tokens outside of words are left out.

    Returns
    -------
    (..., query_word, key_word) in the dtype of `pattern`.
    """
    xp = namespace(pattern)
    from_words = xp.swapaxes(_summed(xp.swapaxes(pattern, -1, -2), queries, mean=True), -1, -2)
    return _summed(from_words, keys)


def _summed(weights: AnyArray, groups: Groups, *, mean: bool = False) -> AnyArray:
    """Sums, or means, of the last axis over groups."""
    total = weights[..., [group[0] for group in groups]]
    for place in range(1, max(map(len, groups), default=1)):
        longer = [number for number, group in enumerate(groups) if len(group) > place]
        total[..., longer] += weights[..., [groups[number][place] for number in longer]]
    for number, group in enumerate(groups if mean else ()):
        total[..., number] /= len(group)
    return total


@dataclass(frozen=True)
class Admitted:
    """Wordpieces of a batch, and whether each token may be in pairs: (sentence, token)."""

    pieces: NDArray[np.integer]
    tokens: NDArray[np.bool_]

    @cached_property
    def whole(self) -> Places:
        """Pairs of the whole batch; layers share them."""
        return self.within(slice(None), slice(None))

    def within(self, sentences: slice, queries: slice) -> Places:
        """Pairs of some sentences and some of their queries, with indices into this part."""
        pieces, tokens, place = self.pieces[sentences], self.tokens[sentences], np.arange(self.tokens.shape[1])
        pair = tokens[:, queries, None] & tokens[:, None] & (place[queries, None] != place)
        sentence, query, key = np.nonzero(pair)
        return np.flatnonzero(pair), combine(pieces[:, queries][sentence, query], pieces[sentence, key])


class Pairs(NamedTuple):
    """Pairs by rank: arrays (..., rank). Where there are fewer pairs, tokens are -1 and numbers NaN.

    `query_token` and `key_token` are rows of the token axis; `logit` is the logit before softmax, `weight` the attention weight.
    """

    query_token: NDArray[np.int64]
    key_token: NDArray[np.int64]
    logit: NDArray[np.float32]
    weight: NDArray[np.float32]


def combine(query_piece: NDArray[np.integer], key_piece: NDArray[np.integer]) -> NDArray[np.int64]:
    """A single number for each ordered pair of wordpieces below 2^31."""
    return query_piece.astype(np.int64) << 32 | key_piece.astype(np.int64)


def admitted_pairs(pieces: NDArray[np.integer], flags: NDArray[np.uint8], real: NDArray[np.bool_]) -> Admitted:
    """Pairs of two different tokens of a sentence, neither of them `NO_PAIR`.

    Parameters
    ----------
    pieces, flags, real
        (sentence, token): wordpiece, token flags, False for padding.
    """
    return Admitted(pieces, real & ((flags & NO_PAIR) == 0))


def strongest_pairs(
    query: NDArray[np.float32],
    key: NDArray[np.float32],
    rows: NDArray[np.int64],
    admitted: Admitted,
    *,
    count: int,
    bias: AttentionBias | None = None,
    at_once: int = AT_ONCE,
) -> Pairs:
    """Pairs with the largest logits (`attention_logits`), each combination of wordpieces at its largest; none with a hidden key.

    Parameters
    ----------
    query, key
        (head, sentence, token, channel) in float32, finite in the padding too.
    rows
        (sentence, token): row of the token axis, -1 for padding.
    admitted
        The pairs to choose from.
    count, at_once
        Number of ranks, and most pairs of tokens that are searched at once: in larger batches, some queries of a sentence.

    Returns
    -------
    (head, rank), largest logit first. Weights are those of the softmax over all tokens of the sentence.
    """
    sentences, tokens = rows.shape
    if rows.size * tokens <= at_once:
        return _at(attention_logits(query, key, bias=bias), admitted.whole, rows, count)
    parts, step, every = [], max(1, at_once // tokens), np.arange(tokens)
    for own in (slice(index, index + 1) for index in range(sentences)):
        for first in range(0, tokens, step):
            some = slice(first, first + step)
            logits = attention_logits(query[:, own, some], key[:, own], bias=bias and bias.at(every[some], every))
            parts.append(_at(logits, admitted.within(own, some), rows[own], count, first))
    pieces = np.zeros(rows.max() + 2, np.int64)  # the last place is for padding
    pieces[rows] = admitted.pieces
    return merge_pairs(parts, pieces, count=count)


def _at(logits: NDArray[np.float32], places: Places, rows: NDArray[np.int64], count: int, first: int = 0) -> Pairs:
    """The strongest pairs of logits (head, sentence, query_token, key_token); queries begin at position `first`."""
    chosen = np.full((len(logits), count), -1, np.intp)
    for head, ranks in zip(logits, chosen, strict=True):
        values = head.reshape(-1)[places[0]]
        among = distinct_largest(values, places[1], count=count)
        among = among[np.isfinite(values[among])]
        ranks[: len(among)] = places[0][among]
    sentence, query, key = np.unravel_index(np.maximum(chosen, 0), logits.shape[1:])
    row = logits[np.arange(len(logits))[:, None], sentence, query]
    weight = softmax(np.where(rows[sentence] >= 0, row, np.float32(-np.inf)))
    missing = chosen < 0
    logit, weight = (
        np.where(missing, np.float32(np.nan), np.take_along_axis(values, key[..., None], axis=-1)[..., 0])
        for values in (row, weight)
    )
    query_token, key_token = (np.where(missing, -1, rows[sentence, token]) for token in (query + first, key))
    return Pairs(query_token, key_token, logit, weight)


def distinct_largest(values: NDArray[np.floating], combination: NDArray[np.int64], *, count: int) -> NDArray[np.intp]:
    """Indices of the largest values of distinct combinations, largest first, ties in their order. Exact.

    Sorting all values would be most of the work: the largest few are tried first, and more where too many of them share
    a combination.

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
    """Highest-scoring pairs of several parts of a corpus. Exact where each part gives its own `count` highest-scoring pairs.

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
    tokens = (_filled(each[head, among], count, -1) for each in (candidates.query_token, candidates.key_token))
    numbers = (_filled(each[head, among], count, np.nan) for each in (candidates.logit, candidates.weight))
    return Pairs(*tokens, *numbers)


def _filled(array: NDArray[Number], count: int, fill: float) -> NDArray[Number]:
    return np.pad(array, (0, count - len(array)), constant_values=fill)


def attention_rows(
    query: AnyArray, key: AnyArray, *, bias: AttentionBias | None = None, room: int = ROOM
) -> Iterator[tuple[slice, AnyArray]]:
    """The rows of `attention_pattern`, at most `room` weights at once, but at least one row.

    Parameters
    ----------
    query, key
        (head, token, channel), before the 1/sqrt(channels) scale.
    bias
        What the model adds to the logits of these heads.

    Yields
    ------
    Slice of the queries, and their weights (head, query_token, key_token).
    """
    heads, queries, keys = len(query), query.shape[-2], key.shape[-2]
    at_once = max(1, room // max(1, heads * keys))
    for first in range(0, queries, at_once):
        rows = slice(first, min(first + at_once, queries))
        of_rows = bias and bias.at(np.arange(rows.start, rows.stop), np.arange(keys))
        yield rows, attention_pattern(query[:, rows], key, bias=of_rows)
