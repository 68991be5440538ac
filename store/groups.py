"""Open the groups of a snapshot as lazy, labelled datasets, and the finished views among them.

xarray's `to_netcdf` can write each: netCDF holds no 16-bit floats, and of attributes only texts, numbers and lists of them.
"""

import json
from importlib.util import find_spec

import xarray as xr
import zarr
from zarr.abc.store import Store

from store.repository.errors import StoreError
from store.repository.tiles import with_tiles

#: Packages that write netCDF 4; without them `to_netcdf` writes netCDF 3.
NETCDF_4 = ("netCDF4", "h5netcdf")
#: dtypes that netCDF 4 or netCDF 3 lacks -> the smallest of both that holds every value; hashes of 64 bits as digits, in netCDF 3 alone.
WRITTEN_AS = {"float16": "float32", "uint16": "int32"} | ({} if any(map(find_spec, NETCDF_4)) else {"uint64": "S20"})


def with_written_types(opened: xr.Dataset) -> xr.Dataset:
    """The lazy dataset, whose arrays `to_netcdf` writes in dtypes that netCDF has; in memory they stay as they are stored."""
    for variable in opened.variables.values():
        if str(variable.dtype) in WRITTEN_AS:
            variable.encoding["dtype"] = WRITTEN_AS[str(variable.dtype)]
    return opened


def with_written_attributes(opened: xr.Dataset) -> xr.Dataset:
    """The dataset with attributes that `to_netcdf` writes: mappings and lists of texts as JSON, truth as 0 or 1.

    Attributes of its arrays stay: a list of texts, such as the names of codes, is written where `netcdf4` is installed.
    """
    return opened.assign_attrs({name: written(value) for name, value in opened.attrs.items()})


def written(value: object) -> object:
    """An attribute as `with_written_attributes` gives it."""
    if isinstance(value, bool):
        return int(value)
    numbers = isinstance(value, list) and bool(value) and all(type(number) in (int, float) for number in value)
    return (
        value
        if numbers or isinstance(value, (str, int, float))
        else json.dumps(value, ensure_ascii=False, sort_keys=True)
    )


class Groups:
    """The groups of one snapshot by their paths. Opening a group reads metadata only."""

    def __init__(self, chunks: Store) -> None:
        self._chunks = chunks

    def open(self, path: str) -> xr.Dataset:
        """A group as a lazy dataset. FileNotFoundError where there is none."""
        # chunks=None: wrapping the arrays in dask made every read 3 to 20 times slower.
        # zarr_format=3: every store has it, and zarr would look for version 2 beside each group.
        dataset = xr.open_zarr(self._chunks, group=path, chunks=None, consolidated=False, zarr_format=3)
        group = zarr.open_group(self._chunks, path=path, mode="r", zarr_format=3)
        return with_written_types(with_tiles(dataset, group))

    def open_optional(self, path: str) -> xr.Dataset:
        """A group as a lazy dataset, empty where there is none: stores of earlier versions lack some groups."""
        try:
            return self.open(path)
        except FileNotFoundError:
            return xr.Dataset()


class Views:
    """The finished views of one group, each opened at its first use: opening a view again costs 40 ms.

    Parameters
    ----------
    groups
        The snapshot that holds the views.
    path
        Group of the views.
    names
        Names of the finished views.
    quality
        Array that is loaded when a view is opened; the others stay lazy.
    kind
        What the views show, for the error message, such as ` of the feature points`.
    """

    def __init__(self, groups: Groups, path: str, names: list[str], *, quality: str, kind: str = "") -> None:
        self.names = names
        self._groups, self._path, self._quality, self._kind = groups, path, quality, kind
        self._opened: dict[str, xr.Dataset] = {}

    def open(self, name: str) -> xr.Dataset:
        """A finished view by its name.

        Raises
        ------
        StoreError
            Where there is no finished view of this name.
        """
        if name not in self.names:
            remedy = f"Choose one of: {', '.join(self.names)}." if self.names else "Run `headscape ingest`."
            raise StoreError(f"There is no view {name!r}{self._kind}. {remedy}")
        if name not in self._opened:
            view = self._groups.open(f"{self._path}/{name}")
            view[self._quality].load()
            self._opened[name] = with_written_attributes(view)
        return self._opened[name]
