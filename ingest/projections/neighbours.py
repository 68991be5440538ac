"""Projections `tsne`, `umap` and `attentionviz`: fitted on a sample of a head, others placed among their nearest fitted tokens.

Queries and keys of a head are fitted together, each head for itself, as in AttentionViz. The libraries use one core a
fit, so heads go to processes; they do not hand out a formula, so that the rule for other tokens is ours.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import cpu_count

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ingest.projections.fits import Advance, Parameters, Read
from ingest.projections.manifolds import fit_head
from ingest.projections.processes import processes
from ingest.seeds import seed32
from ingest.threads import one_thread_each
from store.kernels.normalization import unit
from store.kernels.projection import NEIGHBOURS, place_by_neighbours
from store.schema.pictures import ViewName

Floats = NDArray[np.floating]

#: Tokens a picture is fitted on: t-SNE and UMAP take more time than all else, and the others find their places anyway.
FIT_TOKENS = 500


class Neighbours:
    """Fits heads in processes; what is near whom is looked up once for all pictures of the same normalisation."""

    version = "neighbours/1"
    fit_tokens: int | None = FIT_TOKENS
    placed = f"at the mean of its {NEIGHBOURS} nearest fitted points by cosine, weighted by 1 / distance squared"

    def __init__(self, name: ViewName, nearest: "Nearest", *, seed: int) -> None:
        self.name, self.nearest, self.seed = name, nearest, seed32(seed)

    def fits(self, layers: list[int], read: Read, advance: Advance) -> Iterator[tuple[int, Parameters]]:
        """The places of the fitted tokens of every layer."""
        fit = partial(fit_head, projection=self.name.projection, components=self.name.components, seed=self.seed)
        for layer in layers:
            points = np.concatenate([unit(vectors) for vectors in read(layer)], axis=1)
            places = []
            for head in processes().map(fit, points.astype(np.float32)):
                places.append(head.reshape(2, -1, self.name.components))
                advance(1 / len(points))
            yield layer, {"fitted": np.stack(places)}

    def place(self, layer: int, parameters: Parameters, query: Floats, key: Floats, first: int) -> Floats:
        """Places (head, role, token, component); a fitted token keeps its own."""
        fitted = parameters["fitted"]
        index, square = self.nearest.of(layer, query, key, first)
        flat = fitted.reshape(len(fitted), -1, fitted.shape[-1])
        near = np.stack([head[own] for head, own in zip(flat, index, strict=True)])
        places: Floats = place_by_neighbours(square, near)
        known = max(0, min(first + query.shape[1], fitted.shape[2]) - first)
        places[:, :, :known] = fitted[:, :, first : first + known]
        return places


class Nearest:
    """The nearest fitted points of queries and keys, kept for what was asked last: several pictures ask the same."""

    def __init__(self, read: Read, *, device: str) -> None:
        self._read, self._device = read, torch.device(device)
        self._fitted: tuple[int, Tensor] | None = None
        self._found: tuple[tuple[int, int, int], NDArray[np.int64], Floats] | None = None

    def of(self, layer: int, query: Floats, key: Floats, first: int) -> tuple[NDArray[np.int64], Floats]:
        """Index among the fitted points, queries first, and squared distance: (head, role, token, neighbour) each.

        `first` is the number of the first token. With the layer and how many follow it says whether the same is asked again.
        """
        asked = (layer, first, query.shape[1])
        if self._found is None or self._found[0] != asked:
            fitted = self._points(layer)
            with one_thread_each(None), ThreadPoolExecutor(cpu_count()) as pool:
                found = list(pool.map(self._search, fitted, unit(query), unit(key)))
            index, square = (np.stack(each) for each in zip(*found, strict=True))
            self._found = asked, index, square
        return self._found[1], self._found[2]

    def _search(self, fitted: Tensor, query: Floats, key: Floats) -> tuple[NDArray[np.int64], Floats]:
        points = torch.from_numpy(np.stack([query, key]).astype(np.float32)).to(self._device)
        cosine, index = torch.topk(points @ fitted.T, min(NEIGHBOURS, len(fitted)), dim=-1)
        return index.cpu().numpy(), (2 - 2 * cosine).clamp(min=0).cpu().numpy()

    def _points(self, layer: int) -> Tensor:
        """Unit vectors of the fitted points: (head, point, feature)."""
        if self._fitted is None or self._fitted[0] != layer:
            points = np.concatenate([unit(vectors) for vectors in self._read(layer)], axis=1)
            self._fitted = layer, torch.from_numpy(points.astype(np.float32)).to(self._device)
        return self._fitted[1]
