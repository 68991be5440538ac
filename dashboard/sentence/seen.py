"""Which keys a query sees: every key of its sentence, unless the model's mask hides later ones or those that are far away."""

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.sentence import Sentence
from store.kernels.bias import Mask, masks_of
from store.phrases import many


def seen_keys(sentence: Sentence, query: int, layer: int | None = None) -> NDArray[np.bool_]:
    """Which keys a query sees in a layer, or in any of them: (key_token,)."""
    distance = np.arange(len(sentence.wordpieces)) - query
    seen: NDArray[np.bool_] = np.any([mask.seen(distance) for mask in _masks(sentence, layer)], axis=0)
    return seen


def why_unseen(sentence: Sentence, query: int, key: int, layer: int | None = None) -> str:
    """Why a query does not see a key in a layer, or in any of them, and what to do; empty where it does."""
    if seen_keys(sentence, query, layer)[key]:
        return ""
    masks = _masks(sentence, layer)
    if key > query and all(mask.causal for mask in masks):
        reason = "This model's tokens see no later token"
    else:
        farthest = max(mask.window or 0 for mask in masks)
        where = "" if layer is None else f" in layer {layer}"
        reason = f"This model's tokens see none that is more than {many(farthest, 'token')} away{where}"
    return f"{reason}. Choose a key that “{sentence.wordpieces[query]}” sees."


def _masks(sentence: Sentence, layer: int | None) -> tuple[Mask, ...]:
    """Those of a layer, or of all."""
    masks = masks_of(sentence.bias, len(sentence.query))
    return masks if layer is None else (masks[layer],)
