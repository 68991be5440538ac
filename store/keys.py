"""Keys as the model has them, from stored keys in float16 and the constant that was taken off before rounding.

The keys of a head may share a large part: in L11 H10 of gte-small keys have norm 31 and their mean has 31 too. Softmax
ignores that part, but float16 rounds to a share of the whole. Older stores have no constant: their keys are stored as they are.
"""

from typing import Any

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from store.repository.arrays import array_of

CONSTANT = "key_constant"


def with_keys(model: xr.Dataset) -> xr.Dataset:
    """The group of a model with its keys in float32, constant included. Lazy."""
    if CONSTANT not in model:
        return model
    stored = model.key.variable
    keys = _Keys(stored, model[CONSTANT].variable.load())
    return model.assign(key=xr.Variable(stored.dims, indexing.LazilyIndexedArray(keys), stored.attrs))


def read_vectors(group: zarr.Group, role: str, layer: int, rows: slice) -> NDArray[np.float32]:
    """Queries or keys (head, token, channel) of a layer, the constant of keys included."""
    vectors = np.asarray(array_of(group, role)[layer, :, rows]).astype(np.float32)
    if role == "key" and CONSTANT in group:
        vectors += np.asarray(array_of(group, CONSTANT)[layer])[:, None]
    return vectors


class _Keys(BackendArray):
    """Stored keys (layer, head, token, channel) plus the constant (layer, head, channel), added to what is read."""

    def __init__(self, stored: xr.Variable, constant: xr.Variable) -> None:
        self._stored, self._constant = stored, constant
        self.shape, self.dtype = stored.shape, np.dtype(np.float32)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[np.float32]:
        layer, head, _, channel = key
        keys: NDArray[np.float32] = (self._stored[key].astype(np.float32) + self._constant[layer, head, channel]).values
        return keys
