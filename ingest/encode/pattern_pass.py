"""Statistics and profiles of the patterns of a batch in one pass over each row, on a CPU.

The formulas of `store.kernels.statistics`, which tests compare. There each formula passes over all patterns of a batch, which
do not fit into the cache of a core: of sentences of 512 wordpieces that took six times as long as the model.
Imports numba: import it where it is used.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from store.kernels.statistics import ATTENDED, SINK, SINK_OF_UNIFORM
from store.schema.corpus import CLS, PUNCTUATION, SEP
from store.schema.model import FARTHEST, OFFSETS, STATISTICS

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Flags = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Bits = NDArray[np.int32]

#: Sums may be taken in any order, and patterns have no NaN: so many weights are added at once.
SUMS = {"reassoc", "contract", "nsz", "nnan"}
_ATTENDED, _TINY = np.float32(ATTENDED), np.finfo(np.float32).tiny
(
    _TO_CLS,
    _TO_SEP,
    _TO_PUNCTUATION,
    _TO_SINK,
    _TO_PREVIOUS,
    _TO_NEXT,
    _TO_SELF,
    _ENTROPY,
    _ATTENDED_KEYS,
    _DISTANCE,
    _RECEIVED,
    _CONFIDENCE,
    _PARTICIPATION,
    _NORM_TO_CLS,
    _NORM_TO_SEP,
    _NORM_TO_PUNCTUATION,
    _NORM_TO_SELF,
) = map(
    list(STATISTICS).index,
    (
        "to_cls",
        "to_sep",
        "to_punctuation",
        "to_sink",
        "to_previous",
        "to_next",
        "to_self",
        "entropy",
        "attended_keys",
        "distance",
        "received",
        "confidence",
        "participation",
        "norm_to_cls",
        "norm_to_sep",
        "norm_to_punctuation",
        "norm_to_self",
    ),
)


class Passed(NamedTuple):
    """What a pass over the patterns of a layer gives.

    Attributes
    ----------
    statistics
        As `token_statistics`: (statistic, sentence, head, token), 0 on padding.
    profile
        As `offset_profile` of all sentences: (offset, head).
    received_at
        Attention received by position, mean over queries and sum over sentences: (position, head).
    """

    statistics: Tensor
    profile: Tensor
    received_at: Tensor


def pass_over(pattern: Tensor, logits: Tensor, lengths: Tensor, flags: Tensor, value_norm: Tensor) -> Passed:
    """One pass over the patterns of a layer.

    Parameters
    ----------
    pattern, logits
        Weights, and what they are the softmax of: (sentence, head, query_token, key_token), contiguous.
    lengths
        Tokens of each sentence, which come before its padding: (sentence,).
    flags
        Token flags of the schema: (sentence, token).
    value_norm
        Value norms (sentence, head, token).
    """
    sentences, heads, tokens, _ = pattern.shape
    statistics = torch.zeros(len(STATISTICS), sentences, heads, tokens)
    profile = torch.zeros(heads, len(OFFSETS), dtype=torch.float64)
    received_at = torch.zeros(heads, tokens, dtype=torch.float64)
    arguments = (pattern, logits, lengths, flags, value_norm.contiguous(), statistics, profile, received_at)
    # As whole numbers, too: the greatest of many is found several times as fast.
    bits = (pattern.view(torch.int32), logits.view(torch.int32))
    _pass_over(*(argument.numpy() for argument in (*arguments, *bits)))
    return Passed(statistics, profile.T, received_at.T)


@njit(cache=True, nogil=True)
def _pass_over(
    pattern: Singles,
    logits: Singles,
    lengths: Numbers,
    flags: Flags,
    norms: Singles,
    statistics: Singles,
    profile: Doubles,
    received_at: Doubles,
    pattern_bits: Bits,
    logit_bits: Bits,
) -> None:
    longest = pattern.shape[-1]
    room, distances = np.zeros(longest, np.float32), np.abs(np.arange(1 - longest, longest)).astype(np.float32)
    bits = np.zeros(2, np.int32)
    greatest = bits.view(np.float32)
    for sentence in range(len(lengths)):
        tokens = lengths[sentence]
        of_cls = np.flatnonzero(flags[sentence, :tokens] & CLS)
        of_sep = np.flatnonzero(flags[sentence, :tokens] & SEP)
        of_punctuation = np.flatnonzero(flags[sentence, :tokens] & PUNCTUATION)
        for head in range(pattern.shape[1]):
            out, norm = statistics[:, sentence, head], norms[sentence, head, :tokens]
            received = room[:tokens]
            received[:] = 0
            for query in range(tokens):
                row, row_bits = pattern[sentence, head, query, :tokens], pattern_bits[sentence, head, query, :tokens]
                _add(received, row)
                _add_profile(profile[head], row, query)
                bits[0] = _greatest_but(row_bits, of_sep)
                out[_CONFIDENCE, query] = greatest[0]
                bits[0] = _greatest(row_bits)
                bits[1] = _greatest(logit_bits[sentence, head, query, :tokens])
                _of_row(out, row, logits[sentence, head, query], norm, distances, greatest, query)
            sinks = np.flatnonzero(received > max(SINK * tokens, SINK_OF_UNIFORM))
            for query in range(tokens):
                out[_RECEIVED, query] = received[query]
                received_at[head, query] += received[query] / tokens
                row = pattern[sentence, head, query]
                whole = out[_NORM_TO_SELF, query]
                out[_NORM_TO_SELF, query] = row[query] * norm[query] / whole
                out[_TO_CLS, query], out[_NORM_TO_CLS, query] = _to(of_cls, row, norm, whole)
                out[_TO_SEP, query], out[_NORM_TO_SEP, query] = _to(of_sep, row, norm, whole)
                out[_TO_PUNCTUATION, query], out[_NORM_TO_PUNCTUATION, query] = _to(of_punctuation, row, norm, whole)
                out[_TO_SINK, query], _ = _to(sinks, row, norm, whole)


@njit(cache=True, nogil=True, fastmath=SUMS)
def _add(received: Singles, row: Singles) -> None:
    for key in range(len(row)):
        received[key] += row[key]


@njit(cache=True, nogil=True, fastmath=SUMS)
def _add_profile(profile: Doubles, row: Singles, query: int) -> None:
    """Add a row, divided by the tokens of its sentence, to the weights by offset."""
    tokens = len(row)
    first, last = max(0, query - FARTHEST), min(tokens - 1, query + FARTHEST)
    before = after = np.float32(0)
    for key in range(first):
        before += row[key]
    for key in range(last + 1, tokens):
        after += row[key]
    profile[0] += before / tokens
    profile[-1] += after / tokens
    for key in range(first, last + 1):
        profile[key - query + FARTHEST + 1] += row[key] / tokens


@njit(cache=True, nogil=True, fastmath=SUMS)
def _of_row(
    out: Singles, row: Singles, logits: Singles, norm: Singles, distances: Singles, greatest: Singles, query: int
) -> None:
    """Statistics of a row that are sums over all its keys. `norm_to_self` gets what norms are divided by.

    `greatest` are the largest weight and the largest logit.
    """
    none, one = np.float32(0), np.float32(1)
    attended = square = whole = below = far = none
    nearest = len(distances) // 2 - query
    for key in range(len(row)):
        weight = row[key]
        attended += one if weight > _ATTENDED else none
        square += weight * weight
        whole += weight * norm[key]
        below += weight * (greatest[1] - logits[key])
        far += weight * distances[nearest + key]
    out[_ATTENDED_KEYS, query], out[_PARTICIPATION, query], out[_DISTANCE, query] = attended, one / square, far
    # - sum p ln p, as ln p = ln of the largest weight + logit - largest logit: one logarithm a row.
    out[_ENTROPY, query] = max(none, below - np.float32(math.log(greatest[0])))
    out[_NORM_TO_SELF, query] = max(whole, _TINY)
    out[_TO_SELF, query] = row[query]
    out[_TO_PREVIOUS, query] = row[query - 1] if query > 0 else none
    out[_TO_NEXT, query] = row[query + 1] if query + 1 < len(row) else none


@njit(cache=True, nogil=True)
def _greatest(bits: Bits) -> np.int32:
    """The bits of the greatest of some numbers, as whole numbers: those of negative numbers descend."""
    least = greatest = bits[0]
    for place in range(len(bits)):
        greatest = max(greatest, bits[place])
        least = min(least, bits[place])
    return greatest if greatest >= 0 else least


@njit(cache=True, nogil=True)
def _greatest_but(bits: Bits, others: Numbers) -> np.int32:
    """The bits of the greatest weight, some keys left out, which ascend."""
    greatest, start = np.int32(0), 0
    for place in range(len(others) + 1):
        stop = others[place] if place < len(others) else len(bits)
        for key in range(start, stop):
            greatest = max(greatest, bits[key])
        start = stop + 1
    return greatest


@njit(cache=True, nogil=True)
def _to(keys: Numbers, row: Singles, norm: Singles, whole: np.float32) -> tuple[np.float32, np.float32]:
    """Attention to some keys, by weight and by weight times value norm."""
    by_weight = by_norm = np.float32(0)
    for place in range(len(keys)):
        by_weight += row[keys[place]]
        by_norm += row[keys[place]] * norm[keys[place]]
    return by_weight, by_norm / whole
