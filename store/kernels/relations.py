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


def best_offset(pairs: WordPairs) -> tuple[int, float]:
    """The offset to - from that most of the pairs have, and the share that has it; of equal ones the nearest.

    The accuracy of a baseline that ignores the model, in every direction alike.
    """
    offsets = pairs.target_word.astype(np.int64) - pairs.source_word
    shares = {offset: float((offsets == offset).mean()) if len(offsets) else float("nan") for offset in OFFSETS}
    best = max(sorted(OFFSETS, key=abs), key=lambda offset: shares[offset])
    return best, shares[best]


def halves(sentences: int) -> NDArray[np.bool_]:
    """Which sentences are reported on; on the others heads are chosen: (sentence,). Every other one of the corpus."""
    return np.arange(sentences) % 2 == 1


def accuracy_interval(
    hits: NDArray[np.bool_], sentence: NDArray[np.int64], counts: NDArray[np.floating], percentiles: tuple[float, ...]
) -> NDArray[np.float64]:
    """Percentile interval of an accuracy, by bootstrap over sentences (`store.kernels.bootstrap`).

    Parameters
    ----------
    hits, sentence
        (..., pair) and (pair,).
    counts
        (sentence, replicate): how often each sentence counts.

    Returns
    -------
    (percentile, ...).
    """
    drawn = counts[sentence].astype(np.float32)
    total = drawn.sum(axis=0, dtype=np.float64)
    whole = total > 0
    accuracy = (hits.reshape(-1, hits.shape[-1]).astype(np.float32) @ drawn)[:, whole] / total[whole]
    if not whole.any():
        return np.full((len(percentiles), *hits.shape[:-1]), np.nan)
    return np.percentile(accuracy, percentiles, axis=-1).reshape(len(percentiles), *hits.shape[:-1])
