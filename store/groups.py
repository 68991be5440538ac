"""Create and grow the arrays of a group as the schema says. Only ingest calls this."""

from collections.abc import Mapping
from typing import Any

import zarr
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import Crc32cCodec, ZstdCodec

from store.schema import Array


def create_arrays(group: zarr.Group, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """Create every array of `arrays` that the group lacks, and resize those whose sizes have grown."""
    for name, array in arrays.items():
        shape = tuple(sizes[dim] for dim in array.dims)
        if name not in group:
            _create(group, name, array, shape, sizes)
        elif array_of(group, name).shape != shape:
            array_of(group, name).resize(shape)


def array_of(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """The array of this name in a group."""
    array = group[name]
    assert isinstance(array, zarr.Array), f"{name} is a group, not an array"
    return array


def _create(group: zarr.Group, name: str, array: Array, shape: tuple[int, ...], sizes: Mapping[str, int]) -> None:
    options: dict[str, Any] = {} if array.fill is None else {"fill_value": array.fill}
    group.create_array(
        name,
        shape=shape,
        dtype=str if array.dtype == "str" else array.dtype,
        chunks=_resolve(array.chunk, sizes),
        shards=None if array.shard is None else _resolve(array.shard, sizes),
        dimension_names=array.dims,
        compressors=_codecs(array),
        attributes={"meaning": array.meaning},
        **options,
    )


def _codecs(array: Array) -> tuple[BytesBytesCodec, ...]:
    """The last one appends a checksum to every chunk, in a shard to every inner chunk, which zarr checks whenever it reads one."""
    return (ZstdCodec(level=3), Crc32cCodec()) if array.compressed else (Crc32cCodec(),)


def has_checksums(array: zarr.Array[Any]) -> bool:
    """Whether the chunks of an array carry checksums; those of stores of Headscape 0.1 and before do not."""
    return any(isinstance(codec, Crc32cCodec) for codec in array.compressors)


def _resolve(lengths: tuple[int | str, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(max(1, sizes[length]) if isinstance(length, str) else length for length in lengths)
