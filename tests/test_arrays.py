"""Shards written past zarr's pipeline are read by zarr, and are what zarr would have written."""

from collections.abc import Iterator

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

from store.repository.arrays import write_block

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
