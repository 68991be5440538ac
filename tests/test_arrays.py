"""The arrays of a group; shards written past zarr's pipeline are read by zarr, and equal the shards that zarr would write."""

from collections.abc import Iterator

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

from store.repository.arrays import array_of, create_arrays, write_block
from store.schema import Array

DIMS = ("layer", "head", "token", "channel")


def make_array(heads: int = 3, compressors: str | None = None, **options: object) -> zarr.Array:  # type: ignore[type-arg]
    return zarr.create_array(
        MemoryStore(), shape=(2, heads, 24, 4), chunks=(1, 1, 4, 4), shards=(1, heads, 8, 4), dtype="f2", fill_value=np.nan,
        compressors=compressors, dimension_names=DIMS, **options,  # type: ignore[arg-type]
    )  # fmt: skip


def values_of(heads: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((2, heads, 8, 4)).astype(np.float16)


@given(heads=st.integers(1, 4), block=st.integers(0, 2), seed=st.integers(0, 99))
def test_zarr_reads_the_written_block_and_fill_values_elsewhere(heads: int, block: int, seed: int) -> None:
    array, values = make_array(heads), values_of(heads, seed)
    write_block(array, values, block=block)
    expected = np.full(array.shape, np.nan, np.float16)
    expected[:, :, block * 8 : block * 8 + 8] = values
    np.testing.assert_array_equal(array[:], expected)


@pytest.mark.parametrize("layer", [0, 1])
def test_a_block_of_one_layer_leaves_the_others(layer: int) -> None:
    array, values = make_array(), values_of(3)
    write_block(array, values[layer], block=2, layer=layer)
    expected = np.full(array.shape, np.nan, np.float16)
    expected[layer, :, 16:] = values[layer]
    np.testing.assert_array_equal(array[:], expected)


def test_a_single_tile_is_read_without_its_neighbours() -> None:
    array, values = make_array(), values_of(3)
    write_block(array, values, block=1)
    np.testing.assert_array_equal(array[1, 2, 12:16], values[1, 2, 4:8])


@pytest.fixture
def wrong() -> Iterator[np.ndarray]:
    return values_of(3)[:, :, :5]


def test_half_a_block_is_refused(wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match="takes blocks"):
        write_block(make_array(), wrong, block=0)


def test_another_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match="float32"):
        write_block(make_array(), values_of(3).astype(np.float32), block=0)


def test_a_compressed_array_is_refused() -> None:
    with pytest.raises(ValueError, match="uncompressed"):
        write_block(make_array(compressors="auto"), values_of(3), block=0)


# -- arrays of a group --------------------------------------------------------------------------------------

NUMBERS = {"numbers": Array(("token",), "int64", (4,), "numbers of tokens")}


@pytest.fixture
def group() -> zarr.Group:
    """A group of arrays for eight tokens."""
    group = zarr.create_group(MemoryStore())
    create_arrays(group, NUMBERS, {"token": 8})
    return group


def test_an_array_is_opened_once_for_each_object_of_a_group(group: zarr.Group) -> None:
    again = zarr.open_group(group.store)
    assert array_of(group, "numbers") is array_of(group, "numbers")
    assert array_of(again, "numbers") is array_of(again, "numbers") is not array_of(group, "numbers")


def test_an_array_that_has_grown_is_seen_by_all_who_opened_it(group: zarr.Group) -> None:
    before = array_of(group, "numbers")
    create_arrays(group, NUMBERS, {"token": 9})
    before[8] = 5
    assert np.asarray(zarr.open_group(group.store)["numbers"]).tolist() == [0] * 8 + [5]


def test_an_array_created_anew_takes_the_place_of_the_deleted_one(group: zarr.Group) -> None:
    array_of(group, "numbers")[:] = 7
    del group["numbers"]
    create_arrays(group, NUMBERS, {"token": 3})
    assert np.asarray(array_of(group, "numbers")).tolist() == [0, 0, 0]


def test_a_group_is_not_taken_for_an_array(group: zarr.Group) -> None:
    group.require_group("inner")
    with pytest.raises(AssertionError, match="inner is a group, not an array"):
        array_of(group, "inner")
