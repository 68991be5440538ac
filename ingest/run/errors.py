"""The error of an ingest that cannot be done as configured; every message ends with what to do next."""

from collections.abc import Iterable, Iterator

#: Characters of a name and of another library's error, and names of a list, that a message shows.
LONGEST_NAME, LONGEST_CAUSE, LONGEST_LIST = 80, 200, 20


class IngestError(Exception):
    """The ingest cannot be done with these settings."""


def short(name: object, *, longest: int = LONGEST_NAME) -> str:
    """A name as a message shows it: on one line, and cut in the middle where it is long."""
    text = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in str(name))
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}...{text[-half:]}"


def cause(error: BaseException) -> str:
    """The class and the message of another library's error, on one line."""
    text = " ".join(str(error).split()).removesuffix(".")
    return short(f"{type(error).__name__}: {text}" if text else type(error).__name__, longest=LONGEST_CAUSE)


def listed(names: Iterable[object]) -> str:
    """Names as a message lists them: the first `LONGEST_LIST`, and how many there are beyond them."""
    every = list(names)
    more = len(every) - LONGEST_LIST
    shown = [short(name) for name in every[:LONGEST_LIST]]
    return ", ".join([*shown, f"and {more:,} more"] if more > 0 else shown)


def is_unreachable(error: BaseException) -> bool:
    """Whether the hub was not reached, or was not to be asked."""
    kinds = {kind.__name__ for cause in causes(error) for kind in type(cause).__mro__}
    return bool(kinds & {"OfflineModeIsEnabled", "TransportError", "ConnectionError", "TimeoutError"})


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that it was raised from or in."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
