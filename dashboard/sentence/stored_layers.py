"""The arrays of a stored sentence, read layer by layer as needed."""

import weakref
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import DTypeLike, NDArray

from dashboard.web.results import cached
from store import Corpus

Floats = NDArray[np.float32]
#: Arrays of a stored sentence whose first axis is the layer.
ByLayer = Literal["query", "key", "value_norm", "product"]


class StoredLayers:
    """An array (layer, head or product, token, ...) of a stored sentence; only needed layers are read, and cached one by one.

    Most requests are about one layer: with 12 layers, reading all takes twelve times as long.
    """

    def __init__(self, corpus: Corpus, name: ByLayer, sentence: int, read: "ReadLayer | None" = None) -> None:
        """`read` reads a layer; by default it also caches the layer."""
        self._corpus, self._name, self._sentence = weakref.ref(corpus), name, sentence  # a cache must not keep it alive
        self._read = read or _stored_layer
        rows, array = corpus.sentence_rows(sentence), _array(corpus, name)
        self.shape: tuple[int, ...] = (*array.shape[:2], rows.stop - rows.start, *array.shape[3:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> Any:
        """A part of the array; the first index is a layer or a slice of layers, and only these are read."""
        first, *rest = part if isinstance(part, tuple) else (part,)
        if isinstance(first, slice):
            return np.stack([self._layer(layer) for layer in range(len(self))[first]])[:, *rest]
        return self._layer(int(first))[tuple(rest)]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        every: Floats = self[:]
        return every

    def _layer(self, layer: int) -> Floats:
        corpus = self._corpus()
        assert corpus is not None, "the request that shows the sentence holds its corpus"
        return self._read(corpus, self._name, self._sentence, layer)


@cached
def _stored_layer(corpus: Corpus, name: ByLayer, sentence: int, layer: int) -> Floats:
    array = _array(corpus, name).variable[layer, :, corpus.sentence_rows(sentence)]
    numbers: Floats = array.values.astype(np.float32)
    return numbers


def _array(corpus: Corpus, name: ByLayer) -> xr.DataArray:
    array: xr.DataArray = corpus.mixing["product"] if name == "product" else getattr(corpus, name)
    return array


#: A function that reads an array of a sentence in one layer: (head, token, ...).
ReadLayer = Callable[[Corpus, ByLayer, int, int], Floats]
Layers = Floats | StoredLayers
