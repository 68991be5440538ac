"""Read sharded, uncompressed arrays without zarr's codec pipeline: neighbouring tiles of a shard are one range of bytes.

zarr reads every tile of a shard by itself, in many Python steps: a head of all tokens, 52 tiles in 13 shards, took 45 ms of
CPU time, and takes 10 ms here. Every tile and every index is checked against its checksum, as in zarr (sharding_indexed
codec 1.0). zarr reads arrays of other codecs, and selections by several arrays of numbers.
"""

from asyncio import Semaphore, gather
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import google_crc32c
import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing  # xarray documents it for lazy backends ("How to add a new backend")
from zarr.abc.store import ByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.buffer import default_buffer_prototype
from zarr.codecs import BytesCodec, Crc32cCodec, ShardingCodec, ShardingCodecIndexLocation

from store.repository.errors import check_index
from store.repository.remote import RemoteStore
from store.repository.zarr_internals import run_in_zarr

#: Bytes of a range, unless a tile is larger, and number of ranges that are read at once: memory of a read beside its result.
RANGE, AT_ONCE = 1280 << 10, 4
#: Largest gaps between needed tiles that are read too, on a local disk, in tiles and in bytes. A sentence in all heads needs every
#: fourth tile of a shard: reading the tiles between took half the time of twelve requests, even where nothing was cached.
GAP_TILES, GAP = 3, 400 << 10
#: Ranges read at once, and largest gap in bytes, for object storage, where a request takes much longer than its bytes.
REMOTE_AT_ONCE, REMOTE_GAP = 32, 64 << 10
#: Most bytes of a shard in object storage that is read whole, in one request instead of one for its index and others for tiles.
WHOLE = 256 << 10
#: Bytes of a checksum, and of the offset and length of a tile in an index.
CHECKSUM, ENTRY = 4, 16
#: Offset of a tile that was never written.
EMPTY = int(np.iinfo(np.uint64).max)
#: Most rows that are read for each requested row: to read neighbours and drop them is faster.
MOST_READ = 4
Numbers = tuple[int, ...]
#: Offset of a tile in the bytes of its shard, and its origin in the array.
Tile = tuple[int, Numbers]
#: Places along a dim: a slice of step 1 with both ends, or ascending numbers.
Places = slice | NDArray[np.int64]


def with_tiles(dataset: xr.Dataset, group: zarr.Group) -> xr.Dataset:
    """The lazy dataset of a group, whose sharded and uncompressed arrays are read by tiles."""
    sharded = [name for name, variable in dataset.variables.items() if variable.encoding.get("shards")]
    arrays = {name: array for name in sharded if is_tiled(array := group[str(name)])}
    return dataset.assign({name: _tiled(dataset[name].variable, array) for name, array in arrays.items()})


def read_rows(lazy: xr.Variable, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Rows of the token axis of a lazy variable, with its dims, in the order of `rows`. StoreError for missing rows."""
    if not len(rows):
        return np.asarray(lazy.isel(token=slice(0, 0)).values)
    for end in (rows.min(), rows.max()):
        check_index("row", end, lazy.sizes["token"])
    if (np.diff(rows) <= 0).any():
        ascending, places = np.unique(rows, return_inverse=True)
        return read_rows(lazy, ascending).take(places, lazy.get_axis_num("token"))
    start, stop = int(rows[0]), int(rows[-1]) + 1
    if stop - start > MOST_READ * len(rows):
        return np.asarray(lazy.isel(token=rows).values)
    return np.asarray(lazy.isel(token=slice(start, stop)).values.take(rows - start, lazy.get_axis_num("token")))


def read_slices(array: zarr.Array[Any], selection: tuple[slice, ...]) -> NDArray[Any]:
    """A part of an array by slices with both ends; by tiles where the array is tiled, which arrays of an older Headscape are not."""
    return TileReader(array).read(selection) if is_tiled(array) else np.asarray(array[selection])


def is_tiled(array: Any) -> bool:
    """Whether the array is sharded and its tiles are bytes with a checksum, as `arrays.write_block` writes them."""
    codecs: tuple[Any, ...] = getattr(array.metadata, "codecs", ())
    return (
        len(codecs) == 1
        and isinstance(codec := codecs[0], ShardingCodec)
        and codec.index_location is ShardingCodecIndexLocation.end
        and all(_are_checked_bytes(inner) for inner in (codec.codecs, codec.index_codecs))
    )


def _are_checked_bytes(codecs: Iterable[object]) -> bool:
    return [type(codec) for codec in codecs] == [BytesCodec, Crc32cCodec]


def _tiled(stored: xr.Variable, array: Any) -> xr.Variable:
    lazy = indexing.LazilyIndexedArray(_Tiled(stored, TileReader(array)))
    return xr.Variable(stored.dims, lazy, stored.attrs, stored.encoding)


class _Tiled(BackendArray):
    """Lazy array: selections by numbers, slices and one array of ascending numbers are read by tiles, all others by zarr."""

    def __init__(self, stored: xr.Variable, reader: "TileReader") -> None:
        self._stored, self._reader = stored, reader
        self.shape, self.dtype = stored.shape, stored.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        selection = tuple(_places(part, length) for part, length in zip(key, self.shape, strict=True))
        if any(part is None for part in selection) or sum(isinstance(part, np.ndarray) for part in selection) > 1:
            return np.asarray(self._stored[key].values)
        whole = self._reader.read(tuple(part for part in selection if part is not None))
        return whole[tuple(0 if np.ndim(part) == 0 and not isinstance(part, slice) else slice(None) for part in key)]


def _places(part: Any, length: int) -> Places | None:
    """Places of a number or a slice of step 1 as a slice with both ends, or ascending numbers; None for others, and for no place."""
    if isinstance(part, slice):
        start, stop, step = part.indices(length)
        return slice(start, stop) if step == 1 and start < stop else None
    if np.ndim(part):
        numbers = np.asarray(part, np.int64)
        if len(numbers) and not -length <= numbers.min() <= numbers.max() < length:
            raise IndexError(f"There is no place {part}. There are {length}.")
        numbers = numbers % length
        return numbers if len(numbers) and bool((np.diff(numbers) > 0).all()) else None
    place = range(length)[int(part)]
    return slice(place, place + 1)


class TileReader:
    """Reads an array for which `is_tiled` holds. The index of a shard gives the order of its tiles, independent of the writer."""

    def __init__(self, array: Any) -> None:
        self._path = array.store_path
        self._dtype, self._fill = np.dtype(array.dtype).newbyteorder("<"), array.fill_value
        self._shard: Numbers = array.shards
        self._tile: Numbers = array.chunks
        self._counts = tuple(shard // tile for shard, tile in zip(self._shard, self._tile, strict=True))
        self._stored = int(np.prod(self._tile)) * self._dtype.itemsize + CHECKSUM
        remote = isinstance(self._path.store, RemoteStore)
        self._at_once = REMOTE_AT_ONCE if remote else AT_ONCE
        self._gap = REMOTE_GAP if remote else min(GAP, GAP_TILES * self._stored)
        self._whole = remote and int(np.prod(self._counts)) * self._stored <= WHOLE
        self._indexes: dict[Numbers, NDArray[np.uint64] | None] = {}

    def read(self, selection: tuple[Places, ...]) -> NDArray[Any]:
        """A part of the array. ValueError where bytes do not match their checksum."""
        shape = tuple(part.stop - part.start if isinstance(part, slice) else len(part) for part in selection)
        into: NDArray[Any] = np.empty(shape, self._dtype)
        run_in_zarr(self._fill_shards(into, selection))
        return into

    async def _fill_shards(self, into: NDArray[Any], selection: tuple[Places, ...]) -> None:
        slots = Semaphore(self._at_once)
        places = product(*_covering(selection, self._shard))
        await gather(*(self._fill_shard(into, selection, place, slots) for place in places))

    async def _fill_shard(
        self, into: NDArray[Any], selection: tuple[Places, ...], place: Numbers, slots: Semaphore
    ) -> None:
        tiles = list(self._tiles(selection, place))
        async with slots:
            whole = await self._bytes(place) if self._is_whole_shard(tiles) else None
            index = await self._index(place) if whole is None else self._parsed(whole[-self._index_bytes :])
        located = self._located(index, tiles)
        for _, origin in (tile for tile in located if tile[0] == EMPTY):
            into[_overlap(selection, origin, self._tile)[1]] = self._fill
        written = [tile for tile in located if tile[0] != EMPTY]
        if whole is not None:
            self._copy(whole, written, into, selection)
        else:
            await gather(*(self._fill_run(into, selection, place, run, slots) for run in self._runs(written)))

    async def _fill_run(
        self, into: NDArray[Any], selection: tuple[Places, ...], place: Numbers, run: list[Tile], slots: Semaphore
    ) -> None:
        start, stop = run[0][0], run[-1][0] + self._stored
        async with slots:
            content = await self._bytes(place, RangeByteRequest(start, stop))
            self._copy(content, [(offset - start, origin) for offset, origin in run], into, selection)

    def _is_whole_shard(self, tiles: Sequence[object]) -> bool:
        """Whether a shard is read whole: all its tiles are needed and few bytes, or it is small and in object storage."""
        return self._whole or (len(tiles) == int(np.prod(self._counts)) and len(tiles) * self._stored <= RANGE)

    async def _index(self, place: Numbers) -> NDArray[np.uint64] | None:
        """Offset and length of every tile of a shard (tile, 2); None where the shard was never written."""
        if place not in self._indexes:
            content = await self._bytes(place, SuffixByteRequest(self._index_bytes))
            self._indexes[place] = None if content is None else self._parsed(content)
        return self._indexes[place]

    @property
    def _index_bytes(self) -> int:
        return int(np.prod(self._counts)) * ENTRY + CHECKSUM

    def _parsed(self, content: NDArray[np.uint8]) -> NDArray[np.uint64]:
        return _index(content.tobytes(), self._index_bytes)

    async def _bytes(self, place: Numbers, request: ByteRequest | None = None) -> NDArray[np.uint8] | None:
        """Bytes of a shard, all or by a `request`; None where the shard was never written."""
        path = self._path / f"c/{'/'.join(map(str, place))}"
        content = await path.get(default_buffer_prototype(), request)
        return None if content is None else np.frombuffer(content.as_numpy_array(), np.uint8)

    def _located(self, index: NDArray[np.uint64] | None, tiles: Iterable[tuple[int, Numbers]]) -> list[Tile]:
        """The tiles with their offsets, ascending; tiles that were never written come last."""
        if index is None:
            return [(EMPTY, origin) for _, origin in tiles]
        located = [(int(index[number, 0]), origin) for number, origin in tiles]
        lengths = {int(index[number, 1]) for number, _ in tiles if index[number, 0] != EMPTY}
        if lengths - {self._stored}:
            raise ValueError(f"The index of a shard of {self._path} gives a tile the wrong length.")
        return sorted(located)

    def _tiles(self, selection: tuple[Places, ...], place: Numbers) -> Iterator[tuple[int, Numbers]]:
        """The number in the shard, and the origin in the array, of every tile of a shard that a selection needs."""
        first = tuple(at * count for at, count in zip(place, self._counts, strict=True))
        covering = _covering(selection, self._tile)
        here = (
            [tile for tile in tiles if start <= tile < start + count]
            for tiles, start, count in zip(covering, first, self._counts, strict=True)
        )
        for at in product(*here):
            number = 0
            for own, start, count in zip(at, first, self._counts, strict=True):
                number = number * count + own - start
            yield number, tuple(own * tile for own, tile in zip(at, self._tile, strict=True))

    def _runs(self, tiles: Iterable[Tile]) -> Iterator[list[Tile]]:
        """Tiles by their offsets, grouped into runs of neighbours in the bytes of the shard."""
        run: list[Tile] = []
        longest = max(self._stored, RANGE)
        for offset, origin in tiles:
            if run and (offset + self._stored - run[0][0] > longest or offset > run[-1][0] + self._stored + self._gap):
                yield run
                run = []
            run.append((offset, origin))
        if run:
            yield run

    def _copy(
        self,
        content: NDArray[np.uint8] | None,
        tiles: Iterable[Tile],
        into: NDArray[Any],
        selection: tuple[Places, ...],
    ) -> None:
        """Check tiles and copy them; their offsets count in `content`."""
        for offset, origin in tiles:
            if content is None or offset + self._stored > len(content):
                raise ValueError(f"A shard of {self._path} is shorter than its index says.")
            row = checked(content[offset : offset + self._stored], str(self._path))
            source, target = _overlap(selection, origin, self._tile)
            into[target] = row.view(self._dtype).reshape(self._tile)[source]


def _covering(selection: tuple[Places, ...], steps: Numbers) -> list[Sequence[int]]:
    """Numbers of the tiles, of length `steps`, that a selection needs along each dim, ascending."""
    return [
        range(part.start // step, -(-part.stop // step))
        if isinstance(part, slice)
        else np.unique(part // step).tolist()
        for part, step in zip(selection, steps, strict=True)
    ]


def _overlap(
    selection: tuple[Places, ...], origin: Numbers, tile: Numbers
) -> tuple[tuple[Places, ...], tuple[slice, ...]]:
    """Overlap of a tile and a selection, as places in the tile and places in the selected part."""
    both = [_overlap_along(part, start, length) for part, start, length in zip(selection, origin, tile, strict=True)]
    return tuple(source for source, _ in both), tuple(target for _, target in both)


def _overlap_along(part: Places, start: int, length: int) -> tuple[Places, slice]:
    """Overlap along one dim, in which the tile has `length` places from `start`."""
    if isinstance(part, slice):
        low, high = max(part.start, start), min(part.stop, start + length)
        return slice(low - start, high - start), slice(low - part.start, high - part.start)
    first, last = np.searchsorted(part, (start, start + length)).tolist()
    return part[first:last] - start, slice(first, last)


def checked(row: NDArray[np.uint8], place: str) -> NDArray[np.uint8]:
    """The bytes without their checksum. ValueError where the checksum does not match."""
    content, checksum = row[:-CHECKSUM], row[-CHECKSUM:]
    if google_crc32c.value(content) != int.from_bytes(checksum.tobytes(), "little"):
        raise ValueError(f"Bytes of {place} do not match their checksum.")
    return content


@lru_cache(maxsize=64)
def _index(content: bytes, size: int) -> NDArray[np.uint64]:
    """The parsed index of a shard, cached, as nearly all shards of a store have equal indexes."""
    if len(content) != size:
        raise ValueError("A shard is shorter than its index.")
    return checked(np.frombuffer(content, np.uint8), "the index of a shard").view("<u8").reshape(-1, 2)
