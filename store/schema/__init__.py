"""The schema of a store: names, dims, dtypes, chunks and meanings of all arrays; the interface of ingest and dashboard.

This file has the declaration of an array, and the version of the schema.
"""

from collections.abc import Collection
from dataclasses import dataclass

SCHEMA_VERSION = 4
#: Readable versions of the schema. Stores of schema 3 have no `key_constant`: their keys are stored unchanged.
READABLE = (3, SCHEMA_VERSION)

#: Tokens of a block: the unit of work and the length of a shard; no sentence crosses a block.
BLOCK = 8192
#: Tokens of an inner chunk of query and key: one head of all tokens and one sentence of all heads both read well.
TILE = 2048


@dataclass(frozen=True)
class Array:
    """Declaration of an array of a group.

    Attributes
    ----------
    dims, dtype
        Names of the dims, numpy's name of the dtype or `str`.
    chunk, shard
        Lengths along the dims, as numbers or as names of sizes that `store.repository.arrays.create_arrays` gets.
    meaning
        Meaning of a number; stored as an attribute.
    fill
        Value of numbers that have not been written.
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
    """Declare an array in float64 that is written at once, and NaN before."""
    return Array(dims, "float64", dims, meaning, fill=float("nan"))


def check_complete(module: str, known: Collection[str], table: Collection[str], what: str) -> None:
    """Raise ValueError unless a module knows each name of a table, such as a statistic, and no other."""
    for name in table:
        if name not in known:
            raise ValueError(f"{module} lacks the {what} {name!r}. Add it there as well.")
    for name in known:
        if name not in table:
            raise ValueError(
                f"{module} has the {what} {name!r}, which the schema lacks. Add it in store/schema as well."
            )
