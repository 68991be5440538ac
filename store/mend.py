"""Repair a local store: set a lost, damaged or outdated branch to the newest readable snapshot, and remake damaged lists."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from icechunk import IcechunkError, Repository, SnapshotInfo

from store.phrases import utc
from store.repository.access import (
    INGEST,
    MAIN,
    branch_problem,
    holds_snapshots,
    local_path,
    named_snapshot,
    no_store,
    point_branch,
    storage,
    writing,
)
from store.repository.checksums import FOLDERS, Checksums, forget, manifests_of, relist
from store.repository.errors import StoreCorrupt, StoreError
from store.repository.files import is_locked
from store.repository.history import PUBLISHED

#: Folder of a store for damaged files that the mended store does not need; nothing reads them.
ASIDE = "damaged"

#: Readable snapshots by id, the newest first.
Readable = Mapping[str, SnapshotInfo]


def mend(url: str) -> list[str]:
    """Repair `main`, `ingest` and the lists of checksums where they are damaged; returns a sentence for each repair. Deletes nothing.

    `main` is set to the newest published snapshot that can be read, `ingest` to the newest commit that follows it.
    Publications form one line of history: the newest is the snapshot that `main` named, or a complete one that an ingest
    was about to publish.

    Raises
    ------
    StoreError
        Where the store is not a local folder, or no published snapshot can be read.
    """
    store = local_path(url)
    if store is None:
        raise StoreError(f"{url} is not a local folder. Restore its refs/ from the versions of the object storage.")
    if not holds_snapshots(store):
        raise no_store(url)
    with writing(url), _without_branches(store) as repository:
        lists = list(_mend_lists(store))
        readable = _readable(repository, store)
        branches = [*_mend_main(store, readable, url), *_mend_ingest(store, readable)]
        return [*lists, *branches, *_forget_lost(repository, store, readable)]


def older_branches(store: Path) -> Iterator[str]:
    """A finding for each branch that names too old a snapshot; none while an ingest writes the store."""
    if is_locked(store) or branch_problem(store, MAIN):
        return
    with _without_branches(store) as repository:
        readable = _readable(repository, store)
        for branch in (MAIN, INGEST):
            if branch_problem(store, branch) is None and (problem := _overtaken(store, branch, readable)):
                yield problem


def _overtaken(store: Path, branch: str, readable: Readable) -> str | None:
    """A finding on a branch that names too old a snapshot: its file was restored, or an ingest was killed at publication; else None."""
    named, main = named_snapshot(store, branch), named_snapshot(store, MAIN)
    place = f"refs/branch.{branch}/ref.json names snapshot {named}"
    if branch == MAIN:
        newest = _newest_published(readable)
        later = newest is not None and newest.id != named and _follows(readable, newest, named)
        return f"{place}, but snapshot {newest.id} was published after it." if newest and later else None
    behind = named in readable and main in readable and not _follows(readable, readable[named], main)
    return f"{place}, which does not follow what is published, snapshot {main}." if behind else None


def _newest_published(readable: Readable) -> SnapshotInfo | None:
    return next((info for info in readable.values() if PUBLISHED in info.metadata), None)


def _mend_lists(store: Path) -> Iterator[str]:
    if damage := Checksums(store).damage:
        relist(store)
        yield f"{damage} Every file of the store is listed anew."


def _forget_lost(repository: Repository, store: Path, readable: Readable) -> Iterator[str]:
    """Remove files from the lists that only lost snapshots needed: else `verify` would report them for ever."""
    needed = {
        f"manifests/{part}" for id_ in readable for parts in manifests_of(repository, id_).values() for part in parts
    }
    wrong = (path for path in Checksums(store).wrong_paths() if not path.startswith("chunks/"))
    if lost := {path for path in wrong if path.partition("/")[2] not in readable and path not in needed}:
        put = [_put_aside(store, path) for path in sorted(lost) if (store / path).is_file()]
        forget(store, lost)
        moved = f" Moved to the folder {ASIDE}/ of the store: {', '.join(put)}." if put else ""
        yield f"No longer listed, as no snapshot that can be read needs them: {', '.join(sorted(lost))}.{moved}"


def _put_aside(store: Path, path: str) -> str:
    """Move a damaged file where icechunk does not find it, as icechunk might read it as sound. Returns the new name."""
    (store / ASIDE).mkdir(exist_ok=True)
    name = path.replace("/", "-")
    (store / path).rename(store / ASIDE / name)
    return name


def _mend_main(store: Path, readable: Readable, url: str) -> Iterator[str]:
    published = _newest_published(readable)
    if published is None:
        raise StoreCorrupt(
            f"No published snapshot of {url} can be read. Ingest again into another place with --store=..."
        )
    if problem := _problem(store, MAIN, readable):
        point_branch(store, MAIN, published.id)
        when = utc(datetime.fromisoformat(str(published.metadata[PUBLISHED])))
        yield f"{problem} Branch {MAIN} now names snapshot {published.id}, published {when}."


def _mend_ingest(store: Path, readable: Readable) -> Iterator[str]:
    if problem := _problem(store, INGEST, readable):
        main = named_snapshot(store, MAIN)
        newest = next(info for info in readable.values() if _follows(readable, info, main))
        point_branch(store, INGEST, newest.id)
        yield f"{problem} Branch {INGEST} now names snapshot {newest.id}; `headscape ingest` continues there."


def _problem(store: Path, branch: str, readable: Readable) -> str | None:
    problem = branch_problem(store, branch)
    if problem is None and named_snapshot(store, branch) not in readable:
        return f"snapshots/{named_snapshot(store, branch)}, which branch {branch} names, cannot be read."
    return problem or _overtaken(store, branch, readable)


@contextmanager
def _without_branches(store: Path) -> Iterator[Repository]:
    """A repository with the same snapshots and a valid `main`: icechunk cannot open one without this branch."""
    with TemporaryDirectory() as folder:
        for name in FOLDERS:
            (Path(folder) / name).symlink_to((store / name).resolve())
        point_branch(Path(folder), MAIN, next(iter((store / "snapshots").iterdir())).name)
        yield Repository.open(storage(folder))


def _readable(repository: Repository, store: Path) -> Readable:
    checksums, readable = Checksums(store), []
    for file in (store / "snapshots").iterdir():
        with suppress(IcechunkError, ValueError, StoreCorrupt):
            checksums.check(f"snapshots/{file.name}")
            info = next(iter(repository.ancestry(snapshot_id=file.name)))
            if info.id == file.name:  # else the file is damaged, or another snapshot's
                readable.append(info)
    return {info.id: info for info in sorted(readable, key=lambda info: info.written_at, reverse=True)}


def _follows(readable: Readable, info: SnapshotInfo, main: str) -> bool:
    """Whether a snapshot is `main` or descends from it through readable snapshots."""
    while info.id != main:
        if info.parent_id is None or info.parent_id not in readable:
            return False
        info = readable[info.parent_id]
    return True
