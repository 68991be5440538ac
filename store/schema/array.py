"""Declaration of an array of a store: dims, dtype, chunk, shard, and the meaning of its numbers."""

from dataclasses import dataclass

SCHEMA_VERSION = 4
#: Stores of schema 3 have no `key_constant`: their keys are stored as they are.
READABLE = (3, SCHEMA_VERSION)

#: Tokens of a block: the unit of work and the length of a shard; no sentence crosses a block.
BLOCK = 8192
#: Tokens of an inner chunk of query and key: one head of all tokens and one sentence of all heads both read well.
TILE = 2048


@dataclass(frozen=True)
class Array:
    """An array of a group.

    Attributes
    ----------
    dims, dtype
        Names of the dims, numpy's name of the dtype or `str`.
    chunk, shard
        Lengths along the dims, as numbers or as names of sizes that `store.repository.arrays.create_arrays` gets.
    meaning
        What a number is; stored as an attribute.
    fill
        Value of what has not been written.
    compressed
        Whether chunks are compressed.
    """

    dims: tuple[str, ...]
    dtype: str
    chunk: tuple[int | str, ...]
    meaning: str
    shard: tuple[int | str, ...] | None = None
    fill: float | None = None
    compressed: bool = True


def numbered(dim: str, meaning: str, dtype: str = "int16") -> Array:
    """Declare the labels of a dim."""
    return Array((dim,), dtype, (dim,), meaning)


def whole(dims: tuple[str, ...], meaning: str) -> Array:
    """Declare an array in float64 that is written at once; NaN before."""
    return Array(dims, "float64", dims, meaning, fill=float("nan"))
