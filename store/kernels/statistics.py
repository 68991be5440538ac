"""Head statistics: statistics of the query rows of patterns, profiles, and their means over sentences.

Definitions follow Clark et al. 2019 ("What Does BERT Look At?", section 3): an average is over the query rows of a
sentence, padding never counts, sentences weigh equally. The number of [SEP] is counted in each sentence, not taken as two.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from store.kernels import AnyArray, as_float, namespace
from store.kernels.attention import ROOM, attention_rows
from store.kernels.bias import EVERY_KEY, AttentionBias, Mask
from store.schema import check_complete
from store.schema.corpus import NO_WORD, OPENS, PUNCTUATION, SEP, SYMBOL
from store.schema.model import FARTHEST, SOURCES, STATISTICS

#: Weight above which a key counts as attended (AttentionViz draws lines above it; its issue on sparsity).
ATTENDED = 0.05
#: A token is a sink where its mean weight over the queries of the sentence is above this (Gu et al. 2024, epsilon) ...
SINK = 0.3
#: ... and above this multiple of its mean weight under uniform attention, which decides in sentences of fewer than 5 tokens; where
#: queries see no later key, the first keys get more uniform attention, and it decides in sentences of fewer than `LONG` tokens.
SINK_OF_UNIFORM, LONG = 1.5, 18


def token_statistics(
    pattern: AnyArray,
    flags: AnyArray,
    real: AnyArray,
    value_norm: AnyArray,
    mask: Mask = EVERY_KEY,
    *,
    first: int = 0,
    received: AnyArray | None = None,
) -> AnyArray:
    """Statistics of each token, in the order and with the formulas of `store.schema.model.STATISTICS`.

    Parameters
    ----------
    pattern
        (..., head, query_token, key_token); weight 0 on keys that are not real. Rows of all queries, or of some from `first` on.
    flags
        Token flags of the schema: (..., token).
    real
        (..., token), False for padding, whose statistics are meaningless.
    value_norm
        Value norms ||f(x)|| (..., head, token) (Kobayashi et al. 2020).
    mask
        Which keys a query sees.
    received
        Attention that each token receives from all queries (..., head, token), if the pattern has only some.

    Returns
    -------
    (statistic, ..., head, query_token).
    """
    xp = namespace(pattern)
    if received is None:
        received = xp.matmul(as_float(real, like=pattern)[..., None, None, :], pattern)[..., 0, :]
    sums = _sums_over_keys(pattern, flags, _sinks(received, real, mask), value_norm)
    whole = xp.clip(sums[..., 7], xp.finfo(pattern.dtype).tiny, None)
    rows = slice(first, first + pattern.shape[-2])
    to_self = _at_offset(pattern, first)
    given = Patterns(pattern, flags, value_norm[..., rows], received[..., rows], to_self, sums, whole, first)
    return xp.stack([FORMULAS[name](given) for name in STATISTICS])


def vector_statistics(
    query: NDArray[np.float32],
    key: NDArray[np.float32],
    flags: NDArray[np.uint8],
    value_norm: NDArray[np.float32],
    mask: Mask = EVERY_KEY,
    *,
    bias: AttentionBias | None = None,
    room: int = ROOM,
) -> NDArray[np.float32]:
    """`token_statistics` of a layer's heads in a sentence (statistic, head, token), with at most `room` weights at once.

    Parameters
    ----------
    query, key
        (head, token, channel).
    flags, value_norm, mask
        See `token_statistics`: (token,), (head, token).
    bias
        Bias that the model adds to the logits of these heads.
    """
    blocks = partial(attention_rows, query, key, bias=bias, room=room)
    received, real = sum(rows.sum(axis=-2) for _, rows in blocks()), np.ones(len(flags), bool)
    parts = [
        token_statistics(rows, flags, real, value_norm, mask, first=block.start, received=received)
        for block, rows in blocks()
    ]
    found: NDArray[np.float32] = np.concatenate(parts, axis=-1)
    return found


class Patterns(NamedTuple):
    """Arguments of the formulas of a token's statistics.

    Attributes
    ----------
    pattern, flags
        See `token_statistics`.
    value_norm, received, to_self
        Numbers of the tokens of the queries: (..., head, query_token).
    sums
        Sums of weights over [CLS], [SEP], punctuation and sinks; of weight times value norm over the first three, and over all
        keys: (..., head, query_token, 8).
    whole
        The last of these sums, never 0: (..., head, query_token).
    first
        Position of the first query among the keys.
    """

    pattern: AnyArray
    flags: AnyArray
    value_norm: AnyArray
    received: AnyArray
    to_self: AnyArray
    sums: AnyArray
    whole: AnyArray
    first: int


#: Statistic of `store.schema.model.STATISTICS` -> its formula, which gives (..., head, token).
FORMULAS: Mapping[str, Callable[[Patterns], AnyArray]] = {
    "to_cls": lambda of: of.sums[..., 0],
    "to_sep": lambda of: of.sums[..., 1],
    "to_punctuation": lambda of: of.sums[..., 2],
    "to_sink": lambda of: of.sums[..., 3],
    "to_previous": lambda of: _at_offset(of.pattern, of.first - 1),
    "to_next": lambda of: _at_offset(of.pattern, of.first + 1),
    "to_self": lambda of: of.to_self,
    "entropy": lambda of: entropy(of.pattern),
    "attended_keys": lambda of: as_float(of.pattern > ATTENDED, like=of.pattern).sum(axis=-1),
    "distance": lambda of: attention_distance(of.pattern, of.first),
    "received": lambda of: of.received,
    "confidence": lambda of: confidence(of.pattern, of.flags),
    "participation": lambda of: 1 / (of.pattern * of.pattern).sum(axis=-1),
    "norm_to_cls": lambda of: of.sums[..., 4] / of.whole,
    "norm_to_sep": lambda of: of.sums[..., 5] / of.whole,
    "norm_to_punctuation": lambda of: of.sums[..., 6] / of.whole,
    "norm_to_self": lambda of: of.to_self * of.value_norm / of.whole,
}
check_complete(__name__, FORMULAS, STATISTICS, "statistic")


def _sums_over_keys(pattern: AnyArray, flags: AnyArray, sinks: AnyArray, value_norm: AnyArray) -> AnyArray:
    """The array `sums` of `Patterns`, in one product."""
    xp = namespace(pattern)
    classes = xp.broadcast_to(_key_classes(flags, like=pattern)[..., None, :, :], (*sinks.shape, 3))
    norms = value_norm[..., None]
    return xp.matmul(pattern, xp.concatenate([classes, sinks[..., None], classes * norms, norms], -1))


def _sinks(received: AnyArray, real: AnyArray, mask: Mask) -> AnyArray:
    """Whether each key is a sink, as 1 or 0: (..., head, token)."""
    rows = as_float(real, like=received).sum(axis=-1)
    if mask.hides:
        threshold = as_float(sink_threshold(rows.tolist(), real.shape[-1], mask), like=received)[..., None, :]
    else:  # equal for all tokens; reading the lengths would wait for a GPU
        threshold = namespace(rows).clip(SINK * rows, SINK_OF_UNIFORM, None)[..., None, None]
    return as_float(received > threshold, like=received)


def sink_threshold(lengths: ArrayLike, longest: int, mask: Mask = EVERY_KEY) -> NDArray[np.float64]:
    """Attention that each token must receive in total to be a sink, from all queries of its sentence.

    Parameters
    ----------
    lengths
        Tokens of each sentence: (...).
    longest
        Number of tokens with a threshold in each sentence; thresholds beyond its length are meaningless.
    mask
        Which keys a query sees.

    Returns
    -------
    (..., token).
    """
    tokens = np.asarray(lengths, np.int64)
    threshold = np.repeat(np.maximum(SINK * tokens, SINK_OF_UNIFORM)[..., None], longest, axis=-1)
    for size in {*tokens[tokens < LONG].tolist()} if mask.hides else ():
        threshold[tokens == size, :size] = np.maximum(SINK * size, SINK_OF_UNIFORM * mask.even(size).sum(axis=0))
    return threshold


def confidence(pattern: AnyArray, flags: AnyArray) -> AnyArray:
    """Maximum weight of each query on a key other than [SEP] (Voita et al. 2019, section 4).

    Parameters
    ----------
    pattern
        (..., head, query_token, key_token).
    flags
        Token flags: (..., key_token).

    Returns
    -------
    (..., head, query_token).
    """
    counted = as_float((flags & SEP) == 0, like=pattern)
    return namespace(pattern).amax(pattern * counted[..., None, None, :], axis=-1)


def spread_between_heads(
    head_statistic: AnyArray, lengths: NDArray[np.integer], masks: Sequence[Mask] = (EVERY_KEY,)
) -> dict[str, float]:
    """Standard deviation of each statistic between heads, as a share of the range that a row can have.

    The range makes shares, nats and numbers of keys comparable: the result is 0 where all heads are alike, and at most 0.5.
    A standard deviation depends on all heads, while the distance of the extremes would depend on two.

    Parameters
    ----------
    head_statistic
        (source, statistic, layer, head); the source `all` is compared, without attention received.
    lengths
        Tokens of each sentence: (sentence,).
    masks
        Masks of the layers, or one mask for all. The range is the mean over layers.

    Returns
    -------
    Statistic -> share, for the statistics that the store has.
    """
    distinct = dict.fromkeys(masks)
    of_layers, counts = [_ranges(lengths, mask) for mask in distinct], [[*masks].count(mask) for mask in distinct]
    ranges = {name: float(np.average([each[name] for each in of_layers], weights=counts)) for name in of_layers[0]}
    deviation = head_statistic.sel(source="all").std(("layer", "head"))
    # Where every sentence is one token, a row has one value: heads cannot differ.
    spread = {name: float(deviation.sel(statistic=name)) / (ranges.get(name, 1) or 1) for name in STATISTICS}
    return {name: share for name, share in spread.items() if name != "received" and not np.isnan(share)}


def _ranges(lengths: NDArray[np.integer], mask: Mask) -> dict[str, float]:
    """Largest possible values of some statistics in a layer, mean over queries and sentences."""
    farthest = np.inf if mask.window is None else mask.window
    # Fewer than 1 / 0.05 weights can be above 0.05.
    attended = _by_seen(lambda seen: np.minimum(seen, round(1 / ATTENDED) - 1), lengths, mask)
    return {
        "entropy": float(even_entropy(lengths, mask).mean()),
        "attended_keys": float(attended.mean()),
        "distance": float(_by_seen(lambda seen: np.minimum(seen - 1, farthest), lengths, mask).mean()),
        "participation": float(_by_seen(lambda seen: seen - 1, lengths, mask).mean()),
    }


def even_entropy(lengths: NDArray[np.integer], mask: Mask = EVERY_KEY) -> NDArray[np.float64]:
    """Entropy of uniform attention in nats, ln of the number of keys that a query sees; mean over a sentence's queries: (sentence,)."""
    return _by_seen(np.log, lengths, mask)


def even_entropies(lengths: NDArray[np.integer], masks: Sequence[Mask]) -> NDArray[np.float64]:
    """The mean of `even_entropy` over the sentences, for the mask of each layer: (layer,)."""
    means = {mask: even_entropy(lengths, mask).mean() for mask in {*masks}}
    return np.array([means[mask] for mask in masks])


def _by_seen(
    value: Callable[[NDArray[np.int64]], NDArray[np.generic]], lengths: NDArray[np.integer], mask: Mask
) -> NDArray[np.float64]:
    """Mean over each sentence's queries of a value that depends on the number of keys that a query sees: (sentence,)."""
    sizes, of_sentence = np.unique(lengths, return_inverse=True)
    seen = [mask.seen_keys(size) if mask.hides else np.array([size]) for size in sizes.tolist()]
    means = np.array([np.mean(np.asarray(value(each), np.float64)) for each in seen], np.float64)
    return means[of_sentence]


def entropy(pattern: AnyArray) -> AnyArray:
    """Attention entropy -sum p ln p of each query in nats: (..., query_token). At most ln(tokens), for uniform attention.

    Exact. Clark's code mixes 1e-4 of uniform attention into a row to avoid ln 0, which changes it by less than 0.0015 nats.
    """
    xp = namespace(pattern)
    smallest = xp.finfo(pattern.dtype).tiny
    return -(pattern * xp.log(xp.clip(pattern, smallest, None))).sum(axis=-1)


def attention_distance(pattern: AnyArray, first: int = 0) -> AnyArray:
    """Mean attention distance sum over j of p(i,j) |i - j| in tokens: (..., query_token); `first` is the position of the first query."""
    position = namespace(pattern).arange(pattern.shape[-1], device=pattern.device)
    distance = as_float(abs(position[first : first + pattern.shape[-2], None] - position[None, :]), like=pattern)
    return (pattern * distance).sum(axis=-1)


def source_rows(flags: AnyArray, real: AnyArray) -> AnyArray:
    """Rows of each source of `store.schema.model.SOURCES`.

    Parameters
    ----------
    flags, real
        Token flags, and False for padding: (..., token).

    Returns
    -------
    (source, ..., token), bool.
    """
    xp = namespace(flags)
    special = (flags & (NO_WORD | PUNCTUATION | SYMBOL)) != 0
    by_name = {
        "all": real,
        "cls": real & ((flags & OPENS) != 0),
        "sep": real & ((flags & SEP) != 0),
        "punctuation": real & ((flags & PUNCTUATION) != 0),
        "word": real & ~special,
        "other": real & ((flags & SEP) == 0),
    }
    return xp.stack([by_name[name] for name in SOURCES])


def row_weights(rows: AnyArray) -> AnyArray:
    """Weight of each row in the mean of its sentence, so that each sentence weighs 1.

    Parameters
    ----------
    rows
        `source_rows` (source, sentence, token) as bool, or as 0 and 1 in float64 for exact weights.

    Returns
    -------
    (source, sentence, token), 0 in sentences without rows of the source.
    """
    xp = namespace(rows)
    return rows / xp.clip(rows.sum(axis=-1), 1, None)[..., None]


def sum_over_sentences(statistics: AnyArray, weights: AnyArray) -> AnyArray:
    """Sum over sentences of the mean over the rows of a source.

    Parameters
    ----------
    statistics
        (token, statistic, head), float64 for an exact sum.
    weights
        `row_weights` of the same tokens: (token, source).

    Returns
    -------
    (source, statistic, head).
    """
    xp = namespace(statistics)
    return xp.einsum("tah,ts->sah", statistics, weights)


def mean_over_sentences(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Mean over sentences from sums and counts.

    Parameters
    ----------
    sums
        (source, ...) or (position, ...).
    counts
        Sentences that count: (source,) or (position,).

    Returns
    -------
    Means of the shape of `sums`, NaN where no sentence counts.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means: np.ndarray = sums / counts.reshape(-1, *[1] * (sums.ndim - 1))
    return means


def _key_classes(flags: AnyArray, like: AnyArray) -> AnyArray:
    """Whether each token is [CLS], [SEP] or punctuation, as 0 or 1: (..., token, 3)."""
    xp = namespace(flags)
    return as_float(xp.stack([(flags & bits) != 0 for bits in (OPENS, SEP, PUNCTUATION)], -1), like=like)


def _at_offset(pattern: AnyArray, offset: int) -> AnyArray:
    """Weight on the key `offset` places after the query's row number, 0 where there is no such key."""
    xp = namespace(pattern)
    weights = xp.zeros_like(pattern[..., 0])
    diagonal = pattern.diagonal(offset, -2, -1)
    start = max(0, -offset)
    weights[..., start : start + diagonal.shape[-1]] = diagonal
    return weights


def summed_pattern(pattern: AnyArray, real: AnyArray) -> AnyArray:
    """Sum over sentences of the pattern, each row divided by the number of rows of its sentence.

    A sum over a column is the attention received by position, mean over queries (Clark et al. 2019) and sum over sentences.

    Parameters
    ----------
    pattern
        (sentence, head, query_token, key_token); weight 0 on keys that are not real.
    real
        (sentence, token), False for padding, whose rows do not count.

    Returns
    -------
    (head, query_token, key_token).
    """
    rows = as_float(real, like=pattern)
    share = rows / rows.sum(axis=-1)[:, None]
    return (pattern * share[:, None, :, None]).sum(axis=0)


def offset_profile(summed: AnyArray) -> AnyArray:
    """Attention by relative position key - query, sum over rows.

    The first and the last offset stand for all keys farther than `store.schema.model.FARTHEST` tokens.

    Parameters
    ----------
    summed
        `summed_pattern` (head, query_token, key_token).

    Returns
    -------
    (offset, head), in the order of `store.schema.model.OFFSETS`.
    """
    xp = namespace(summed)
    by_offset = _diagonal_sums(summed)
    middle = by_offset.shape[-1] // 2
    before, near, after = (
        by_offset[:, : middle - FARTHEST],
        by_offset[:, middle - FARTHEST : middle + FARTHEST + 1],
        by_offset[:, middle + FARTHEST + 1 :],
    )
    farther = [part.sum(axis=-1)[:, None] for part in (before, after)]
    return xp.concatenate([farther[0], near, farther[1]], -1).T


def _diagonal_sums(square: AnyArray) -> AnyArray:
    """Sums along the diagonals, the main diagonal in the middle: (head, offset), more than `FARTHEST` on each side.

    Row i is shifted by n - 1 - i, so that a diagonal becomes a column: rows are written with length 2 n and read with 2 n - 1.
    """
    xp = namespace(square)
    heads, tokens = square.shape[0], square.shape[-1]
    upside_down = xp.flip(square, (-2,))
    wide = xp.concatenate([upside_down, xp.zeros_like(square)], -1).reshape(heads, -1)
    sums = wide[:, : tokens * (2 * tokens - 1)].reshape(heads, tokens, 2 * tokens - 1).sum(axis=1)
    if tokens > FARTHEST:
        return sums
    margin = as_float(xp.zeros((heads, FARTHEST + 1 - tokens)), like=sums)
    return xp.concatenate([margin, sums, margin], -1)
