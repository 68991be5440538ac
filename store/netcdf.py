"""What `to_netcdf` of xarray can write: netCDF holds no 16-bit floats, and of attributes only texts, numbers and lists of them."""

import json
from importlib.util import find_spec

import xarray as xr

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
