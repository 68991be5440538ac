"""Create, grow and write arrays of a group as the schema declares them; read keys and statistics by the schema. Only the ingest writes.

`write_block` writes whole shards past zarr's codec pipeline. The arrays per token are uncompressed and a block is
exactly one shard along `token`: a shard's bytes are the block's own tiles, each with its checksum, and an index that is
the same for every shard (Zarr's sharding_indexed codec 1.0 with crc32c inside). zarr's writer takes a few Python steps
for each of a block's 600 tiles, on the interpreter lock that also feeds the model: the ingest ran at 0.76 of a plain
forward pass with it. `store.repository.tiles` reads the shards; tests compare the bytes of both writers.

Keys are stored in float16 after a constant of each head is subtracted. The keys of a head may share a large part: in
L11 H10 of gte-small keys have norm 31, and so has their mean. The softmax ignores the shared part, but float16 rounds
relative to the whole. Stores of schema 3 have no constant: their keys are stored unchanged.

Statistics are read in the order of `STATISTICS`, NaN where an older store lacks one.

The groups of a snapshot, also finished views, are opened as lazy, labelled datasets. xarray's `to_netcdf` can write each, although
netCDF has no 16-bit floats, and only texts, numbers and lists of them as attributes.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from itertools import product
from struct import Struct
from typing import Any

import google_crc32c
import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing  # xarray documents it for lazy backends ("How to add a new backend")
from zarr.abc.codec import BytesBytesCodec
from zarr.abc.store import Store
from zarr.buffer.cpu import Buffer
from zarr.codecs import Crc32cCodec, ZstdCodec
from zarr.storage import MemoryStore

from store.repository.errors import StoreError
from store.repository.tiles import read_slices, with_tiles
from store.repository.zarr_internals import run_in_zarr
from store.schema import Array
from store.schema.model import STATISTICS

#: Format of a checksum, as zarr's codec `crc32c` appends it.
CHECKSUM = Struct("<I")
CONSTANT = "key_constant"
#: Name of the keys as they are stored, in a dataset whose `key` has the constant added.
STORED = "stored_key"
STATISTIC = "statistic"
#: Packages that write netCDF 4; without them `to_netcdf` writes netCDF 3.
NETCDF_4 = ("netCDF4", "h5netcdf")
#: dtype that netCDF 4 or 3 lacks -> the smallest dtype of both for all values; in netCDF 3 alone, hashes of 64 bits as digits.
WRITTEN_AS = {"float16": "float32", "uint16": "int32"} | ({} if any(map(find_spec, NETCDF_4)) else {"uint64": "S20"})


def create_arrays(group: zarr.Group, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """Create the arrays that a group lacks, and resize arrays that have grown.

    Parameters
    ----------
    group
        Group of the arrays.
    arrays
        Declarations by name.
    sizes
        Length of every dim, and values of names that chunks and shards are declared with.
    """
    lacking: dict[str, Any] = {}
    for name, array in arrays.items():
        shape = tuple(sizes[dim] for dim in array.dims)
        if name not in group:
            lacking[name] = _declared(array, shape, sizes)
        elif array_of(group, name).shape != shape:
            array_of(group, name).resize(shape)
    _create(group, lacking)


def array_of(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """An array of a group by its name, opened once for each object of a group: opening takes about a millisecond."""
    opened = _opened(group)
    if name not in opened:
        array = group[name]
        assert isinstance(array, zarr.Array), f"{name} is a group, not an array"
        opened[name] = array
    return opened[name]


def _opened(group: zarr.Group) -> dict[str, zarr.Array[Any]]:
    """The opened arrays of an object of a group; a resize changes the array in place."""
    opened: dict[str, zarr.Array[Any]] = vars(group).setdefault("opened_arrays", {})
    return opened


def _create(group: zarr.Group, lacking: Mapping[str, Any]) -> None:
    """Create all arrays at once: single creations would each look for their parent groups again."""
    nodes = {f"{group.path}/{name}".lstrip("/"): declared for name, declared in lacking.items()}
    for path, array in zarr.create_hierarchy(store=group.store, nodes=nodes):
        if isinstance(array, zarr.Array):  # not a parent group
            _opened(group)[path.rpartition("/")[2]] = array


def _declared(array: Array, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    """Metadata that zarr stores for an array."""
    options: dict[str, Any] = {} if array.fill is None else {"fill_value": array.fill}
    return zarr.create_array(
        MemoryStore(),
        shape=shape,
        dtype=str if array.dtype == "str" else array.dtype,
        chunks=_resolve(array.chunk, sizes),
        shards=None if array.shard is None else _resolve(array.shard, sizes),
        dimension_names=array.dims,
        compressors=_codecs(array),
        attributes={"meaning": array.meaning},
        **options,
    ).metadata


def _codecs(array: Array) -> tuple[BytesBytesCodec, ...]:
    """Codecs of a chunk. The last appends a checksum, which zarr checks at every read; in a shard every inner chunk has one."""
    return (ZstdCodec(level=3), Crc32cCodec()) if array.compressed else (Crc32cCodec(),)


def has_checksums(array: zarr.Array[Any]) -> bool:
    """Whether the chunks of an array carry checksums. Stores of Headscape 0.1 and before have none."""
    return any(isinstance(codec, Crc32cCodec) for codec in array.compressors)


def _resolve(lengths: tuple[int | str, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(max(1, sizes[length]) if isinstance(length, str) else length for length in lengths)


def write_block(array: zarr.Array[Any], values: NDArray[Any], *, block: int, layer: int | None = None) -> None:
    """Write one block of an array: the `block`-th shard along dim `token`.

    Parameters
    ----------
    array
        Sharded, uncompressed, with a dim `token`. With a `layer`, its first dim is the layer, and a shard has one layer.
    values
        Values of all other dims, with `token` of the length of a shard; with a `layer`, of this layer alone.
    block
        Number of the block.
    layer
        The layer to write; None for all.

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
    if layer is not None:
        whole, values = (1, *whole[1:]), values[None]
    if values.shape != whole or values.dtype != array.dtype:
        raise ValueError(f"{array.path} takes blocks {whole} of {array.dtype}, got {values.shape} of {values.dtype}")
    first = tuple(block if dim == axis else (layer or 0) * (dim == 0) for dim in range(len(whole)))
    run_in_zarr(_set_all(array, values, first))


async def _set_all(array: zarr.Array[Any], values: NDArray[Any], first: tuple[int, ...]) -> None:
    """Write values of whole shards; `first` is the place of the first shard among all."""
    shard = array.shards or ()
    for place in product(*(range(size // step) for size, step in zip(values.shape, shard, strict=True))):
        part = values[tuple(slice(at * step, (at + 1) * step) for at, step in zip(place, shard, strict=True))]
        key = "/".join(str(start + at) for start, at in zip(first, place, strict=True))
        await (array.store_path / f"c/{key}").set(shard_bytes(part, array.chunks, checksums=has_checksums(array)))


def shard_bytes(part: NDArray[Any], tile: tuple[int, ...], *, checksums: bool) -> Buffer:
    """Bytes of a shard: its tiles in C order, each followed by its checksum where `checksums`, then the index with its own."""
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


def with_keys(model: xr.Dataset) -> xr.Dataset:
    """The dataset of a model with keys in float32, with the constant added, and stored keys as `stored_key`. Lazy."""
    if CONSTANT not in model:
        return model
    stored = model.key.variable
    keys = _Keys(stored, model[CONSTANT].variable.load())
    key = xr.Variable(stored.dims, indexing.LazilyIndexedArray(keys), stored.attrs)
    return model.assign({"key": key, STORED: stored})


def stored_vectors(model: xr.Dataset, role: str, *, layer: int, head: int) -> tuple[xr.Variable, NDArray[np.float32]]:
    """Queries or keys of a head as they are stored, and the constant to add to each.

    Parameters
    ----------
    model
        Dataset from `with_keys`.
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
    if role == "key" and (CONSTANT in _opened(group) or CONSTANT in group):
        vectors += np.asarray(array_of(group, CONSTANT)[layer])[:, None]
    return vectors


def _stored_rows(array: zarr.Array[Any], layer: int, rows: slice) -> NDArray[Any]:
    """Stored rows (head, token, channel) of a layer."""
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


def with_statistics(model: xr.Dataset) -> xr.Dataset:
    """The dataset of a model whose arrays have every statistic of the schema, with its title on pages. Lazy."""
    titles = {"title": (STATISTIC, [statistic.title for statistic in STATISTICS.values()])}
    stored = [str(name) for name in model[STATISTIC].values]
    if stored == list(STATISTICS):
        return model.assign_coords(titles)
    places = np.array([stored.index(name) if name in stored else -1 for name in STATISTICS])
    arrays = {name: array.variable for name, array in model.data_vars.items() if STATISTIC in array.dims}
    return (
        model.drop_dims(STATISTIC)
        .assign({name: _every(array, places) for name, array in arrays.items()} | {STATISTIC: list(STATISTICS)})
        .assign_coords(titles)
    )


def missing_statistics(model: xr.Dataset) -> tuple[str, ...]:
    """Statistics of the schema that the stored dataset of a model lacks."""
    stored = set(model[STATISTIC].values.tolist())
    return tuple(name for name in STATISTICS if name not in stored)


def _every(stored: xr.Variable, places: NDArray[np.int64]) -> xr.Variable:
    return xr.Variable(stored.dims, indexing.LazilyIndexedArray(_Statistics(stored, places)), stored.attrs)


class _Statistics(BackendArray):
    """Lazy array of statistics by their places among the stored statistics; NaN for place -1, a missing one."""

    def __init__(self, stored: xr.Variable, places: NDArray[np.int64]) -> None:
        self._stored, self._places, self._axis = stored, places, stored.get_axis_num(STATISTIC)
        sizes = stored.sizes | {STATISTIC: len(places)}
        self.shape, self.dtype = tuple(sizes[dim] for dim in stored.dims), stored.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        chosen = self._places[key[self._axis]]
        others = {dim: part for dim, part in zip(self._stored.dims, key, strict=True) if dim != STATISTIC}
        found = self._stored.isel({STATISTIC: np.maximum(chosen, 0), **others})
        values: NDArray[Any] = found.where(xr.Variable((STATISTIC,) * chosen.ndim, chosen >= 0)).values
        return values


def with_written_types(opened: xr.Dataset) -> xr.Dataset:
    """The lazy dataset with dtypes of netCDF for `to_netcdf`; in memory, arrays keep their stored dtypes."""
    for variable in opened.variables.values():
        if str(variable.dtype) in WRITTEN_AS:
            variable.encoding["dtype"] = WRITTEN_AS[str(variable.dtype)]
    return opened


def with_written_attributes(opened: xr.Dataset) -> xr.Dataset:
    """The dataset with attributes that `to_netcdf` can write: mappings and lists of texts as JSON, bools as 0 or 1.

    Attributes of its arrays do not change: netCDF holds a list of texts, such as names of codes, where `netcdf4` is installed.
    """
    return opened.assign_attrs({name: written(value) for name, value in opened.attrs.items()})


def written(value: object) -> object:
    """An attribute in the form that `with_written_attributes` gives it."""
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
        self.chunks = chunks

    def open(self, path: str) -> xr.Dataset:
        """A group as a lazy dataset. FileNotFoundError where there is none."""
        # chunks=None: wrapping the arrays in dask made every read 3 to 20 times slower.
        # zarr_format=3: every store has this format; without it zarr would look for version 2 of each group.
        dataset = xr.open_zarr(self.chunks, group=path, chunks=None, consolidated=False, zarr_format=3)
        return with_written_types(with_tiles(dataset, self.group(path)))

    def group(self, path: str) -> zarr.Group:
        """A group as zarr opens it. FileNotFoundError where there is none."""
        return zarr.open_group(self.chunks, path=path, mode="r", zarr_format=3)

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
        Array that is loaded when a view is opened; other arrays stay lazy.
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
