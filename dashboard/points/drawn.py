"""The tokens that a picture draws: the first of a corpus, in one head or in all. Only these are read."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store import Corpus

#: Vectors in memory at once, but not less than a chunk of the store for each head.
VECTORS, CHUNK = 131_072, 2_048


@dataclass(frozen=True)
class Drawn:
    """The first `tokens` tokens of a corpus in one head; without `layer` and `head`, in every head, one panel each."""

    corpus: Corpus
    tokens: int
    layer: int | None = None
    head: int | None = None

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the token axis that are drawn."""
        return self.corpus.rows[: self.tokens]

    @property
    def panels(self) -> int:
        """Number of drawn heads."""
        return self.corpus.layers * self.corpus.heads if self.head is None else 1

    def places(self, view: str) -> NDArray[np.float32]:
        """Their positions in a view: (panel, token, role, component)."""
        places = self.corpus.places(view, self.rows, layer=self.layer, head=self.head)
        return places.reshape(self.panels, *places.shape[-3:])

    def of_tokens(self, name: str) -> NDArray[np.integer]:
        """One of the corpus' token coordinates: (token,)."""
        values: NDArray[np.integer] = self.corpus.tokens[name].values[self.rows]
        return values

    def of_sentences(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """Values of each sentence, repeated for its tokens: (token,)."""
        return values[self.of_tokens("sentence_index")]

    def of_heads(self, array: xr.DataArray) -> NDArray[np.float32]:
        """A lazy array (layer, head, token), read: (panel, token)."""
        return self._read(array, self.rows)[..., 0]

    def lengths(self, vectors: xr.DataArray) -> NDArray[np.float32]:
        """Norms of lazy vectors (layer, head, token, channel), read tile by tile: (panel, token)."""
        parts = [np.linalg.norm(self._read(vectors, rows), axis=-1) for rows in self._tiles()]
        return np.concatenate(parts, axis=1)

    def _tiles(self) -> Iterator[NDArray[np.int64]]:
        tile = max(CHUNK, VECTORS // self.panels)
        return (self.rows[start : start + tile] for start in range(0, len(self.rows), tile))

    def _read(self, array: xr.DataArray, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Read a lazy array: (panel, token, channel), one channel where the array has none."""
        of_head = {} if self.head is None else {"layer": self.layer, "head": self.head}
        start, stop = int(rows[0]), int(rows[-1]) + 1
        read = array.isel(of_head).isel(token=slice(start, stop)).values
        return read.reshape(self.panels, stop - start, -1)[:, rows - start].astype(np.float32)
