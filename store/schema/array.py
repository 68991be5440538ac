"""How an array of a store is declared: dims, dtype, chunk, shard, and what its numbers mean."""

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
    """One array of a group: its dims, and chunk and shard in the same order, as numbers or names of sizes."""

    dims: tuple[str, ...]
    dtype: str
    chunk: tuple[int | str, ...]
    meaning: str
    shard: tuple[int | str, ...] | None = None
    fill: float | None = None
    compressed: bool = True


def numbered(dim: str, meaning: str, dtype: str = "int16") -> Array:
    """What stands at each place of a dim."""
    return Array((dim,), dtype, (dim,), meaning)


def whole(dims: tuple[str, ...], meaning: str) -> Array:
    """Exact numbers that are written at once, NaN before."""
    return Array(dims, "float64", dims, meaning, fill=float("nan"))
