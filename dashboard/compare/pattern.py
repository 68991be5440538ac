"""The pattern of one head for one sentence in two models."""

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.two import Two
from dashboard.points.exports import Table
from dashboard.sentence.sentence import stored_sentence
from dashboard.ui.significant import significant
from store.kernels.divergence import row_divergence

Floats = NDArray[np.float32]


def both_patterns(two: Two, sentence: int, layer: int, head: int) -> Floats:
    """Weights (2, query_token, key_token), this model's first; both models have the sentence and the head."""
    return np.stack([stored_sentence(one, sentence).layer_pattern(layer)[head] for one in (two.own, two.other)])


def sentence_divergence(patterns: Floats) -> float:
    """Mean over rows of the Jensen-Shannon divergence, in nats."""
    return float(row_divergence(patterns[0], patterns[1]).mean())


def patterns_table(two: Two, sentence: int, layer: int, head: int) -> Table:
    """A row for each query and key, with its weight in both models and other - this."""
    pieces = np.array(stored_sentence(two.own, sentence).wordpieces, object)
    own, other = both_patterns(two, sentence, layer, head).reshape(2, -1)
    place = np.arange(len(pieces))
    return {
        "query": np.repeat(pieces, len(pieces)),
        "query_position": np.repeat(place, len(pieces)),
        "key": np.tile(pieces, len(pieces)),
        "key_position": np.tile(place, len(pieces)),
        "this": np.array(significant(own.tolist())),
        "other": np.array(significant(other.tolist())),
        "difference": np.array(significant((other - own).tolist())),
    }
