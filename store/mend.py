"""Repair a local store: a lost, damaged or outdated branch is set to the newest snapshot that can be read, damaged lists are made anew."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from icechunk import IcechunkError, Repository, SnapshotInfo

from store.repository.access import local_path, no_store, storage, writing
from store.repository.branches import INGEST, MAIN, branch_problem, holds_snapshots, named_snapshot, point_branch
from store.repository.checksums import FOLDERS, Checksums, forget, manifests_of, relist
from store.repository.errors import StoreCorrupt, StoreError
from store.repository.history import PUBLISHED
from store.repository.lock import is_locked
from store.wording import utc


def mend(url: str) -> list[str]:
    """Repair `main`, `ingest` and the lists of checksums where they are damaged; returns a sentence for each repair. Deletes nothing.

    `main` is set to the newest published snapshot that can be read, `ingest` to the newest commit that follows it.
    Publications form one line of history: the newest is the one that `main` named, or a complete one that it was about
    to name.

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
        branches = [*_mend_main(repository, store, readable, url), *_mend_ingest(repository, store, readable)]
        return [*lists, *branches, *_forget_lost(repository, store, readable)]


def older_branches(store: Path) -> Iterator[str]:
    """A sentence for each branch that names an older snapshot than it should; none while an ingest writes the store."""
    if is_locked(store) or branch_problem(store, MAIN):
        return
    with _without_branches(store) as repository:
        readable = _readable(repository, store)
        for branch in (MAIN, INGEST):
            if branch_problem(store, branch) is None and (problem := _overtaken(repository, store, branch, readable)):
                yield problem


def _overtaken(repository: Repository, store: Path, branch: str, readable: list[SnapshotInfo]) -> str | None:
    """What is wrong with a branch that names an older snapshot: its file was put back, or an ingest was killed as it published."""
    named, main = named_snapshot(store, branch), named_snapshot(store, MAIN)
    place = f"refs/branch.{branch}/ref.json names snapshot {named}"
    if branch == MAIN:
        newest = next((info for info in readable if PUBLISHED in info.metadata), None)
        later = newest is not None and newest.id != named and _follows(repository, newest, named)
        return f"{place}, but snapshot {newest.id} was published after it." if newest and later else None
    infos = {info.id: info for info in readable}
    behind = named in infos and main in infos and not _follows(repository, infos[named], main)
    return f"{place}, which does not follow what is published, snapshot {main}." if behind else None


def _mend_lists(store: Path) -> Iterator[str]:
    if damage := Checksums(store).damage:
        relist(store)
        yield f"{damage} Every file of the store is listed anew."


def _forget_lost(repository: Repository, store: Path, readable: list[SnapshotInfo]) -> Iterator[str]:
    """No longer list what only snapshots needed that are lost: `verify` would find it for ever."""
    ids = {info.id for info in readable}
    needed = {f"manifests/{part}" for id_ in ids for parts in manifests_of(repository, id_).values() for part in parts}
    wrong = (path for path in Checksums(store).wrong_paths() if not path.startswith("chunks/"))
    if lost := {path for path in wrong if path.partition("/")[2] not in ids and path not in needed}:
        forget(store, lost)
        for path in filter(
            lambda path: (store / path).is_file(), lost
        ):  # icechunk may read it yet, as if it were sound
            (store / "damaged").mkdir(exist_ok=True)
            (store / path).rename(store / "damaged" / path.replace("/", "-"))
        yield f"No longer listed, as no snapshot that can be read needs them: {', '.join(sorted(lost))}."


def _mend_main(repository: Repository, store: Path, readable: list[SnapshotInfo], url: str) -> Iterator[str]:
    published = next((info for info in readable if PUBLISHED in info.metadata), None)
    if published is None:
        raise StoreCorrupt(
            f"No published snapshot of {url} can be read. Ingest again into another place with --store=..."
        )
    if problem := _problem(repository, store, MAIN, readable):
        point_branch(store, MAIN, published.id)
        when = utc(datetime.fromisoformat(str(published.metadata[PUBLISHED])))
        yield f"{problem} Branch {MAIN} now names snapshot {published.id}, published {when}."


def _mend_ingest(repository: Repository, store: Path, readable: list[SnapshotInfo]) -> Iterator[str]:
    if problem := _problem(repository, store, INGEST, readable):
        main = named_snapshot(store, MAIN)
        newest = next(info for info in readable if _follows(repository, info, main))
        point_branch(store, INGEST, newest.id)
        yield f"{problem} Branch {INGEST} now names snapshot {newest.id}; `headscape ingest` continues there."


def _problem(repository: Repository, store: Path, branch: str, readable: list[SnapshotInfo]) -> str | None:
    problem = branch_problem(store, branch)
    if problem is None and named_snapshot(store, branch) not in {info.id for info in readable}:
        return f"snapshots/{named_snapshot(store, branch)}, which branch {branch} names, cannot be read."
    return problem or _overtaken(repository, store, branch, readable)


@contextmanager
def _without_branches(store: Path) -> Iterator[Repository]:
    """A repository with the same snapshots and a valid `main`: icechunk opens none that has lost this branch."""
    with TemporaryDirectory() as folder:
        for name in FOLDERS:
            (Path(folder) / name).symlink_to((store / name).resolve())
        point_branch(Path(folder), MAIN, next(iter((store / "snapshots").iterdir())).name)
        yield Repository.open(storage(folder))


def _readable(repository: Repository, store: Path) -> list[SnapshotInfo]:
    """Snapshots whose files can be read and match their checksums, newest first."""
    checksums, readable = Checksums(store), []
    for file in (store / "snapshots").iterdir():
        with suppress(IcechunkError, ValueError, StoreCorrupt):
            checksums.check(f"snapshots/{file.name}")
            readable.append(next(iter(repository.ancestry(snapshot_id=file.name))))
    return sorted(readable, key=lambda info: info.written_at, reverse=True)


def _follows(repository: Repository, info: SnapshotInfo, main: str) -> bool:
    """Whether a snapshot is `main` or follows it."""
    try:
        return any(ancestor.id == main for ancestor in repository.ancestry(snapshot_id=info.id))
    except IcechunkError:
        return False
