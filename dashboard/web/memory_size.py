"""How many bytes a result holds in memory."""

import sys
from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import xarray as xr


def memory_size(value: object) -> int:
    """Bytes of a value and of what it holds: arrays, texts, containers, dataclasses. What is in it twice counts once.

    An array that is a part of a larger one keeps that in memory and counts as much. What a lazy array would read counts
    nothing. Code, and an opened corpus that a value refers to, count as the reference alone.
    """
    seen: set[int] = set()
    pending: list[object] = [value]
    total = 0
    while pending:
        one = pending.pop()
        if id(one) not in seen:
            seen.add(id(one))
            total += _own_size(one)
            pending.extend(_parts(one))
    return total


def _own_size(one: object) -> int:
    """Without its parts. Of an array without memory of its own, its header."""
    return sys.getsizeof(one)


def _parts(one: Any) -> Iterable[object]:
    if isinstance(one, np.ndarray):
        texts = one.dtype == object or one.dtype.kind == "T"
        return [*([] if one.base is None else [one.base]), *(one.ravel().tolist() if texts else [])]
    if isinstance(one, xr.DataArray):
        return [one.variable, *(coordinate.variable for coordinate in one.coords.values())]
    if isinstance(one, xr.Dataset):
        return list(one.variables.values())
    if isinstance(one, xr.Variable):
        return [one._data]  # `data` would read a lazy array
    if isinstance(one, dict):
        return [*one.keys(), *one.values()]
    if isinstance(one, list | tuple | set | frozenset):
        return one
    return vars(one).values() if is_dataclass(one) and not isinstance(one, type) else []
