"""Published snapshots of a store: the current one, earlier ones, and deletion of old ones."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from icechunk import IcechunkError, Repository

from store.repository.access import MAIN, first_line, local_path, mend_advice, open_repository, read_with_retry, writing
from store.repository.checksums import Checksums, file_stamps, forget, record_checksums, rewrite_checksums
from store.repository.errors import SnapshotNotFound, StoreCorrupt, StoreIncomplete

#: Metadata key of a published commit: time of publication, as ISO 8601.
PUBLISHED = "published"
#: Number of characters of an id that pages show.
SHORT_ID = 8


@dataclass(frozen=True)
class Publication:
    """A snapshot that readers have seen."""

    snapshot: str
    published: datetime
    message: str


def published_snapshot(repository: Repository, url: str) -> str:
    """Id of the snapshot that readers see now.

    Raises
    ------
    StoreError
        Where nothing has been published, the snapshot is damaged, or its storage does not answer.
    """
    try:
        newest = read_with_retry(repository, url, lambda: next(iter(repository.ancestry(branch=MAIN))))
    except IcechunkError as error:
        raise StoreCorrupt(
            f"The current snapshot of {url} cannot be read ({first_line(error)}). {mend_advice(url)}"
        ) from error
    if newest.parent_id is None:
        raise StoreIncomplete(
            f"Nothing has been published in {url} yet. Run `headscape ingest --store={url}` to its end."
        )
    return newest.id


def publication_stamp(url: str) -> tuple[int, int] | None:
    """Stamp of a local store that changes with every publication, a hundred times faster than `published_snapshot`; else None."""
    path = local_path(url)
    try:
        written = None if path is None else (path / f"refs/branch.{MAIN}/ref.json").stat()
    except OSError:
        return None
    return written and (written.st_mtime_ns, written.st_ino)


def history(repository: Repository, url: str, *, snapshot: str | None = None) -> list[Publication]:
    """Published snapshots up to `snapshot` (default: the current one) that were not deleted, newest first."""
    checksums = Checksums(local_path(url))
    publications = []
    for info in repository.ancestry(snapshot_id=snapshot) if snapshot else repository.ancestry(branch=MAIN):
        checksums.check(f"snapshots/{info.id}")
        if PUBLISHED in info.metadata:
            when = datetime.fromisoformat(str(info.metadata[PUBLISHED]))
            publications.append(Publication(info.id, when, info.message))
    return publications


def snapshot_id(repository: Repository, url: str, name: str) -> str:
    """The id of a publication by its id, or by the first characters that pages show; the name itself where neither fits.

    Raises
    ------
    SnapshotNotFound
        Where the name is not a str.
    """
    if not isinstance(name, str):
        raise SnapshotNotFound(f"There is no snapshot {name!r}. List them with `headscape describe`.")
    if len(name) != SHORT_ID:
        return name
    ids = [publication.snapshot for publication in history(repository, url)]
    return next((each for each in ids if each.startswith(name)), name)


def check_snapshot(repository: Repository, url: str, snapshot: str) -> None:
    """Raise SnapshotNotFound unless the snapshot was published and not deleted since."""
    try:
        # This asks the storage; `lookup_snapshot` would still answer from memory after a deletion.
        info = read_with_retry(repository, url, lambda: next(iter(repository.ancestry(snapshot_id=snapshot))))
    except (IcechunkError, ValueError) as error:
        raise SnapshotNotFound(f"There is no snapshot {snapshot}. List them with `headscape describe`.") from error
    if PUBLISHED not in info.metadata:
        raise SnapshotNotFound(f"Snapshot {snapshot} was never published. List them with `headscape describe`.")


def bytes_on_disk(url: str) -> int | None:
    """Size of a local store with its whole history in bytes; None for object storage, where counting is slow."""
    path = local_path(url)
    if path is None:
        return None
    return sum(_size(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def _size(file: str) -> int:
    """Size of a file in bytes, 0 where it was deleted since it was listed."""
    try:
        return os.stat(file).st_size
    except FileNotFoundError:
        return 0


def expire(url: str, age: timedelta, now: datetime | None = None) -> tuple[int, int]:
    """Delete snapshots that were replaced more than `age` before `now`, None for the time of the call.

    A reader who opened the store within `age` reads the snapshot that was current then, or a newer one: the snapshot
    that was current `age` ago is the oldest one that stays.

    Returns
    -------
    Number of deleted snapshots, bytes freed.
    """
    repository, path = open_repository(url), local_path(url)
    with writing(url):
        limit = (now or datetime.now(UTC)) - age
        replaced = [publication for publication in history(repository, url) if publication.published <= limit]
        if not replaced:
            return 0, 0
        before = file_stamps(path) if path else {}
        oldest = repository.lookup_snapshot(replaced[0].snapshot).written_at
        rewritten = f"snapshots/{replaced[0].snapshot}"
        # `history` has checked this file; until it is listed anew it looks damaged, for good if this process ends here.
        if path:
            forget(path, {rewritten})
        expired = repository.expire_snapshots(oldest)
        if path:
            record_checksums(path, only={rewritten})
        freed = repository.garbage_collect(oldest)
        if path:
            rewrite_checksums(path, before)
        return len(expired), freed.bytes_deleted
