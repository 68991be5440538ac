"""The mean of what is shown of several heads of a sentence, for the matrix."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dashboard.sentence.sentence import Floats, Sentence
from dashboard.sentence.shown_pattern import Showing, shown_pattern

Mean = Literal["none", "heads", "layers", "both"]
MEANS: tuple[Mean, ...] = ("none", "heads", "layers", "both")


def mean_pattern(
    sentence: Sentence, showing: Showing, *, mean: Mean, layer: int, head: int, heads: Sequence[int] = ()
) -> Floats:
    """Mean weights (query, key) over heads of a layer, over layers of a head, over both, or one head's own.

    `heads` are those a mean over heads is of; none are all. A rollout has one head, the mean already.
    """
    layers = range(len(sentence.query)) if mean in ("layers", "both") else (layer,)
    wanted = list(heads) if mean in ("heads", "both") else [head]
    # Layer by layer: all patterns of a long sentence at once are large.
    first, *others = layers
    total = _of_layer(sentence, showing, first, wanted)
    for other in others:
        total += _of_layer(sentence, showing, other, wanted)
    return total / np.float32(len(layers))


def _of_layer(sentence: Sentence, showing: Showing, layer: int, heads: list[int]) -> Floats:
    weights = shown_pattern(sentence, showing, layer=layer).weights[0]
    mean: Floats = (weights if showing.rollout or not heads else weights[heads]).mean(axis=0)
    return mean
