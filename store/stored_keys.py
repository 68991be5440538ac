"""Keys of the model, restored from stored keys in float16 and a constant of each head that was subtracted before rounding.

The keys of a head may share a large part: in L11 H10 of gte-small keys have norm 31, and so has their mean. The softmax
ignores that part, but float16 rounds relative to the whole. Stores of schema 3 have no constant: their keys are stored as is.
"""

from typing import Any

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing  # xarray documents it for lazy backends ("How to add a new backend")

from store.repository.arrays import array_of
from store.repository.tiles import read_slices

CONSTANT = "key_constant"
#: Name of the keys as they are stored, in a dataset whose `key` has the constant added.
STORED = "stored_key"


def with_keys(model: xr.Dataset) -> xr.Dataset:
    """The dataset of a model with its keys in float32, constant added, and the stored ones as `stored_key`. Lazy."""
    if CONSTANT not in model:
        return model
    stored = model.key.variable
    keys = _Keys(stored, model[CONSTANT].variable.load())
    key = xr.Variable(stored.dims, indexing.LazilyIndexedArray(keys), stored.attrs)
    return model.assign({"key": key, STORED: stored})


def stored_vectors(model: xr.Dataset, role: str, *, layer: int, head: int) -> tuple[xr.Variable, NDArray[np.float32]]:
    """Queries or keys of a head as they are stored, and what to add to each of them.

    Parameters
    ----------
    model
        From `with_keys`.
    role
        `query` or `key`.
    layer, head
        0-based.

    Returns
    -------
    (token, channel), lazy, and (channel,).
    """
    if role == "key" and STORED in model:
        return model[STORED].variable[layer, head], model[CONSTANT].values[layer, head]
    stored = model[role].variable[layer, head]
    return stored, np.zeros(stored.shape[-1], np.float32)


def read_vectors(group: zarr.Group, role: str, layer: int, rows: slice) -> NDArray[np.float32]:
    """Queries or keys of a layer in float32, with the constant of the keys added.

    Parameters
    ----------
    group
        Group of the model.
    role
        `query` or `key`.
    layer
        0-based.
    rows
        Rows of the token axis.

    Returns
    -------
    (head, token, channel).
    """
    vectors = _stored_rows(array_of(group, role), layer, rows).astype(np.float32)
    if role == "key" and CONSTANT in group:
        vectors += np.asarray(array_of(group, CONSTANT)[layer])[:, None]
    return vectors


def _stored_rows(array: zarr.Array[Any], layer: int, rows: slice) -> NDArray[Any]:
    """Rows (head, token, channel) of a layer."""
    _, heads, tokens, channels = array.shape
    start, stop, _ = rows.indices(tokens)
    selection = (slice(layer, layer + 1), slice(0, heads), slice(start, stop), slice(0, channels))
    stored: NDArray[Any] = read_slices(array, selection)[0]
    return stored


class _Keys(BackendArray):
    """Lazy array of stored keys (layer, head, token, channel) plus the constant (layer, head, channel)."""

    def __init__(self, stored: xr.Variable, constant: xr.Variable) -> None:
        self._stored, self._constant = stored, constant
        self.shape, self.dtype = stored.shape, np.dtype(np.float32)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[np.float32]:
        layer, head, _, channel = key
        stored = self._stored[key]
        keys: NDArray[np.float32] = stored.values.astype(np.float32)
        keys += self._constant[layer, head, channel].set_dims(stored.sizes).transpose(*stored.dims).values
        return keys
