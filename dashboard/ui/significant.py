"""Numbers as a person reads them in a file."""

from collections.abc import Iterable

#: Digits that float16 vectors and float32 weights carry.
DIGITS = 6


def significant(numbers: Iterable[float]) -> list[float]:
    """The numbers rounded to `DIGITS` significant digits."""
    return [float(f"{number:.{DIGITS}g}") for number in numbers]
