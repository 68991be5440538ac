"""What is done with the vectors of every token in one pass, on a CPU. Imports numba: import it where it is used."""

import numpy as np
from numpy.typing import NDArray

from ingest.run.compiled import njit

Singles = NDArray[np.float32]
Numbers = NDArray[np.int64]
#: float16 by its bits, which numba cannot compute with.
Halves = NDArray[np.int16]
#: Sums may be taken in any order, and vectors have no NaN: so many products are added at once.
SUMS = {"reassoc", "contract", "nsz", "nnan"}
_TINY = np.finfo(np.float32).tiny


@njit(cache=True, nogil=True)
def pad(vectors: Singles, starts: Numbers, padded: Singles) -> None:
    """(head, sentence, token, channel) from (token, head, channel), 0 in the padding."""
    heads, sentences, _, _ = padded.shape
    for sentence in range(sentences):
        first, tokens = starts[sentence], starts[sentence + 1] - starts[sentence]
        for head in range(heads):
            for token in range(tokens):
                _copy(vectors[first + token, head], padded[head, sentence, token])
            padded[head, sentence, tokens:] = 0


@njit(cache=True, nogil=True)
def unpad(padded: Singles, starts: Numbers, vectors: Singles) -> None:
    """(token, head, channel) from (head, sentence, token, channel)."""
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
    """sqrt(v G v') (head, token) from v (token, head, channel) and v G (head, token, channel)."""
    heads, tokens, channels = products.shape
    for head in range(heads):
        for token in range(tokens):
            square = np.float32(0)
            for channel in range(channels):
                square += vectors[token, head, channel] * products[head, token, channel]
            norms[head, token] = np.sqrt(max(square, np.float32(0)))


@njit(cache=True, nogil=True, fastmath=SUMS)
def mixing_of(
    to_self: Singles, attended: Singles, own: Singles, residual: Singles, gain: Singles, ratios: Singles
) -> None:
    """`store.kernels.attention.mixing_ratios` (ratio, token) from p(i,i) (head, token) and vectors (token, feature).

    `attended` becomes what is mixed in, `own` what is preserved.
    """
    one = np.float32(1)
    for token in range(len(own)):
        by_weight = one - to_self[:, token].mean()
        preserved_alone = _length(own[token])
        _part(attended[token], own[token], residual[token])
        mixed, scaled_mixed = _lengths(attended[token], gain)
        preserved, scaled_preserved = _lengths(own[token], gain)
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
def _lengths(vector: Singles, gain: Singles) -> tuple[np.float32, np.float32]:
    """|v| and |(v - its mean over features) gain|."""
    total = square = np.float32(0)
    for feature in range(len(vector)):
        total += vector[feature]
    mean = total / np.float32(len(vector))
    for feature in range(len(vector)):
        centred = (vector[feature] - mean) * gain[feature]
        square += centred * centred
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
