"""Calls that are tried again where object storage fails or is silent. Every call ends within a limit of seconds.

A commit or a move of a branch may have happened although its answer was lost: icechunk then reports an error, or a
conflict with itself. Both look for what they have written before they try again, so that nothing is lost or done twice.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar
from uuid import uuid4

from icechunk import ConflictError, IcechunkError, Repository, Session

from store.repository.zarr_internals import run_in_zarr

#: Seconds between two tries.
PAUSES = (0.1, 0.3, 1.0, 3.0)
#: Seconds of a call with all its tries. icechunk waits for an answer forever; a large chunk may take long to write.
LONGEST_READ, LONGEST_WRITE = 20.0, 300.0
#: Words of errors that no second try mends.
LASTING = (
    "doesn't exist",
    "not found",
    "no changes made",
    "NoSuchBucket",
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "credential",
)
#: Metadata key of a commit: what tells it from all others.
MARK = "mark"

Result = TypeVar("Result")


class NoAnswer(IcechunkError):
    """The storage has not answered in time."""


def _is_lasting(error: BaseException) -> bool:
    return isinstance(error, NoAnswer) or any(word in str(error) for word in LASTING)


async def tried(call: Callable[[], Awaitable[Result]], limit: float | None = None) -> Result:
    """Result of a call that changes nothing when it is made twice. IcechunkError of the last try."""
    return await _limited(_tried(call), limit or LONGEST_READ)


async def _tried(call: Callable[[], Awaitable[Result]]) -> Result:
    for pause in PAUSES:
        try:
            return await call()
        except IcechunkError as error:
            if _is_lasting(error):
                raise
        await asyncio.sleep(pause)
    return await call()


async def _limited(call: Awaitable[Result], limit: float) -> Result:
    try:
        return await asyncio.wait_for(call, limit)
    except TimeoutError as error:
        raise NoAnswer(f"no answer within {limit:.0f} s") from error


def commit(
    repository: Repository, session: Session, message: str, metadata: Mapping[str, Any], pauses: Iterable[float]
) -> str:
    """Commit a session once, also where answers are lost; returns the id of the snapshot.

    Parameters
    ----------
    pauses
        Seconds before each further try.

    Raises
    ------
    ConflictError
        Where another process has committed to the branch since the session began.
    IcechunkError
        Where the storage fails.
    """
    branch, parent = session.branch, session.snapshot_id
    marked = {**metadata, MARK: uuid4().hex}

    def committed() -> str | None:
        for info in repository.ancestry(branch=branch):
            if info.id == parent or info.metadata.get(MARK) == marked[MARK]:
                return None if info.id == parent else info.id
        return None

    def attempt() -> str:
        return run_in_zarr(_limited(session.commit_async(message, marked), LONGEST_WRITE))

    return _once(attempt, committed, pauses)


def move_branch(repository: Repository, branch: str, snapshot: str, *, seen: str, pauses: Iterable[float]) -> None:
    """Let a branch that names the snapshot `seen` name another one, also where answers are lost.

    Raises
    ------
    ConflictError
        Where another process has moved the branch.
    IcechunkError
        Where the storage fails.
    """

    def moved() -> str | None:
        at = repository.lookup_branch(branch)
        if at not in (seen, snapshot):
            raise ConflictError(seen, at)
        return snapshot if at == snapshot else None

    def attempt() -> str:
        moving = repository.reset_branch_async(branch, snapshot, from_snapshot_id=seen)
        run_in_zarr(_limited(moving, LONGEST_READ))
        return snapshot

    _once(attempt, moved, pauses)


def _once(attempt: Callable[[], Result], done: Callable[[], Result | None], pauses: Iterable[float]) -> Result:
    """Result of an attempt; after an error that of `done`, which looks whether it has happened, and then of the next one."""
    for pause in (*pauses, None):
        try:
            return attempt()
        except (ConflictError, IcechunkError) as error:
            if (result := done()) is not None:
                return result
            if pause is None or isinstance(error, ConflictError) or _is_lasting(error):
                raise
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")
