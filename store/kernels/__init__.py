"""Pure functions that define the numbers of a store: arrays in, arrays out, numpy or torch."""

import sys
from types import ModuleType
from typing import Any

#: A numpy array or a torch tensor; a kernel returns the same type as its arguments.
AnyArray = Any


def namespace(array: AnyArray) -> ModuleType:
    """The module of the array, numpy or torch. Neither is imported here."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def as_float(array: AnyArray, like: AnyArray) -> AnyArray:
    """An array with the dtype, and the device, of `like`."""
    if namespace(like).__name__ == "torch":
        return namespace(like).as_tensor(array).to(like)
    return namespace(like).asarray(array, dtype=like.dtype)
