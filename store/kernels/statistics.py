"""What a head does, counted: statistics of attention rows, and their means over sentences.

Definitions follow Clark et al. 2019 ("What Does BERT Look At?", section 3): the denominator of an average is the
number of query rows of the sentence, padding is never counted, sentences weigh equally. The number of [SEP] is
taken from the sentence, not fixed at two.
"""

import numpy as np

from store.kernels import AnyArray, as_float, namespace
from store.schema.corpus import CLS, PUNCTUATION, SEP, SYMBOL
from store.schema.model import FARTHEST, SOURCES, STATISTICS

#: A key counts as attended above this weight (AttentionViz draws lines from here; its issue on sparsity).
ATTENDED = 0.05
#: A token is a sink where its mean weight over the sentence's rows is above this (Gu et al. 2024, epsilon) ...
SINK = 0.3
#: ... and above so much of what uniform attention would give it: in sentences of fewer than 5 tokens that is more.
SINK_OF_UNIFORM = 1.5


def token_statistics(pattern: AnyArray, flags: AnyArray, real: AnyArray, value_norm: AnyArray) -> AnyArray:
    """Every statistic of `schema.STATISTICS`, in that order: (statistic, ..., head, token).

    Parameters
    ----------
    pattern
        (..., head, query_token, key_token); weight 0 on keys that are not real.
    flags
        (..., token), the schema's token flags.
    real
        (..., token), False for padding. Statistics of padding are meaningless.
    value_norm
        (..., head, token), ||f(x)|| of every token (Kobayashi et al. 2020).
    """
    xp = namespace(pattern)
    received = xp.matmul(as_float(real, like=pattern)[..., None, None, :], pattern)[..., 0, :]
    to_self = _at_offset(pattern, 0)
    by_name = {
        "to_previous": _at_offset(pattern, -1),
        "to_next": _at_offset(pattern, 1),
        "to_self": to_self,
        "entropy": entropy(pattern),
        "attended_keys": as_float(pattern > ATTENDED, like=pattern).sum(axis=-1),
        "distance": attention_distance(pattern),
        "received": received,
        "confidence": confidence(pattern, flags),
        "participation": 1 / (pattern * pattern).sum(axis=-1),
    }
    by_name |= _to_keys(pattern, flags, _sinks(received, real), value_norm, to_self)
    return xp.stack([by_name[name] for name in STATISTICS])


def _to_keys(
    pattern: AnyArray, flags: AnyArray, sinks: AnyArray, value_norm: AnyArray, to_self: AnyArray
) -> dict[str, AnyArray]:
    """Sums over some of the keys, by the weights and by the weights times the norms, in one product."""
    xp = namespace(pattern)
    classes = xp.broadcast_to(_key_classes(flags, like=pattern)[..., None, :, :], (*sinks.shape, 3))
    norms = value_norm[..., None]
    sums = xp.matmul(pattern, xp.concatenate([classes, sinks[..., None], classes * norms, norms], -1))
    by_weight = {name: sums[..., place] for place, name in enumerate(("to_cls", "to_sep", "to_punctuation", "to_sink"))}
    whole = xp.clip(sums[..., 7], xp.finfo(pattern.dtype).tiny, None)
    by_norm = {
        "norm_to_cls": sums[..., 4] / whole,
        "norm_to_sep": sums[..., 5] / whole,
        "norm_to_punctuation": sums[..., 6] / whole,
        "norm_to_self": to_self * value_norm / whole,
    }
    return by_weight | by_norm


def _sinks(received: AnyArray, real: AnyArray) -> AnyArray:
    """1 for keys whose mean weight over the sentence's rows is above the threshold, else 0: (..., head, token)."""
    rows = as_float(real, like=received).sum(axis=-1)[..., None, None]
    return as_float(received > sink_threshold(rows), like=received)


def sink_threshold(rows: AnyArray) -> AnyArray:
    """What a token has to receive of all rows of its sentence together, of as many as `rows` says, to be a sink."""
    return namespace(rows).clip(SINK * rows, SINK_OF_UNIFORM, None)


def confidence(pattern: AnyArray, flags: AnyArray) -> AnyArray:
    """Largest weight of each row on a key other than [SEP]: (..., query_token) (Voita et al. 2019, section 4)."""
    kept = as_float((flags & SEP) == 0, like=pattern)
    return namespace(pattern).amax(pattern * kept[..., None, None, :], axis=-1)


def entropy(pattern: AnyArray) -> AnyArray:
    """Entropy of each row in nats: (..., query_token). At most ln(tokens), reached by uniform attention.

    The exact value. Clark's code mixes 1e-4 of the uniform distribution into the row to avoid ln 0, which moves a row by less than 0.0015 nats.
    """
    xp = namespace(pattern)
    smallest = xp.finfo(pattern.dtype).tiny
    return -(pattern * xp.log(xp.clip(pattern, smallest, None))).sum(axis=-1)


def attention_distance(pattern: AnyArray) -> AnyArray:
    """Mean distance in tokens between a query and what it attends to: (..., query_token)."""
    place = np.arange(pattern.shape[-1])
    distance = as_float(np.abs(place[:, None] - place[None, :]), like=pattern)
    return (pattern * distance).sum(axis=-1)


def source_rows(flags: AnyArray, real: AnyArray) -> AnyArray:
    """Which rows belong to each of `schema.SOURCES`: bool (source, ..., token)."""
    xp = namespace(flags)
    special = (flags & (CLS | SEP | PUNCTUATION | SYMBOL)) != 0
    by_name = {
        "all": real,
        "cls": real & ((flags & CLS) != 0),
        "sep": real & ((flags & SEP) != 0),
        "punctuation": real & ((flags & PUNCTUATION) != 0),
        "word": real & ~special,
        "other": real & ((flags & SEP) == 0),
    }
    return xp.stack([by_name[name] for name in SOURCES])


def row_weights(rows: AnyArray) -> AnyArray:
    """What each row weighs in its sentence's mean, so that every sentence weighs 1: (source, sentence, token).

    `rows` is `source_rows` as bool, or as 0 and 1 in float64 for exact weights. A sentence without such rows weighs nothing.
    """
    xp = namespace(rows)
    return rows / xp.clip(rows.sum(axis=-1), 1, None)[..., None]


def sum_over_sentences(statistics: AnyArray, weights: AnyArray) -> AnyArray:
    """Sum over sentences of the mean over a source's rows: (source, statistic, head).

    Parameters
    ----------
    statistics
        (token, statistic, head), float64 for an exact sum.
    weights
        (token, source), `row_weights` of the same tokens.
    """
    xp = namespace(statistics)
    return xp.einsum("tah,ts->sah", statistics, weights)


def mean_over_sentences(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Mean over sentences (source, ...) from sums of that shape and the sentences that count (source); or by position.

    NaN where no sentence has rows of a source.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means: np.ndarray = sums / counts.reshape(-1, *[1] * (sums.ndim - 1))
    return means


def _key_classes(flags: AnyArray, like: AnyArray) -> AnyArray:
    """Columns [CLS], [SEP], punctuation as 0 or 1: (..., token, 3)."""
    xp = namespace(flags)
    return as_float(xp.stack([(flags & bit) != 0 for bit in (CLS, SEP, PUNCTUATION)], -1), like=like)


def _at_offset(pattern: AnyArray, offset: int) -> AnyArray:
    """Weight on the key `offset` places to the right of the query; 0 where there is none."""
    xp = namespace(pattern)
    weights = xp.zeros_like(pattern[..., 0])
    diagonal = pattern.diagonal(offset, -2, -1)
    start = max(0, -offset)
    weights[..., start : start + diagonal.shape[-1]] = diagonal
    return weights


def summed_pattern(pattern: AnyArray, real: AnyArray) -> AnyArray:
    """Sum over sentences of the pattern, each row divided by the rows of its sentence: (head, query_token, key_token).

    Its columns sum to the mean weight on a position over a sentence's rows (Clark et al. 2019), summed over sentences.

    Parameters
    ----------
    pattern
        (sentence, head, query_token, key_token); weight 0 on keys that are not real.
    real
        (sentence, token), False for padding, whose rows are not counted.
    """
    rows = as_float(real, like=pattern)
    share = rows / rows.sum(axis=-1)[:, None]
    return (pattern * share[:, None, :, None]).sum(axis=0)


def offset_profile(summed: AnyArray) -> AnyArray:
    """Weight at each key - query of `schema.OFFSETS`, summed over rows: (offset, head) from (head, query, key).

    The first and the last offset are all that is farther than `schema.FARTHEST`.
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
    """Sums along the diagonals, the main one in the middle: (head, offset); at least `FARTHEST` on each side.

    Row i is moved by n - 1 - i places, so that a diagonal becomes a column: written into rows of 2 n, read as rows of 2 n - 1.
    """
    xp = namespace(square)
    heads, tokens = square.shape[0], square.shape[-1]
    upside_down = xp.flip(square, (-2,))
    wide = xp.concatenate([upside_down, xp.zeros_like(square)], -1).reshape(heads, -1)
    sums = wide[:, : tokens * (2 * tokens - 1)].reshape(heads, tokens, 2 * tokens - 1).sum(axis=1)
    if tokens > FARTHEST:
        return sums
    room = as_float(xp.zeros((heads, FARTHEST + 1 - tokens)), like=sums)
    return xp.concatenate([room, sums, room], -1)
