"""Where one head's queries and keys are drawn in two models, on axes that are the same for both."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.kept import kept
from dashboard.compare.two import Two
from dashboard.points.drawn import Drawn
from store.kernels.alignment import align

#: Tokens drawn of each model at most.
MOST_TOKENS = 20_000


@dataclass(frozen=True, eq=False)
class BothPlaces:
    """Places 0 to 1 on every axis of a cube round both: (2, token, role, component), this model's first.

    `apart` is the mean distance of a point's two places, as a share of the cube's side.
    """

    places: NDArray[np.float32]
    apart: float


def common_views(two: Two) -> list[str]:
    """Views that both models have, in the order of this one's."""
    return [view for view in two.own.views if view in two.other.views]


def drawn_of_both(two: Two, layer: int, head: int, tokens: int) -> tuple[Drawn, Drawn]:
    """The same tokens in the same head of each model; that of the other must be there."""
    count = min(tokens, MOST_TOKENS, two.tokens)
    return Drawn(two.own, count, layer, head), Drawn(two.other, count, layer, head)


def both_places(two: Two, view: str, layer: int, head: int, tokens: int) -> BothPlaces:
    """The other model's places laid onto this one's over all drawn queries and keys (`store.kernels.alignment`)."""
    own, other = drawn_of_both(two, layer, head, tokens)
    key = ("places", view, layer, head, own.tokens)
    return kept(two, key, lambda: on_one_scale(own.places(view)[0], other.places(view)[0]))


def on_one_scale(own: NDArray[np.float32], other: NDArray[np.float32]) -> BothPlaces:
    """Of places (token, role, component) of the same tokens."""
    flat = own.reshape(-1, own.shape[-1]).astype(np.float64)
    both = np.stack([flat, align(other.reshape(flat.shape).astype(np.float64), flat)])
    low, high = both.min(axis=(0, 1)), both.max(axis=(0, 1))
    side = float((high - low).max()) or 1.0
    inside = 0.5 + (both - (low + high) / 2) / side
    apart = float(np.linalg.norm(inside[1] - inside[0], axis=-1).mean())
    return BothPlaces(inside.astype(np.float32).reshape(2, *own.shape), apart)
