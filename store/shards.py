"""Write a block of an array as whole shards, past zarr's codec pipeline.

The arrays per token are uncompressed and a block is exactly one shard along `token`, so a shard's bytes are the block's
own tiles followed by an index that is the same for every shard (Zarr's sharding_indexed codec 1.0). zarr's writer takes
a few steps of Python for each of a block's 600 tiles, on the same interpreter lock that feeds the model; the ingest ran
at 0.76 of a plain forward pass with it. Reading goes through zarr, and tests hold both writers to the same bytes.
"""

import struct
from functools import lru_cache
from itertools import product
from typing import Any

import google_crc32c
import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.buffer.cpu import Buffer
from zarr.core.sync import sync


def write_block(array: zarr.Array[Any], values: NDArray[Any], *, block: int) -> None:
    """Write `values` as the `block`-th shard along dim `token`; the other dims are whole.

    Raises
    ------
    ValueError
        Where the array is not sharded and uncompressed, or the values are not exactly one block of it.
    """
    names: tuple[str, ...] = getattr(array.metadata, "dimension_names", None) or ()
    shard = array.shards
    if shard is None or array.compressors or "token" not in names:
        raise ValueError(f"{array.path} is not sharded, uncompressed and along dim token")
    axis = names.index("token")
    whole = (*array.shape[:axis], shard[axis], *array.shape[axis + 1 :])
    if values.shape != whole or values.dtype != array.dtype:
        raise ValueError(f"{array.path} takes blocks {whole} of {array.dtype}, got {values.shape} of {values.dtype}")
    places = product(*(range(size // step) for size, step in zip(whole, shard, strict=True)))
    sync(_set_all(array, values, axis, block, places))


async def _set_all(array: zarr.Array[Any], values: NDArray[Any], axis: int, block: int, places: Any) -> None:
    shard = array.shards or ()
    for place in places:
        part = values[tuple(slice(at * step, (at + 1) * step) for at, step in zip(place, shard, strict=True))]
        key = "/".join(str(block if dim == axis else at) for dim, at in enumerate(place))
        await (array.store_path / f"c/{key}").set(shard_bytes(part, array.chunks))


def shard_bytes(part: NDArray[Any], tile: tuple[int, ...]) -> Buffer:
    """A shard: its tiles in C order, the offset and length of each, and the checksum of these."""
    counts = tuple(size // step for size, step in zip(part.shape, tile, strict=True))
    split = part.reshape([length for pair in zip(counts, tile, strict=True) for length in pair])
    tiles = split.transpose([*range(0, split.ndim, 2), *range(1, split.ndim, 2)])
    index = _index(int(np.prod(counts)), part.nbytes // int(np.prod(counts)))
    content = np.empty(part.nbytes + len(index), np.uint8)
    content[: part.nbytes].view(part.dtype).reshape(tiles.shape)[...] = tiles
    content[part.nbytes :] = np.frombuffer(index, np.uint8)
    return Buffer.from_array_like(content)


@lru_cache(maxsize=16)
def _index(tiles: int, length: int) -> bytes:
    entries = np.stack([np.arange(tiles, dtype="<u8") * length, np.full(tiles, length, "<u8")], axis=-1).tobytes()
    return entries + struct.pack("<I", google_crc32c.value(entries))
