"""Pure functions that define the numbers of a store: arrays in and out, numpy or torch, nothing else."""

import sys
from types import ModuleType
from typing import Any

#: A numpy array or a torch tensor; a kernel returns the kind it was given.
AnyArray = Any


def namespace(array: AnyArray) -> ModuleType:
    """The array library, numpy or torch, that made this array; neither is imported here."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def as_float(array: AnyArray, like: AnyArray) -> AnyArray:
    """The same numbers in the dtype (and on the device) of `like`."""
    if namespace(like).__name__ == "torch":
        return namespace(like).as_tensor(array).to(like)
    return namespace(like).asarray(array, dtype=like.dtype)
