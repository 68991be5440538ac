"""Access to the icechunk repository of a store: its place, opening, the lock of its writer, and branch files of a local store.

Readers follow branch `main`. The ingest commits to branch `ingest`; publishing moves `main` by compare-and-set. On a
local disk a branch is a plain file, which icechunk 1.x writes as `refs/branch.<name>/ref.json` (`tests/test_zarr_internals.py`
fails where this changes): a process that moves a branch holds a lock, since two committers silently lose data.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

import icechunk
from icechunk import (
    IcechunkError,
    ManifestConfig,
    ManifestPreloadCondition,
    ManifestPreloadConfig,
    Repository,
    RepositoryConfig,
    Session,
)
from zarr.abc.store import Store

from store.repository.errors import StoreCorrupt, StoreError, StoreNotFound, StoreUnreachable, enter_process
from store.repository.files import remove_lock, replace_file, take_lock
from store.repository.remote import LONGEST_READ, NoAnswer, RemoteStore, create_remote, open_remote, remedy, s3_storage

MAIN = "main"
INGEST = "ingest"
#: What stands before a line of an icechunk error: marks, and the x of its first line.
_FRAME = re.compile(r"^[^\w/\[(]+(?:x\s+)?")


def holds_snapshots(store: Path) -> bool:
    """Whether a folder is a store, even one that has lost its branches."""
    folder = store / "snapshots"
    return folder.is_dir() and any(folder.iterdir())


def branch_problem(store: Path, branch: str) -> str | None:
    """A finding on a branch, as a sentence; None where the branch names a snapshot of the store."""
    path = _file(store, branch).relative_to(store)
    try:
        named = named_snapshot(store, branch)
    except FileNotFoundError:
        return f"{path} is missing."
    except (OSError, ValueError):
        return f"{path} cannot be read."
    return None if (store / "snapshots" / named).is_file() else f"snapshots/{named}, which {path} names, is missing."


def named_snapshot(store: Path, branch: str) -> str:
    """Id of the snapshot that a branch names. ValueError where the file is not as icechunk writes it."""
    match json.loads(_file(store, branch).read_bytes()):
        case {"snapshot": str(named), **others} if not others and named.isalnum():
            return named
    raise ValueError(f"branch {branch} names no snapshot")


def point_branch(store: Path, branch: str, snapshot: str) -> None:
    """Let a branch name a snapshot, in one step. The caller holds the store's lock."""
    file = _file(store, branch)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, json.dumps({"snapshot": snapshot}, separators=(",", ":")).encode("ascii"))


def _file(store: Path, branch: str) -> Path:
    return store / "refs" / f"branch.{branch}" / "ref.json"


INVALID_URL = "is not a valid store URL. Use a folder, s3://bucket/prefix or gs://bucket/prefix."

Result = TypeVar("Result")

#: No log for a manifest that could not be read ahead: it is read again on demand, and an error is then raised.
icechunk.set_logs_filter("error,icechunk::repository=off")

#: No manifest is read before its array. To find manifests of coordinates, icechunk would compile regular expressions for
#: every session: 20 ms of processor time, against 1 ms without. Kept in memory: a store stores no configuration.
CONFIG = RepositoryConfig(
    manifest=ManifestConfig(preload=ManifestPreloadConfig(preload_if=ManifestPreloadCondition.false()))
)


def local_path(url: str) -> Path | None:
    """Folder of a local store, with `~` replaced by the user's home; None for object storage.

    StoreError where the system allows no such path, or where a URL names a host or continues after its path.
    """
    parts = _parts(url)
    if parts.scheme != "file" and "://" in url:
        return None
    path = Path(_path_of(parts, url) if parts.scheme == "file" else url)
    try:
        path = path.expanduser()
        path.exists()
    except OSError as error:
        raise StoreError(
            f"{url[:80]} cannot be opened ({error.strerror}). Choose another place with --store=..."
        ) from error
    except RuntimeError as error:
        raise StoreError(f"{url[:80]} names no home of a user. Choose another place with --store=...") from error
    return path


def _path_of(parts: SplitResult, url: str) -> str:
    """The path of a `file:` URL, whose `%20` is a space."""
    if parts.netloc not in ("", "localhost"):
        raise StoreError(
            f"{url[:80]} names the host {parts.netloc[:80]}, and a local store has none. "
            "Give the folder without file://, or three slashes as in file:///data/store."
        )
    if parts.query or parts.fragment:
        raise StoreError(
            f"{url[:80]} goes on after its path with ? or #. Give the folder without file://, or write %3F and %23."
        )
    path = unquote(parts.path)
    if "\0" in path:
        raise StoreError(f"{url[:80]} {INVALID_URL}")
    return path


def absolute(url: str) -> str:
    """The URL of a store for processes in other folders."""
    path = local_path(url)
    return str(path.absolute()) if path else url


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise StoreError(f"{url[:80]} {INVALID_URL}") from error


def storage(url: str) -> icechunk.Storage:
    """Storage of a store's URL: a folder, `s3://bucket/prefix` or `gs://bucket/prefix`."""
    path = local_path(url)
    if path is not None:
        return icechunk.local_filesystem_storage(absolute(url))
    parts = _parts(url)
    prefix = parts.path.strip("/")
    if parts.scheme == "s3" and parts.netloc and prefix:
        return s3_storage(parts.netloc, prefix)
    if parts.scheme == "gs" and parts.netloc and prefix:
        return icechunk.gcs_storage(bucket=parts.netloc, prefix=prefix, from_env=True)
    raise StoreError(f"{url} {INVALID_URL}")


def open_repository(url: str, limit: float = LONGEST_READ) -> Repository:
    """Open an existing repository; never creates or changes a folder.

    Parameters
    ----------
    url
        URL of the store, see `storage`.
    limit
        Seconds after which object storage is taken to be silent.

    Raises
    ------
    StoreError
        Where there is no store, it is damaged, or its storage does not answer.
    """
    enter_process()
    place, path = storage(url), local_path(url)
    _check_branch(url, MAIN)
    try:
        # icechunk makes a missing folder, and panics where there is a file.
        there = path.is_dir() and Repository.exists(place) if path else True
        repository = _open(place, path, limit) if there else None
    except IcechunkError as error:
        raise _unopened(url, error) from error
    if repository is None:
        raise no_store(url)
    return repository


def _open(place: icechunk.Storage, path: Path | None, limit: float) -> Repository | None:
    """The repository; None where object storage has none, as a check before would be a further request."""
    return open_remote(place, limit) if path is None else Repository.open(place, config=CONFIG)


def chunks_of(session: Session, url: str) -> Store:
    """The chunks of a session of a store, as zarr reads and writes them."""
    enter_process()
    return session.store if local_path(url) else RemoteStore(session.store)


def create_repository(url: str) -> Repository:
    """Open a repository to write it; create it where there is none.

    Raises
    ------
    StoreError
        Where the folder holds something else, the store is damaged, or its storage does not answer.
    """
    enter_process()
    check_place(url)
    _check_branch(url, MAIN)
    try:
        repository = _created(storage(url), local_path(url))
        if _is_new(repository):
            _branch_off(repository)
    except IcechunkError as error:
        raise _unopened(url, error) from error
    _check_branch(url, INGEST)
    return repository


def _created(place: icechunk.Storage, path: Path | None) -> Repository:
    if path is None:
        return open_remote(place) or create_remote(place)
    if not Repository.exists(place):
        Repository.create(place)  # without CONFIG, which icechunk would write to the store
    return Repository.open(place, config=CONFIG)


def _branch_off(repository: Repository) -> None:
    """Create branch `ingest`, which may exist even where its creation was answered with an error."""
    try:
        repository.create_branch(INGEST, repository.lookup_branch(MAIN))
    except IcechunkError:
        if INGEST not in repository.list_branches():
            raise


def no_store(url: str) -> StoreError:
    """The error for a missing store: an ingest makes one, unless the place holds something else."""
    try:
        check_place(url)
    except StoreError as error:
        return error
    return StoreNotFound(f"There is no store at {url}. Run `headscape ingest --store={url}`.")


def check_place(url: str) -> None:
    """Raise StoreError where the place holds something else than a store, or where a folder above it is a file."""
    path = local_path(url)
    if path is None:
        return
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not there.is_dir() or (there == path and not _empty_or_repository(path)):
        raise StoreError(f"{there} exists and is not a store. Choose another place with --store=...")


def _is_new(repository: Repository) -> bool:
    """Whether nothing has been committed yet; False for a store that lost its branch `ingest` later."""
    first = repository.lookup_snapshot(repository.lookup_branch(MAIN)).parent_id is None
    return first and INGEST not in repository.list_branches()


def _check_branch(url: str, branch: str) -> None:
    """Raise StoreCorrupt where the branch of a local store is lost or damaged; icechunk would report no repository."""
    path = local_path(url)
    if path is not None and holds_snapshots(path) and (problem := branch_problem(path, branch)):
        raise StoreCorrupt(f"The store at {url} is damaged: {problem} {mend_advice(url)}")


def mend_advice(url: str) -> str:
    """Advice where a branch of the store is lost or damaged."""
    return f"Run `headscape mend --store={url}` to return to the newest publication that can be read."


def _unopened(url: str, error: IcechunkError) -> StoreUnreachable:
    if local_path(url) is None and (sentences := remedy(error)):
        return StoreUnreachable(f"The store at {url} cannot be opened. {sentences}")
    problem = f"The store at {url} cannot be opened ({first_line(error)})."
    return StoreUnreachable(f"{problem} Check the address and your access to it.")


def _empty_or_repository(path: Path) -> bool:
    return (path / "refs").is_dir() or holds_snapshots(path) or not any(path.iterdir())


@contextmanager
def writing(url: str) -> Iterator[None]:
    """Hold the store's lock: only one process at a time writes a local store. Object storage needs no lock.

    At the end the lock file is removed, and so are new folders if no store was made in them.
    """
    path = local_path(url)
    if path is None:
        yield
        return
    new_folders = [folder for folder in path.resolve().parents if not folder.exists()]
    with _lock(path, url):
        try:
            yield
        finally:
            remove_lock(path)
            if not path.exists():
                _remove_empty(new_folders)


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, the innermost first, as far as they are empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _lock(path: Path, url: str) -> IO[str]:
    try:
        lock = take_lock(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror}). Choose another place with --store=..."
        ) from error
    if lock is None:
        raise StoreError(f"Another ingest is writing {url}. Run again when it has ended.")
    return lock


def read_with_retry(repository: Repository, url: str, read: Callable[[], Result]) -> Result:
    """Result of `read`, which is called again after an error. A second error then concerns the store, not its storage.

    Raises
    ------
    StoreCorrupt
        Where branch `main` is lost.
    StoreUnreachable
        Where the storage does not answer.
    """
    try:
        return read()
    except NoAnswer as error:
        raise _unopened(url, error) from error
    except IcechunkError:
        _check_branch(url, MAIN)
        try:
            repository.lookup_branch(MAIN)
        except IcechunkError as error:
            raise _unopened(url, error) from error
        return read()


def interruption(error: IcechunkError) -> str:
    """Message for a command whose storage failed while it read or wrote an open store."""
    if sentences := remedy(error):
        return f"The store cannot be read or written; what was committed before is kept. {sentences}"
    problem = f"The store cannot be read or written ({first_line(error)}); what was committed before is kept."
    return f"{problem} Check your access to it and run the same command again."


def first_line(error: BaseException) -> str:
    """First line of an icechunk error, without the frame around it and the trace below it."""
    lines = [line for line in (_FRAME.sub("", line).strip() for line in str(error).splitlines()) if line]
    return (lines[0] if lines else type(error).__name__)[:200]
