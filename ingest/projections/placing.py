"""From vectors to places: fit a projection on some tokens, and place the others by a stated rule."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ingest.projections.manifolds import fit_points, used_settings
from ingest.projections.processes import fit_later
from ingest.threads import side_by_side
from store.kernels.normalization import unit
from store.kernels.projection import NEIGHBOURS, fit_pca, place, place_by_neighbours

Floats = NDArray[np.floating]
COMPONENTS = 2
#: Tokens placed at once.
PLACED_TOKENS = 4_096


@dataclass(frozen=True)
class Method:
    """A projection with all that its places depend on."""

    kind: str
    seed: int
    settings: Mapping[str, Any]

    @property
    def metric(self) -> str:
        """Of the distance whose neighbours it keeps."""
        return str(self.settings.get("metric", "euclidean"))

    @property
    def exact(self) -> bool:
        """Whether there is a formula that places every token."""
        return self.kind == "pca"

    def parameters(self, vectors: int) -> dict[str, Any]:
        """With what so many vectors are fitted, for a person."""
        return used_settings(self.settings, vectors) | {"seed": self.seed}

    def placed(self, *, of: str = "") -> str:
        """How a token that was not fitted gets its place, and among which fitted vectors, for a person."""
        if self.exact:
            return "by the same formula: (vector - mean) . components"
        return f"at the mean of its {NEIGHBOURS} nearest fitted vectors{of}, weighted by 1 / distance squared"

    def fit(self, vectors: Floats) -> Floats:
        """What places others: axes (row, feature) of which the first is the mean; or the places (vector, component)."""
        if self.exact:
            mean, axes, _ = fit_pca(vectors, components=COMPONENTS)
            return np.concatenate([mean[None], axes])
        return fit_points(vectors, self.kind, COMPONENTS, self.seed, self.settings)

    def begin(self, sets: Sequence[Callable[[], Floats]]) -> Callable[[], list[Floats]]:
        """Start a fit of each set, those of the libraries in processes; what is returned waits for them.

        A set is read by another thread when a process is nearly free: of all that wait only a few are in memory.
        """
        if self.exact:
            return lambda: side_by_side(lambda read: self.fit(read()), sets)
        futures = [fit_later(self.fit, read) for read in sets]
        return lambda: [future.result() for future in futures]

    def place(self, vectors: Floats, fit: Floats, fitted: Floats) -> Floats:
        """Places (token, component) of vectors (token, feature), by a fit on `fitted` (vector, feature)."""
        if self.exact:
            return np.asarray(place(vectors, fit[0], fit[1:]), np.float32)
        return near_fitted(vectors, fitted, fit, metric=self.metric)


def near_fitted(vectors: Floats, fitted: Floats, places: Floats, *, metric: str) -> Floats:
    """Places (token, component) among the nearest of the fitted vectors (vector, feature) with their places."""
    known = torch.from_numpy(_comparable(fitted, metric))
    found = []
    for start in range(0, len(vectors), PLACED_TOKENS):
        own = torch.from_numpy(_comparable(vectors[start : start + PLACED_TOKENS], metric))
        square = (own * own).sum(1, keepdim=True) + (known * known).sum(1) - 2 * own @ known.T
        near, index = square.topk(min(NEIGHBOURS, len(known)), dim=1, largest=False)
        found.append(place_by_neighbours(near.clamp(min=0).numpy(), places[index.numpy()]))
    return np.concatenate(found).astype(np.float32)


def _comparable(vectors: Floats, metric: str) -> NDArray[np.float32]:
    """Vectors whose Euclidean distance orders neighbours as the metric does."""
    return np.ascontiguousarray(unit(vectors) if metric == "cosine" else vectors, np.float32)
