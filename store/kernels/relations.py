"""How often a head links the words of a relation: word pairs from the grammar, from a pattern, or marked by a person.

A relation is a set of directed word pairs within sentences; of a dependency label, from the dependent to its governor
(Clark et al. 2019, section 4.2).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels.words import StrongestWords

#: When a head links a pair (from, to); words are compared with all others of the sentence.
DIRECTIONS: Mapping[str, str] = {
    "forward": "`from` attends most to `to`",
    "backward": "`to` attends most to `from`",
    "received": "`to` is the word that attends most to `from` (Clark's head <- dependent)",
}
#: Offsets of a baseline that ignores the model.
OFFSETS = tuple(offset for offset in range(-10, 11) if offset)


class WordPairs(NamedTuple):
    """Directed pairs of words, each within a sentence: arrays (pair,).

    Attributes
    ----------
    source, target
        Rows of the word axis.
    source_word, target_word
        The same as indices in their sentence.
    sentence
        Index of their sentence.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    source_word: NDArray[np.int16]
    target_word: NDArray[np.int16]
    sentence: NDArray[np.int64]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Words from the first of each pair to the second: (pair,)."""
        return self.target_word.astype(np.int64) - self.source_word

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "WordPairs":
        """Some of the pairs."""
        return WordPairs(
            self.source[chosen],
            self.target[chosen],
            self.source_word[chosen],
            self.target_word[chosen],
            self.sentence[chosen],
        )


def linked(strongest: StrongestWords, pairs: WordPairs) -> NDArray[np.bool_]:
    """Whether a head links each pair: (direction, ..., pair) in the order of `DIRECTIONS`.

    Parameters
    ----------
    strongest
        Arrays (..., word) over the whole word axis.
    """
    return np.stack(
        [
            strongest.most_attended[..., pairs.source] == pairs.target_word,
            strongest.most_attended[..., pairs.target] == pairs.source_word,
            strongest.most_attending[..., pairs.source] == pairs.target_word,
        ]
    )


def frequent_offset(offsets: NDArray[np.integer]) -> int:
    """The most frequent of `OFFSETS` among offsets to - from: the baseline predicts it of every pair, in each direction alike."""
    return max(OFFSETS, key=lambda offset: int((offsets == offset).sum()))


def halves(sentences: int) -> NDArray[np.bool_]:
    """Which sentences are reported on; on the others heads are chosen: (sentence,). Every other one of the corpus."""
    return np.arange(sentences) % 2 == 1
