"""Attention between words of many sentences at once, and the word that each attends to most."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class StrongestWords(NamedTuple):
    """Indices in the sentence (..., word); -1 where the sentence has no other word.

    Attributes
    ----------
    most_attended
        The other word that this word attends to most.
    most_attending
        The other word that attends most to this word.
    """

    most_attended: NDArray[np.int16]
    most_attending: NDArray[np.int16]


def word_tokens(start: NDArray[np.integer], stop: NDArray[np.integer], tokens: int) -> NDArray[np.bool_]:
    """Whether a wordpiece stands for a word: (..., word, token) from positions (..., word) in the sentence."""
    position = np.arange(tokens)
    return (start[..., None] <= position) & (position < stop[..., None])


def word_pattern(pattern: NDArray[np.float32], covers: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Attention between words: to a word the sum over its wordpieces, from a word their mean (Clark et al. 2019, section 4.1).

    Parameters
    ----------
    pattern
        (head, sentence, query_token, key_token).
    covers
        (sentence, word, token), as `word_tokens` returns it.

    Returns
    -------
    (head, sentence, query_word, key_word); 0 for words without wordpieces, which pad a sentence.
    """
    summed = covers.astype(pattern.dtype)
    mean = summed / np.maximum(summed.sum(axis=-1, keepdims=True), 1)
    merged: NDArray[np.float32] = mean @ pattern @ summed.swapaxes(-1, -2)
    return merged


def strongest_words(pattern: NDArray[np.float32], real: NDArray[np.bool_]) -> StrongestWords:
    """The word that each word attends to most, and the one that attends most to it; never itself, of equal ones the first.

    Parameters
    ----------
    pattern
        (head, sentence, query_word, key_word).
    real
        (sentence, word), False where words pad a sentence.

    Returns
    -------
    Arrays (head, sentence, word).
    """
    other = real[:, :, None] & real[:, None, :] & ~np.eye(real.shape[1], dtype=bool)
    weights = np.where(other, pattern, np.float32(-1))
    alone = ~other.any(axis=-1)
    return StrongestWords(*(np.where(alone, -1, weights.argmax(axis=axis)).astype(np.int16) for axis in (-1, -2)))
