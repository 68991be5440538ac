"""How far the ingest is that writes a local store: a note beside its lock, for those who wait for what it will publish."""

import json
import os
import socket
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from store.repository.access import local_path
from store.repository.lock import is_locked

ENDING = ".progress"


@dataclass(frozen=True)
class IngestProgress:
    """What an ingest was doing when it noted this.

    Attributes
    ----------
    of
        What is ingested: model and data.
    stage
        What it is doing, such as `tensors`; empty before its first stage.
    done, total
        Of the stage, in a unit of its own; a `total` of 0 says that nobody knows.
    began, updated
        Seconds since 1970: when the stage began here, when this was noted.
    first
        `done` when it began: an ingest goes on where an earlier one ended.
    pid, host
        The process that writes the store.
    """

    of: str
    stage: str = ""
    done: float = 0
    total: float = 0
    first: float = 0
    began: float = 0
    updated: float = 0
    pid: int = 0
    host: str = ""

    @property
    def share(self) -> float | None:
        """Of the stage, 0 to 1; None where nobody knows."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def left(self) -> float | None:
        """Seconds that the stage will take from now, at its rate so far; None where nobody knows."""
        rate = (self.done - self.first) / max(self.updated - self.began, 1e-9)
        if rate <= 0 or not self.total:
            return None
        return max(0.0, (self.total - self.done) / rate - (time.time() - self.updated))


def note_progress(url: str, progress: IngestProgress) -> None:
    """Write it, whole or not at all. Whoever writes the store does; for object storage nothing is noted."""
    place = _place(url)
    if place is None:
        return
    noted = asdict(progress) | {"updated": time.time(), "pid": os.getpid(), "host": socket.gethostname()}
    part = place.with_name(f"{place.name}.part")
    part.write_text(json.dumps(noted), "utf-8")
    part.replace(place)


def forget_progress(url: str) -> None:
    """The ingest has ended."""
    place = _place(url)
    if place is not None:
        place.unlink(missing_ok=True)


def ingest_progress(url: str) -> IngestProgress | None:
    """What the running ingest last noted; None where none runs, or where the store is not on a disk."""
    place = _place(url)
    if place is None:
        return None
    try:
        noted = json.loads(place.read_text("utf-8"))
    except FileNotFoundError:
        return None
    # Where its process was killed nobody holds the lock.
    if not is_locked(Path(str(place).removesuffix(ENDING))):
        return None
    return IngestProgress(**{one.name: noted[one.name] for one in fields(IngestProgress) if one.name in noted})


def _place(url: str) -> Path | None:
    folder = local_path(url)
    return None if folder is None else Path(f"{folder.resolve()}{ENDING}")
