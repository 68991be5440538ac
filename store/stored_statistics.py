"""Every statistic of the schema by its name: NaN where a store that was made before has none, and in the order of `STATISTICS`."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing  # xarray documents it for lazy backends ("How to add a new backend")

from store.schema.model import STATISTICS

DIM = "statistic"


def with_statistics(model: xr.Dataset) -> xr.Dataset:
    """The dataset of a model whose arrays have every statistic of the schema. Lazy."""
    stored = [str(name) for name in model[DIM].values]
    if stored == list(STATISTICS):
        return model
    places = np.array([stored.index(name) if name in stored else -1 for name in STATISTICS])
    arrays = {name: array.variable for name, array in model.data_vars.items() if DIM in array.dims}
    return model.drop_dims(DIM).assign(
        {name: _every(array, places) for name, array in arrays.items()} | {DIM: list(STATISTICS)}
    )


def missing_statistics(model: xr.Dataset) -> tuple[str, ...]:
    """Statistics of the schema that the stored dataset of a model lacks."""
    stored = set(model[DIM].values.tolist())
    return tuple(name for name in STATISTICS if name not in stored)


def _every(stored: xr.Variable, places: NDArray[np.int64]) -> xr.Variable:
    return xr.Variable(stored.dims, indexing.LazilyIndexedArray(_Statistics(stored, places)), stored.attrs)


class _Statistics(BackendArray):
    """Lazy array of statistics at their places among the stored ones, of which -1 is none."""

    def __init__(self, stored: xr.Variable, places: NDArray[np.int64]) -> None:
        self._stored, self._places, self._axis = stored, places, stored.get_axis_num(DIM)
        sizes = stored.sizes | {DIM: len(places)}
        self.shape, self.dtype = tuple(sizes[dim] for dim in stored.dims), stored.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        chosen = self._places[key[self._axis]]
        others = {dim: part for dim, part in zip(self._stored.dims, key, strict=True) if dim != DIM}
        found = self._stored.isel({DIM: np.maximum(chosen, 0), **others})
        values: NDArray[Any] = found.where(xr.Variable((DIM,) * chosen.ndim, chosen >= 0)).values
        return values
