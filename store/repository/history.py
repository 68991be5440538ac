"""What has been published in a store: the snapshot that readers see, those before it, and how old ones expire."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from icechunk import IcechunkError, Repository

from store.errors import SnapshotNotFound, StoreCorrupt, StoreIncomplete
from store.repository.access import MAIN, first_line, local_path, mend_advice, open_repository, read, writing
from store.repository.checksums import Checksums, file_stamps, rewrite_checksums

#: Metadata key of the commit that a publication ends with.
PUBLISHED = "published"


@dataclass(frozen=True)
class Publication:
    """One state of the store that readers have seen."""

    snapshot: str
    published: datetime
    message: str


def published_snapshot(repository: Repository, url: str) -> str:
    """The snapshot readers see now."""
    try:
        newest = read(repository, url, lambda: next(iter(repository.ancestry(branch=MAIN))))
    except IcechunkError as error:
        raise StoreCorrupt(
            f"What was published last in {url} cannot be read ({first_line(error)}). {mend_advice(url)}"
        ) from error
    if newest.parent_id is None:
        raise StoreIncomplete(f"Nothing has been published in {url} yet. Run `make ingest STORE={url}` to its end.")
    return newest.id


def history(repository: Repository, url: str, *, snapshot: str | None = None) -> list[Publication]:
    """Every publication up to `snapshot` (default: up to now) that has not expired, newest first."""
    checksums = Checksums(local_path(url))
    publications = []
    for info in repository.ancestry(snapshot_id=snapshot) if snapshot else repository.ancestry(branch=MAIN):
        checksums.check(f"snapshots/{info.id}")
        if PUBLISHED in info.metadata:
            when = datetime.fromisoformat(str(info.metadata[PUBLISHED]))
            publications.append(Publication(info.id, when, info.message))
    return publications


def check_snapshot(repository: Repository, url: str, snapshot: str) -> None:
    """Raise unless readers have seen this snapshot and it has not expired."""
    try:
        # Asks the storage, where `lookup_snapshot` remembers what has expired since.
        info = read(repository, url, lambda: next(iter(repository.ancestry(snapshot_id=snapshot))))
    except (IcechunkError, ValueError) as error:
        raise SnapshotNotFound(f"There is no snapshot {snapshot}. List them with `make describe`.") from error
    if PUBLISHED not in info.metadata:
        raise SnapshotNotFound(f"Snapshot {snapshot} was never published. List them with `make describe`.")


def bytes_on_disk(url: str) -> int | None:
    """Bytes of a local store with its whole history; None where counting would cost a request an object."""
    path = local_path(url)
    if path is None:
        return None
    return sum(_size(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def _size(file: str) -> int:
    """0 where an ingest or an expiry has taken the file away since it was listed."""
    try:
        return os.stat(file).st_size
    except FileNotFoundError:
        return 0


def expire(url: str, age: timedelta) -> tuple[int, int]:
    """Forget publications that were superseded more than `age` ago; returns (snapshots, bytes) freed.

    A reader younger than `age` opened what was current then or later, so the publication that was current `age` ago
    is the oldest one kept.
    """
    with writing(url):
        repository, path = open_repository(url), local_path(url)
        limit = datetime.now(UTC) - age
        superseded = [publication for publication in history(repository, url) if publication.published <= limit]
        if not superseded:
            return 0, 0
        before = file_stamps(path) if path else {}
        oldest_kept = repository.lookup_snapshot(superseded[0].snapshot).written_at
        expired = repository.expire_snapshots(oldest_kept)
        freed = repository.garbage_collect(oldest_kept)
        if path:
            rewrite_checksums(path, before)
        return len(expired), freed.bytes_deleted
