"""Stores in object storage: place, configuration of the repository, errors as sentences, and calls that are retried.

A call is retried where object storage fails or is silent; every call ends within a limit of seconds.
A commit or a move of a branch may have happened although its answer was lost: icechunk then reports an error, or a
conflict with itself. Both look for their own result before a retry, so that nothing is lost or done twice.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import product
from typing import Any, TypeVar
from uuid import uuid4

import icechunk
import zarr
from icechunk import (
    CachingConfig,
    ConflictError,
    IcechunkError,
    ManifestConfig,
    ManifestPreloadCondition,
    ManifestPreloadConfig,
    Repository,
    RepositoryConfig,
    Session,
    SnapshotInfo,
    StorageRetriesSettings,
    StorageSettings,
)
from zarr.abc.buffer import Buffer, BufferPrototype
from zarr.abc.store import ByteRequest, Store
from zarr.buffer import default_buffer_prototype
from zarr.storage import WrapperStore

from store.repository.errors import enter_process
from store.repository.zarr_internals import run_in_zarr

#: Seconds between two tries.
PAUSES = (0.1, 0.3, 1.0, 3.0)
#: Most seconds of a call with all its tries, for a read and a write. icechunk itself would wait for ever; a large chunk may take long.
LONGEST_READ, LONGEST_WRITE = 20.0, 300.0
#: Words of errors for which a retry is useless.
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
#: Metadata key of a commit: a mark that no other commit has.
MARK = "mark"

Result = TypeVar("Result")


class NoAnswer(IcechunkError):
    """The storage has not answered in time."""


def _is_lasting(error: BaseException) -> bool:
    return isinstance(error, NoAnswer) or any(word in str(error) for word in LASTING)


async def tried(call: Callable[[], Awaitable[Result]], limit: float = LONGEST_READ) -> Result:
    """Result of an idempotent call, retried within `limit` seconds. Raises the IcechunkError of the last try."""
    return await _limited(_tried(call), limit)


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
    """Commit a session exactly once, even where answers are lost; returns the id of the snapshot.

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
    """Move a branch from the snapshot `seen` to another, even where answers are lost.

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
    """Result of an attempt; after an error the result of `done`, which checks whether it succeeded, else of the next attempt."""
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


#: Bytes of chunks in memory: the next head or sentence is often in a chunk that has been read before.
CHUNKS = 128 << 20
#: Most chunks of manifests that are read together with the snapshot, so that an array's first read need not wait for its manifest.
REFERENCES = 200_000
#: Most bytes of an array that is read ahead.
SMALL = 1 << 20
#: Seconds in which a found snapshot is not requested again, as opening a store looks it up several times.
SEEN = 1.0
#: icechunk's tries of a request, and its first and longest pause between two tries in milliseconds.
TRIES, FIRST_PAUSE, LAST_PAUSE = 4, 50, 1_000

#: Configuration, kept in memory: a store stores none.
CONFIG = RepositoryConfig(
    caching=CachingConfig(num_bytes_chunks=CHUNKS),
    manifest=ManifestConfig(
        preload=ManifestPreloadConfig(max_total_refs=REFERENCES, preload_if=ManifestPreloadCondition.true())
    ),
    storage=StorageSettings(
        retries=StorageRetriesSettings(max_tries=TRIES, initial_backoff_ms=FIRST_PAUSE, max_backoff_ms=LAST_PAUSE)
    ),
)


def s3_storage(bucket: str, prefix: str) -> icechunk.Storage:
    """S3 storage at Amazon or at AWS_ENDPOINT_URL, with the credentials of the environment."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    return icechunk.s3_storage(
        bucket=bucket,
        prefix=prefix,
        from_env=True,
        region=os.environ.get("AWS_REGION", "us-east-1"),
        endpoint_url=endpoint,
        allow_http=bool(endpoint and endpoint.startswith("http:")),
        force_path_style=endpoint is not None,
    )


class RemoteStore(WrapperStore[Store]):
    """The chunks of a session, with retries of failed calls, even of a cut answer, which icechunk does not retry."""

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Read a key, as zarr defines it."""
        enter_process()
        return await tried(lambda: self._store.get(key, prototype, byte_range))

    async def set(self, key: str, value: Buffer) -> None:
        """Write a key, as zarr defines it."""
        await tried(lambda: self._store.set(key, value), LONGEST_WRITE)


def read_ahead(group: zarr.Group) -> None:
    """Read the small arrays of a group at once into the cache of chunks, so that their first use need not wait."""
    arrays = [array for _, array in group.members() if isinstance(array, zarr.Array)]
    keys = [key for array in arrays if array.nbytes <= SMALL for key in _chunk_keys(array)]
    run_in_zarr(_get_all(group.store, keys))


def _chunk_keys(array: zarr.Array[Any]) -> Iterator[str]:
    steps = array.shards or array.chunks
    counts = (range(-(-length // step)) for length, step in zip(array.shape, steps, strict=True))
    return ("/".join((array.path, "c", *map(str, place))) for place in product(*counts))


async def _get_all(store: Store, keys: list[str]) -> None:
    await asyncio.gather(*(store.get(key, default_buffer_prototype()) for key in keys))


class RemoteRepository(Repository):
    """A repository whose lookups are retried. Functions of this module commit and move branches."""

    def lookup_branch(self, branch: str) -> str:
        """Id of a branch's snapshot; methods and parameters are as in icechunk."""
        return run_in_zarr(tried(lambda: self.lookup_branch_async(branch)))

    def list_branches(self) -> set[str]:
        """Names of all branches."""
        return run_in_zarr(tried(self.list_branches_async))

    def lookup_snapshot(self, snapshot_id: str) -> SnapshotInfo:
        """Time, message and metadata of a snapshot."""
        return run_in_zarr(tried(lambda: self.lookup_snapshot_async(snapshot_id)))

    def readonly_session(
        self,
        branch: str | None = None,
        *,
        tag: str | None = None,
        snapshot_id: str | None = None,
        as_of: datetime | None = None,
    ) -> Session:
        """A session that reads a snapshot."""
        return run_in_zarr(
            tried(lambda: self.readonly_session_async(branch, tag=tag, snapshot_id=snapshot_id, as_of=as_of))
        )

    def writable_session(self, branch: str) -> Session:
        """A session that writes to a branch."""
        return run_in_zarr(tried(lambda: self.writable_session_async(branch)))

    def ancestry(
        self, *, branch: str | None = None, tag: str | None = None, snapshot_id: str | None = None
    ) -> Iterator[SnapshotInfo]:
        """A snapshot and its ancestors, the newest first; each is looked up when the iterator reaches it."""
        at = self.lookup_branch(branch) if branch else self.lookup_tag(tag) if tag else snapshot_id
        while at:
            info = run_in_zarr(tried(partial(self._first, at)))
            yield info
            at = info.parent_id

    async def _first(self, snapshot: str) -> SnapshotInfo:
        """A snapshot that the storage had at most `SEEN` seconds ago."""
        seen: dict[str, tuple[float, SnapshotInfo]] = vars(self).setdefault("seen", {})
        now = time.monotonic()
        for name in [name for name, (asked, _) in seen.items() if now - asked > SEEN]:
            seen.pop(name, None)
        if snapshot not in seen:
            seen[snapshot] = now, await anext(aiter(self.async_ancestry(snapshot_id=snapshot)))
        return seen[snapshot][1]


def open_remote(place: icechunk.Storage, limit: float = LONGEST_READ) -> Repository | None:
    """Open a repository within `limit` seconds; None where there is none."""
    try:
        return run_in_zarr(tried(lambda: RemoteRepository.open_async(place, config=CONFIG), limit))
    except IcechunkError as error:
        if "the repository doesn't exist" in str(error):
            return None
        raise


def create_remote(place: icechunk.Storage) -> Repository:
    """Create a repository, which may exist even where its creation was answered with an error."""
    try:
        run_in_zarr(tried(lambda: Repository.create_async(place)))
    except IcechunkError:
        if repository := open_remote(place):
            return repository
        raise
    repository = open_remote(place)
    assert repository is not None
    return repository


#: Word of an error of the storage -> problem and remedy.
REMEDIES = {
    "NoSuchBucket": "Its bucket does not exist. Create the bucket, or choose another place with --store=...",
    "credential": "There are no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
    "AccessDenied": "Access is denied. Check the credentials and what they may do in the bucket.",
    "InvalidAccessKeyId": "The access key is unknown. Check AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL.",
    "SignatureDoesNotMatch": "The secret key is wrong. Check AWS_SECRET_ACCESS_KEY.",
    "dispatch failure": "The storage cannot be reached. Check your connection and AWS_ENDPOINT_URL, then run the same command again.",
    "no answer within": "The storage does not answer. Check your connection and AWS_ENDPOINT_URL, then run the same command again.",
}


def remedy(error: BaseException) -> str | None:
    """Problem of the storage and its remedy, as sentences; None for other errors."""
    return next((sentence for word, sentence in REMEDIES.items() if word in str(error)), None)
