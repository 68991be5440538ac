"""Write a block of an array as whole shards, past zarr's codec pipeline.

The arrays per token are uncompressed and a block is exactly one shard along `token`, so a shard's bytes are the block's
own tiles, each with its checksum, and an index that is the same for every shard (Zarr's sharding_indexed codec 1.0 with
crc32c inside). In stores of Headscape 0.1 and before tiles carry no checksums. zarr's writer takes
a few steps of Python for each of a block's 600 tiles, on the same interpreter lock that feeds the model; the ingest ran
at 0.76 of a plain forward pass with it. Reading goes through zarr, and tests hold both writers to the same bytes.
"""

from functools import lru_cache
from itertools import product
from struct import Struct
from typing import Any

import google_crc32c
import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.buffer.cpu import Buffer
from zarr.core.sync import sync

from store.groups import has_checksums

#: As zarr's codec `crc32c` appends it.
CHECKSUM = Struct("<I")


def write_block(array: zarr.Array[Any], values: NDArray[Any], *, block: int) -> None:
    """Write `values` as the `block`-th shard along dim `token`; the other dims are whole.

    Raises
    ------
    ValueError
        Where the array is not sharded and uncompressed, or the values are not exactly one block of it.
    """
    names: tuple[str, ...] = getattr(array.metadata, "dimension_names", None) or ()
    shard = array.shards
    if shard is None or len(array.compressors) > has_checksums(array) or "token" not in names:
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
        await (array.store_path / f"c/{key}").set(shard_bytes(part, array.chunks, checksums=has_checksums(array)))


def shard_bytes(part: NDArray[Any], tile: tuple[int, ...], *, checksums: bool) -> Buffer:
    """A shard: its tiles in C order, each with its checksum where asked, then the index with its own."""
    counts = tuple(size // step for size, step in zip(part.shape, tile, strict=True))
    split = part.reshape([length for pair in zip(counts, tile, strict=True) for length in pair])
    tiles = split.transpose([*range(0, split.ndim, 2), *range(1, split.ndim, 2)])
    count = int(np.prod(counts))
    size = part.nbytes // count
    stored = size + CHECKSUM.size * checksums
    index = _index(count, stored)
    content = np.empty(count * stored + len(index), np.uint8)
    rows = content[: -len(index)].reshape(count, stored)
    rows[:, :size].view(part.dtype).reshape(tiles.shape)[...] = tiles
    if checksums:
        rows[:, size:] = _checksums(rows[:, :size])
    content[-len(index) :] = np.frombuffer(index, np.uint8)
    return Buffer.from_array_like(content)


def _checksums(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """CRC-32C of each row, little-endian: (row, 4)."""
    return np.array([google_crc32c.value(row) for row in rows], "<u4").view(np.uint8).reshape(-1, CHECKSUM.size)


@lru_cache(maxsize=16)
def _index(tiles: int, length: int) -> bytes:
    entries = np.stack([np.arange(tiles, dtype="<u8") * length, np.full(tiles, length, "<u8")], axis=-1).tobytes()
    return entries + CHECKSUM.pack(google_crc32c.value(entries))
