"""Arrays read by tiles against zarr's own reader, and damage."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zarr.abc.store import ByteRequest, SuffixByteRequest
from zarr.codecs import Crc32cCodec, ZstdCodec

from store.repository.arrays import Groups
from store.repository.errors import StoreError
from store.repository.tiles import TileReader, is_tiled, read_rows
from store.repository.zarr_internals import is_damage

SHAPE, SHARD, TILE = (4, 6, 70), (2, 6, 32), (1, 3, 8)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> zarr.Group:
    group = zarr.create_group(tmp_path_factory.mktemp("tiles") / "store", zarr_format=3)
    _add(group, "tiled", compressors=(Crc32cCodec(),))
    _add(group, "compressed", compressors=(ZstdCodec(), Crc32cCodec()))
    return group


def _add(group: zarr.Group, name: str, compressors: tuple[object, ...]) -> None:
    array = group.create_array(
        name,
        shape=SHAPE,
        dtype="f2",
        chunks=TILE,
        shards=SHARD,
        fill_value=np.nan,
        dimension_names=("layer", "head", "token"),
        compressors=compressors,
    )
    array[:2, :, :64] = np.random.default_rng(0).standard_normal((2, 6, 64))  # the other shards are never written
    array[2, :3, 40:48] = 1.0  # most tiles of this shard are never written


def _lazy(group: zarr.Group, name: str = "tiled") -> xr.Variable:
    return Groups(group.store).open("")[name].variable


def _index(length: int) -> st.SearchStrategy[object]:
    numbers = st.integers(-length, length - 1)
    slices = st.builds(slice, st.integers(0, length - 1), st.integers(0, length), st.sampled_from([1, 1, 2]))
    return st.one_of(
        numbers, slices, st.lists(st.integers(0, length - 1), min_size=1, unique=True).map(sorted).map(np.array)
    )


@given(selection=st.tuples(*map(_index, SHAPE)))
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_selection_is_what_zarr_reads(group: zarr.Group, selection: tuple[object, ...]) -> None:
    array = group["tiled"]
    assert isinstance(array, zarr.Array)
    np.testing.assert_array_equal(_lazy(group)[selection].values, array.oindex[selection])


@pytest.mark.parametrize("rows", [[5, 3, 3, 60], [60, 1], [4, 5, 6], []])
def test_rows_of_tokens_are_read_in_any_order(group: zarr.Group, rows: list[int]) -> None:
    array = group["tiled"]
    assert isinstance(array, zarr.Array)
    found = read_rows(_lazy(group), np.array(rows, np.int64))
    np.testing.assert_array_equal(found, np.asarray(array[:])[..., np.array(rows, np.intp)])


@pytest.mark.parametrize("row", [-1, 70])
def test_a_row_that_is_not_there_is_refused(group: zarr.Group, row: int) -> None:
    with pytest.raises(StoreError, match=rf"^row={row} is out of range\. Choose 0 to 69\.$"):
        read_rows(_lazy(group), np.array([row, 3]))


def test_a_place_beyond_the_array_is_refused(group: zarr.Group) -> None:
    with pytest.raises(IndexError):
        _ = _lazy(group).isel(layer=0, head=0, token=[0, 71]).values


class Counting(TileReader):
    """A reader that counts its requests, without those for the index of a shard."""

    requests = 0

    async def _bytes(self, place: tuple[int, ...], request: ByteRequest | None = None) -> np.ndarray | None:
        self.requests += not isinstance(request, SuffixByteRequest)
        return await super()._bytes(place, request)


def test_a_sentence_in_all_heads_is_read_over_the_tiles_between_in_one_request(group: zarr.Group) -> None:
    array = group["tiled"]
    assert isinstance(array, zarr.Array)
    reader = Counting(array)  # a shard has 2 by 4 tiles of one layer: heads, then tokens
    read = reader.read((slice(0, 1), slice(0, 6), slice(9, 13)))
    np.testing.assert_array_equal(read, array[0:1, :, 9:13])
    assert reader.requests == 1


def test_compressed_arrays_are_left_to_zarr(group: zarr.Group) -> None:
    assert is_tiled(group["tiled"])
    assert not is_tiled(group["compressed"])
    np.testing.assert_array_equal(_lazy(group, "compressed").values, _lazy(group).values)


@pytest.mark.parametrize("place", [3, -2], ids=["in a tile", "in the index"])
def test_a_flipped_bit_is_damage(tmp_path: Path, place: int) -> None:
    group = zarr.create_group(tmp_path, zarr_format=3)
    _add(group, "tiled", compressors=(Crc32cCodec(),))
    shard = tmp_path / "tiled/c/0/0/0"
    content = bytearray(shard.read_bytes())
    content[place] ^= 1
    shard.write_bytes(content)
    with pytest.raises(ValueError, match="checksum") as raised:
        _lazy(group).values  # noqa: B018
    assert is_damage(raised.value)


def test_a_shard_that_was_cut_is_damage(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path, zarr_format=3)
    _add(group, "tiled", compressors=(Crc32cCodec(),))
    shard = tmp_path / "tiled/c/0/0/0"
    shard.write_bytes(shard.read_bytes()[-400:])
    with pytest.raises(ValueError, match="shard") as raised:
        _lazy(group).values  # noqa: B018
    assert is_damage(raised.value)
