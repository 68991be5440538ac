"""What the hub's client says: commits, and why it raises."""

from collections.abc import Iterator

#: What a commit of the hub looks like.
COMMIT_LETTERS, COMMIT_LENGTH = frozenset("0123456789abcdef"), 40


def is_commit(revision: str) -> bool:
    """Whether a revision names one state for ever, unlike a branch."""
    return len(revision) == COMMIT_LENGTH and COMMIT_LETTERS.issuperset(revision)


def is_unreachable(error: BaseException) -> bool:
    """Whether the hub was not reached, or was not to be asked."""
    kinds = {kind.__name__ for cause in causes(error) for kind in type(cause).__mro__}
    return bool(kinds & {"OfflineModeIsEnabled", "TransportError", "ConnectionError", "TimeoutError"})


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that it was raised from or in."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
