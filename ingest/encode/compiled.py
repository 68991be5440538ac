"""Functions of the encoding on a CPU that numba compiles: statistics of patterns and work on every token's vectors, each in one pass.

Softmax, statistics and profiles are taken in one pass over each row of logits, by the formulas of `store.kernels`, which tests
compare. There each formula passes over all patterns of a batch, which do not fit into the cache of a core: for sentences of 512
wordpieces that took six times as long as the model. Imports numba: import it where it is used.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.run.compiled import njit
from store.kernels.statistics import ATTENDED
from store.schema import check_complete
from store.schema.corpus import OPENS, PUNCTUATION, SEP
from store.schema.model import FARTHEST, OFFSETS, STATISTICS

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Flags = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Bits = NDArray[np.int32]

#: Sums may be taken in any order, and neither patterns nor vectors have NaN: a core then adds several weights or products at once.
SUMS = {"reassoc", "contract", "nsz", "nnan"}
_ATTENDED, _TINY = np.float32(ATTENDED), np.finfo(np.float32).tiny
#: Coefficients of the polynomial that is 2^x for x from -1/2 to 1/2, to 2e-7 (S. Moshier, Cephes, exp2f).
_P6, _P5, _P4, _P3, _P2, _P1 = (
    np.float32(factor)
    for factor in (1.535336188e-4, 1.339887440e-3, 9.618437357e-3, 5.550332472e-2, 0.2402264791, 0.6931472028)
)
#: Smallest exponent of 2 that gives no subnormal number; bias of an exponent's bits, and number of bits below them.
_LEAST, _BIAS, _MANTISSA = np.float32(-126), np.int32(127), np.int32(23)
_HALF, _ONE, _PER_BINARY = np.float32(0.5), np.float32(1), np.float32(1 / math.log(2))


class Places(NamedTuple):
    """Place of each statistic that the pass writes, in the order of `STATISTICS`.

    Compiled functions take it as an argument: numba's cache would keep the numbers of a constant when the table changes.
    """

    to_cls: int
    to_sep: int
    to_punctuation: int
    to_sink: int
    to_previous: int
    to_next: int
    to_self: int
    entropy: int
    attended_keys: int
    distance: int
    received: int
    confidence: int
    participation: int
    norm_to_cls: int
    norm_to_sep: int
    norm_to_punctuation: int
    norm_to_self: int


check_complete(__name__, Places._fields, STATISTICS, "statistic")
PLACES = Places(**{name: place for place, name in enumerate(STATISTICS)})


@njit(cache=True, nogil=True)
def accumulate_statistics(
    logits: Singles,
    scale: float,
    starts: Numbers,
    flags: Flags,
    norms: Singles,
    thresholds: Doubles,
    statistics: Singles,
    profile: Doubles,
    received_at: Doubles,
    at: Places,
) -> None:
    """Turn the logits of some heads into patterns, and add up the statistics of these that are stored.

    Parameters
    ----------
    logits
        (head, sentence, query_token, key_token), to be multiplied by `scale`. They become weights, 0 on padding.
    starts
        First token of each sentence, and the one after the last: (sentence + 1,).
    flags, norms
        Token flags of the schema (token,), and value norms (head, token).
    thresholds
        `sink_threshold` of each token: (sentence, token).
    statistics
        Becomes `token_statistics`: (statistic, head, token).
    profile, received_at
        Sums to which the function adds the `offset_profile` of all sentences, (head, offset), and attention received by position,
        mean over queries and sum over sentences, (head, position).
    at
        `PLACES`.
    """
    heads, sentences, _, longest = logits.shape
    received, near = np.empty(longest, np.float32), np.empty(len(OFFSETS), np.float32)
    saved, bits, factor = np.empty(longest, np.float32), logits.view(np.int32), np.float32(scale)
    distances = np.abs(np.arange(1 - longest, longest)).astype(np.float32)
    for sentence in range(sentences):
        first, tokens = starts[sentence], starts[sentence + 1] - starts[sentence]
        own = flags[first : first + tokens]
        of_cls, of_sep = np.flatnonzero(own & OPENS), np.flatnonzero(own & SEP)
        of_punctuation = np.flatnonzero(own & PUNCTUATION)
        for head in range(heads):
            out, norm = statistics[:, head, first : first + tokens], norms[head, first : first + tokens]
            rows = logits[head, sentence]
            received[:tokens] = 0
            near[:] = 0
            for query in range(tokens):
                row = rows[query, :tokens]
                share = _soften(out, at, row, bits[head, sentence, query, :tokens], factor, of_sep, saved, query)
                _of_row(out, at, row, share, norm, distances[longest - 1 - query :], received, query)
                _add_offsets(near, row, query)
                rows[query, tokens:] = 0
            rows[tokens:] = 0
            sinks = np.flatnonzero(received[:tokens] > thresholds[sentence, :tokens])
            _of_keys(out, at, rows, norm, received[:tokens], of_cls, of_sep, of_punctuation, sinks)
            for offset in range(len(near)):
                profile[head, offset] += near[offset] / tokens
            for key in range(tokens):
                received_at[head, key] += received[key] / tokens


@njit(cache=True, nogil=True)
def _soften(
    out: Singles,
    at: Places,
    row: Singles,
    bits: Bits,
    scale: np.float32,
    of_sep: Numbers,
    saved: Singles,
    query: int,
) -> np.float32:
    """Replace the logits of a row by exponentials and return one over their sum; write the row's entropy and confidence."""
    greatest, other = _greatest(row, bits, of_sep, saved)
    total, below = _exponentiate(row, greatest, scale)
    share = _ONE / total
    # - sum p ln p, as - ln p = largest logit - logit + ln of the sum: one logarithm a row.
    out[at.entropy, query] = max(np.float32(0), scale * below * share + np.float32(math.log(total)))
    out[at.confidence, query] = share * np.float32(math.exp(scale * (other - greatest)))
    return share


@njit(cache=True, nogil=True)
def _greatest(row: Singles, bits: Bits, of_sep: Numbers, saved: Singles) -> tuple[np.float32, np.float32]:
    """Largest logit of a row, and largest logit on keys other than [SEP]: minus infinity where all keys are [SEP]."""
    for place in range(len(of_sep)):
        saved[place] = row[of_sep[place]]
        row[of_sep[place]] = -np.inf
    greatest = other = _largest(bits)
    for place in range(len(of_sep)):
        row[of_sep[place]] = saved[place]
        greatest = max(greatest, saved[place])
    return greatest, other


@njit(cache=True, nogil=True)
def _largest(bits: Bits) -> np.float32:
    """Largest of some numbers, by their bits as whole numbers: many times as fast. Bits of negative numbers have the opposite order."""
    greatest, least = np.int32(-0x80000000), np.int32(0x7FFFFFFF)
    for place in range(len(bits)):
        greatest = max(greatest, bits[place])
        least = min(least, bits[place])
    return np.int32(greatest if greatest >= 0 else least).view(np.float32)


@njit(cache=True, nogil=True, fastmath=SUMS)
def _exponentiate(row: Singles, greatest: np.float32, scale: np.float32) -> tuple[np.float32, np.float32]:
    """Replace logits by exp(scale (logit - greatest)); return the sum of these, and the sum of each times (greatest - logit)."""
    total = below = np.float32(0)
    per_binary = scale * _PER_BINARY
    for key in range(len(row)):
        difference = row[key] - greatest
        exponent = max(per_binary * difference, _LEAST)
        whole = np.floor(exponent + _HALF)
        part = exponent - whole
        power = np.int32((np.int32(whole) + _BIAS) << _MANTISSA).view(np.float32)
        weight = power * ((((((_P6 * part + _P5) * part + _P4) * part + _P3) * part + _P2) * part + _P1) * part + _ONE)
        total += weight
        below -= weight * difference
        row[key] = weight
    return total, below


@njit(cache=True, nogil=True, fastmath=SUMS)
def _of_row(
    out: Singles,
    at: Places,
    row: Singles,
    share: np.float32,
    norm: Singles,
    distance: Singles,
    received: Singles,
    query: int,
) -> None:
    """Divide a row by its sum; write its statistics that are sums over all keys. `norm_to_self` holds the divisor of norms for now."""
    none = np.float32(0)
    attended = square = whole = far = none
    for key in range(len(row)):
        weight = row[key] * share
        row[key] = weight
        received[key] += weight
        attended += _ONE if weight > _ATTENDED else none
        square += weight * weight
        whole += weight * norm[key]
        far += weight * distance[key]
    out[at.attended_keys, query], out[at.participation, query], out[at.distance, query] = attended, _ONE / square, far
    out[at.norm_to_self, query] = max(whole, _TINY)
    out[at.to_self, query] = row[query]
    out[at.to_previous, query] = row[query - 1] if query > 0 else none
    out[at.to_next, query] = row[query + 1] if query + 1 < len(row) else none


@njit(cache=True, nogil=True, fastmath=SUMS)
def _add_offsets(near: Singles, row: Singles, query: int) -> None:
    """Add the weights of a row to `near`, by offset."""
    first, last = max(0, query - FARTHEST), min(len(row), query + FARTHEST + 1)
    near[0] += _total(row[:first])
    near[-1] += _total(row[last:])
    window, into = row[first:last], near[FARTHEST + 1 - query + first :]
    for key in range(len(window)):
        into[key] += window[key]


@njit(cache=True, nogil=True, fastmath=SUMS)
def _total(row: Singles) -> np.float32:
    total = np.float32(0)
    for key in range(len(row)):
        total += row[key]
    return total


@njit(cache=True, nogil=True)
def _of_keys(
    out: Singles,
    at: Places,
    rows: Singles,
    norm: Singles,
    received: Singles,
    of_cls: Numbers,
    of_sep: Numbers,
    of_punctuation: Numbers,
    sinks: Numbers,
) -> None:
    """Statistics of the rows of a sentence that are sums over few keys, and the attention that each key receives."""
    for query in range(len(received)):
        row, whole = rows[query], out[at.norm_to_self, query]
        out[at.received, query] = received[query]
        out[at.norm_to_self, query] = row[query] * norm[query] / whole
        out[at.to_cls, query], out[at.norm_to_cls, query] = _to(of_cls, row, norm, whole)
        out[at.to_sep, query], out[at.norm_to_sep, query] = _to(of_sep, row, norm, whole)
        out[at.to_punctuation, query], out[at.norm_to_punctuation, query] = _to(of_punctuation, row, norm, whole)
        out[at.to_sink, query], _ = _to(sinks, row, norm, whole)


@njit(cache=True, nogil=True)
def _to(keys: Numbers, row: Singles, norm: Singles, whole: np.float32) -> tuple[np.float32, np.float32]:
    """Attention to some keys, by weight and by weight times value norm."""
    by_weight = by_norm = np.float32(0)
    for place in range(len(keys)):
        by_weight += row[keys[place]]
        by_norm += row[keys[place]] * norm[keys[place]]
    return by_weight, by_norm / whole


#: Bits of float16 numbers: numba cannot compute with float16.
Halves = NDArray[np.int16]


@njit(cache=True, nogil=True)
def pad(vectors: Singles, starts: Numbers, padded: Singles) -> None:
    """Copy vectors (token, head, channel) to `padded` (head, sentence, token, channel), 0 in the padding."""
    heads, sentences, _, _ = padded.shape
    for sentence in range(sentences):
        first, tokens = starts[sentence], starts[sentence + 1] - starts[sentence]
        for head in range(heads):
            for token in range(tokens):
                _copy(vectors[first + token, head], padded[head, sentence, token])
            padded[head, sentence, tokens:] = 0


@njit(cache=True, nogil=True)
def unpad(padded: Singles, starts: Numbers, vectors: Singles) -> None:
    """Copy `padded` (head, sentence, token, channel) to vectors (token, head, channel), without the padding."""
    heads, sentences, _, _ = padded.shape
    for sentence in range(sentences):
        first, tokens = starts[sentence], starts[sentence + 1] - starts[sentence]
        for head in range(heads):
            for token in range(tokens):
                _copy(padded[head, sentence, token], vectors[first + token, head])


@njit(cache=True, nogil=True)
def _copy(vector: Singles | Halves, into: Singles | Halves) -> None:
    for channel in range(len(vector)):
        into[channel] = vector[channel]


@njit(cache=True, nogil=True, fastmath=SUMS)
def norms_of(vectors: Singles, products: Singles, norms: Singles) -> None:
    """Norms sqrt(v G v') (head, token) from v (token, head, channel) and v G (head, token, channel)."""
    heads, tokens, channels = products.shape
    for head in range(heads):
        for token in range(tokens):
            square = np.float32(0)
            for channel in range(channels):
                square += vectors[token, head, channel] * products[head, token, channel]
            norms[head, token] = np.sqrt(max(square, np.float32(0)))


@njit(cache=True, nogil=True, fastmath=SUMS)
def mixing_of(
    centred: bool,
    to_self: Singles,
    attended: Singles,
    own: Singles,
    residual: Singles,
    gain: Singles,
    ratios: Singles,
) -> None:
    """`store.kernels.mixing.mixing_ratios` (ratio, token) from p(i,i) (head, token) and vectors (token, feature).

    `attended` becomes the vectors that are mixed in, `own` the vectors that are preserved.
    """
    one = np.float32(1)
    for token in range(len(own)):
        by_weight = one - to_self[:, token].mean()
        preserved_alone = _length(own[token])
        _part(attended[token], own[token], residual[token])
        mixed, scaled_mixed = _lengths(attended[token], gain, centred)
        preserved, scaled_preserved = _lengths(own[token], gain, centred)
        ratios[0, token] = by_weight
        ratios[1, token] = by_weight / 2
        ratios[2, token] = _share(mixed, preserved_alone)
        ratios[3, token] = _share(mixed, preserved)
        ratios[4, token] = _share(scaled_mixed, scaled_preserved)


@njit(cache=True, nogil=True, fastmath=SUMS)
def _part(attended: Singles, own: Singles, residual: Singles) -> None:
    for feature in range(len(own)):
        attended[feature] -= own[feature]
        own[feature] += residual[feature]


@njit(cache=True, nogil=True, fastmath=SUMS)
def _length(vector: Singles) -> np.float32:
    square = np.float32(0)
    for feature in range(len(vector)):
        square += vector[feature] * vector[feature]
    return np.sqrt(square)


@njit(cache=True, nogil=True, fastmath=SUMS)
def _lengths(vector: Singles, gain: Singles, centred: bool) -> tuple[np.float32, np.float32]:
    """Lengths |v| and |(v - its mean over features) gain|; the second is |v gain| if not `centred`."""
    total = square = np.float32(0)
    for feature in range(len(vector)):
        total += vector[feature]
    mean = total / np.float32(len(vector)) if centred else np.float32(0)
    for feature in range(len(vector)):
        scaled = (vector[feature] - mean) * gain[feature]
        square += scaled * scaled
    return _length(vector), np.sqrt(square)


@njit(cache=True, nogil=True)
def _share(mixed: np.float32, preserved: np.float32) -> np.float32:
    return mixed / max(mixed + preserved, _TINY)


@njit(cache=True, nogil=True)
def place_vectors(into: Halves, rows: Numbers, vectors: Halves) -> None:
    """Put vectors (head, token, channel) at rows of a block (head, row, channel)."""
    for head in range(len(vectors)):
        for token in range(len(rows)):
            _copy(vectors[head, token], into[head, rows[token]])


@njit(cache=True, nogil=True)
def place_numbers(into: Halves, rows: Numbers, numbers: Halves) -> None:
    """Put numbers (any, head, token) at rows of a block (any, head, row)."""
    for place in range(len(numbers)):
        for head in range(numbers.shape[1]):
            for token in range(len(rows)):
                into[place, head, rows[token]] = numbers[place, head, token]
