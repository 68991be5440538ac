"""The icechunk repository behind a store: where it is, who may write, what has been published.

Readers follow branch `main`; ingest commits to branch `ingest`; publishing moves `main` by compare-and-set. On a local
disk the branch reference is a plain file, so whoever moves one holds an flock (two committers lose data silently without).
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import SplitResult, urlsplit

import icechunk
from icechunk import IcechunkError, Repository

from store.errors import StoreCorrupt, StoreError, StoreNotFound, StoreUnreachable
from store.repository.lock import take_lock

NO_PLACE = "is not a place for a store. Use a folder, s3://bucket/prefix or gs://bucket/prefix."
Result = TypeVar("Result")

icechunk.set_logs_filter("error")


def local_path(url: str) -> Path | None:
    """The folder of a local store, None for a store behind a URL. StoreError where there can be no such folder."""
    parts = _parts(url)
    if parts.scheme != "file" and "://" in url:
        return None
    path = Path(parts.path if parts.scheme == "file" else url)
    try:
        path.exists()
    except OSError as error:
        raise StoreError(
            f"{url[:80]} cannot be opened ({error.strerror}). Choose another place with STORE=..."
        ) from error
    return path


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise StoreError(f"{url[:80]} {NO_PLACE}") from error


def storage(url: str) -> icechunk.Storage:
    """The icechunk storage a store's URL means: a folder, `s3://bucket/prefix` or `gs://bucket/prefix`."""
    path = local_path(url)
    if path is not None:
        return icechunk.local_filesystem_storage(str(path))
    parts = _parts(url)
    prefix = parts.path.strip("/")
    if parts.scheme == "s3" and parts.netloc and prefix:
        return _s3_storage(parts.netloc, prefix)
    if parts.scheme == "gs" and parts.netloc and prefix:
        return icechunk.gcs_storage(bucket=parts.netloc, prefix=prefix, from_env=True)
    raise StoreError(f"{url} {NO_PLACE}")


def _s3_storage(bucket: str, prefix: str) -> icechunk.Storage:
    """Amazon's S3, or what AWS_ENDPOINT_URL names; credentials come from the environment as in every S3 tool."""
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


def open_repository(url: str) -> Repository:
    """Open an existing repository; a folder that is none is never touched."""
    place, path = storage(url), local_path(url)
    _check_branch(url, MAIN)
    try:
        # icechunk makes a folder where there is none, and panics where there is a file.
        if (path is not None and not path.is_dir()) or not Repository.exists(place):
            raise StoreNotFound(f"There is no store at {url}. Run `make ingest STORE={url}`.")
        return Repository.open(place)
    except IcechunkError as error:
        raise _unopened(url, error) from error


def create_repository(url: str) -> Repository:
    """Open the repository, or create it where there is nothing yet."""
    path = local_path(url)
    if path is not None and path.exists() and not (path.is_dir() and _empty_or_repository(path)):
        raise StoreError(f"{url} exists and is not a store. Choose another place with STORE=...")
    _check_branch(url, MAIN)
    try:
        repository = Repository.open_or_create(storage(url))
        if _is_new(repository):
            repository.create_branch(INGEST, repository.lookup_branch(MAIN))
    except IcechunkError as error:
        raise _unopened(url, error) from error
    _check_branch(url, INGEST)
    return repository


def _is_new(repository: Repository) -> bool:
    """Whether nothing has been committed: not where branch `ingest` was lost later."""
    first = repository.lookup_snapshot(repository.lookup_branch(MAIN)).parent_id is None
    return first and INGEST not in repository.list_branches()


def _check_branch(url: str, branch: str) -> None:
    """Raise StoreCorrupt where the branch of a local store is lost or damaged. icechunk calls that no repository."""
    path = local_path(url)
    if path is not None and holds_snapshots(path) and (problem := branch_problem(path, branch)):
        raise StoreCorrupt(f"The store at {url} is damaged: {problem} {mend_advice(url)}")


def mend_advice(url: str) -> str:
    """What to do where a branch of the store is lost or damaged."""
    return f"Run `make mend STORE={url}` to return to the newest publication that can be read."


def _unopened(url: str, error: IcechunkError) -> StoreUnreachable:
    said = f"The store at {url} cannot be opened ({first_line(error)})."
    return StoreUnreachable(f"{said} Check the address and your access to it.")


def _empty_or_repository(path: Path) -> bool:
    return (path / "refs").is_dir() or holds_snapshots(path) or not any(path.iterdir())


@contextmanager
def writing(url: str) -> Iterator[None]:
    """Hold the store's lock, so that one process at a time moves references. Object stores need none."""
    path = local_path(url)
    if path is None:
        yield
        return
    with _lock(path, url):
        yield


def _lock(path: Path, url: str) -> IO[str]:
    try:
        lock = take_lock(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}). Choose another place with STORE=...") from error
    if lock is None:
        raise StoreError(f"Another ingest is writing {url}. Run again when it has ended.")
    return lock


def read(repository: Repository, url: str, read: Callable[[], Result]) -> Result:
    """What `read` gives, at the second try too: its error then says something of the store, not of the way to it.

    Raises
    ------
    StoreCorrupt
        Where branch `main` is lost.
    StoreUnreachable
        Where the place of the store does not answer either.
    """
    try:
        return read()
    except IcechunkError:
        _check_branch(url, MAIN)
        try:
            repository.lookup_branch(MAIN)
        except IcechunkError as error:
            raise _unopened(url, error) from error
        return read()


def interruption(error: IcechunkError) -> str:
    """For a person whose command read or wrote an open store when its storage no longer answered as it should."""
    said = f"The store cannot be read or written ({first_line(error)}); what was committed before is kept."
    return f"{said} Check your access to it and run the same command again."


def first_line(error: BaseException) -> str:
    """What an icechunk error says, without its trace and the frame it draws round it."""
    lines = [line for line in (re.sub(r"^[^\w/]+", "", line).strip() for line in str(error).splitlines()) if line]
    return (lines[0] if lines else type(error).__name__)[:200]


MAIN = "main"
INGEST = "ingest"


def holds_snapshots(store: Path) -> bool:
    """Whether a folder is a store, even one that has lost its branches."""
    folder = store / "snapshots"
    return folder.is_dir() and any(folder.iterdir())


def branch_problem(store: Path, branch: str) -> str | None:
    """What is wrong with a branch, as one sentence; None where it names a snapshot of the store."""
    path = _file(store, branch).relative_to(store)
    try:
        named = named_snapshot(store, branch)
    except FileNotFoundError:
        return f"{path} is missing."
    except (OSError, ValueError):
        return f"{path} cannot be read."
    return None if (store / "snapshots" / named).is_file() else f"snapshots/{named}, which {path} names, is missing."


def named_snapshot(store: Path, branch: str) -> str:
    """The snapshot that a branch names. ValueError where the file is not as icechunk writes it."""
    match json.loads(_file(store, branch).read_bytes()):
        case {"snapshot": str(named), **others} if not others and named.isalnum():
            return named
    raise ValueError(f"branch {branch} names no snapshot")


def point_branch(store: Path, branch: str, snapshot: str) -> None:
    """Let a branch name a snapshot, in one step. Whoever calls this holds the store's lock."""
    file = _file(store, branch)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"snapshot": snapshot}, separators=(",", ":")), encoding="ascii")
    os.replace(new, file)


def _file(store: Path, branch: str) -> Path:
    return store / "refs" / f"branch.{branch}" / "ref.json"
