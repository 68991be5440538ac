"""Kinds of values that a field of a config.json may have."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    """The allowed values of a field."""

    explanation: str
    accepts: Callable[[Any], bool]


def whole(lowest: int, highest: int, *, none: bool = False) -> Field:
    """A whole number within bounds."""

    def accepts(value: Any) -> bool:
        return (none and value is None) or (type(value) is int and lowest <= value <= highest)

    return Field(f"a whole number from {lowest:,} to {highest:,}{' or null' if none else ''}", accepts)


def number(lowest: float, highest: float, *, none: bool = False) -> Field:
    """A number within bounds."""

    def accepts(value: Any) -> bool:
        return (none and value is None) or (type(value) in (int, float) and lowest <= value <= highest)

    return Field(f"a number from {lowest:g} to {highest:g}{' or null' if none else ''}", accepts)


def text(*, none: bool = False) -> Field:
    """Text."""
    return Field(f"text{' or null' if none else ''}", lambda value: isinstance(value, str) or (none and value is None))


def _is_labels(value: Any) -> bool:
    """Names by number, from 0 on."""
    if value is None:
        return True
    if not isinstance(value, dict) or not all(isinstance(name, (str, int)) for name in value.values()):
        return False
    return set(value) == set(map(str, range(len(value))))


def _is_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))


TRUTH = Field("true or false", lambda value: isinstance(value, bool))
LABELS = Field("an object of the labels' names by number from 0 on", _is_labels)
TEXTS = Field("a list of names or null", _is_texts)
