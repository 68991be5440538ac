"""State of an ingest, in small files beside the lock of a local store: progress, for pages that wait for results, and its end.

The end notes whether the last ingest failed, when, and why. A server shows it, as nobody reads the log of a timer that
refreshes a store at night.
"""

import json
import os
import socket
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from store.repository.access import local_path
from store.repository.files import is_locked, replace_file

PROGRESS = ".progress"
OUTCOME = ".outcome"
KILLED = "The process was killed; what was committed is kept. Run the same command again to go on."


@dataclass(frozen=True)
class IngestProgress:
    """Progress of an ingest at one moment.

    Attributes
    ----------
    of
        Model and data that are ingested.
    stage
        Current stage, such as `tensors`; empty before the first.
    done, total
        Progress of the stage, in its own unit; `total` is 0 where it is unknown.
    began, updated
        Start of the stage in this process and time of this note, in seconds since 1970.
    first
        `done` at the start of the stage: an ingest continues where an earlier one stopped.
    pid, host
        Process that writes the store.
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
        """Finished share of the stage, 0 to 1; None where it is unknown."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def left(self) -> float | None:
        """Remaining seconds of the stage at its rate so far; None where they are unknown."""
        rate = (self.done - self.first) / max(self.updated - self.began, 1e-9)
        if rate <= 0 or not self.total:
            return None
        return max(0.0, (self.total - self.done) / rate - (time.time() - self.updated))


def note_progress(url: str, progress: IngestProgress) -> None:
    """Write the progress in one step. Only the process that writes the store calls this; no effect on object storage."""
    place = _file(url, PROGRESS)
    if place is None:
        return
    content = asdict(progress) | {"updated": time.time(), "pid": os.getpid(), "host": socket.gethostname()}
    replace_file(place, json.dumps(content).encode(), durable=False)


def forget_progress(url: str) -> None:
    """Delete the progress when the ingest has ended."""
    place = _file(url, PROGRESS)
    if place is not None:
        place.unlink(missing_ok=True)


def ingest_progress(url: str) -> IngestProgress | None:
    """Latest progress of the running ingest; None where no ingest runs, and for object storage."""
    place = _file(url, PROGRESS)
    if place is None:
        return None
    content = _content(place)
    # A killed process leaves the file behind, but not its lock.
    if content is None or not is_locked(_folder(place, PROGRESS)):
        return None
    return IngestProgress(
        **{field.name: content[field.name] for field in fields(IngestProgress) if field.name in content}
    )


def _content(place: Path) -> dict[str, Any] | None:
    """Content of a file; None where the file is missing, or empty or cut because the machine went down."""
    try:
        content = json.loads(place.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _file(url: str, ending: str) -> Path | None:
    folder = local_path(url)
    return None if folder is None else Path(f"{folder.resolve()}{ending}")


def _folder(place: Path, ending: str) -> Path:
    return Path(str(place).removesuffix(ending))


@dataclass(frozen=True)
class IngestOutcome:
    """The end of an ingest.

    Attributes
    ----------
    ended
        Time of the end, in seconds since 1970.
    failure
        The problem, then the remedy; empty for a success. The text may name folders of the machine.
    """

    ended: float
    failure: str = ""


def note_outcome(url: str, failure: str = "") -> None:
    """Write the end of an ingest in one step. No effect on object storage, without a store, and while another ingest writes it."""
    place = _file(url, OUTCOME)
    if place is None or not (_folder(place, OUTCOME) / "snapshots").is_dir() or is_locked(_folder(place, OUTCOME)):
        return
    replace_file(place, json.dumps(asdict(IngestOutcome(time.time(), failure))).encode())


def ingest_outcome(url: str) -> IngestOutcome | None:
    """The end of the last ingest; None where none was noted, and for object storage."""
    return max(filter(None, (_killed(url), _noted(url))), key=lambda outcome: outcome.ended, default=None)


def _noted(url: str) -> IngestOutcome | None:
    place = _file(url, OUTCOME)
    content = _content(place) if place else None
    return IngestOutcome(**{name.name: content[name.name] for name in fields(IngestOutcome)}) if content else None


def _killed(url: str) -> IngestOutcome | None:
    """The end of a killed ingest, which leaves its progress behind, but not its lock; else None."""
    place = _file(url, PROGRESS)
    if place is None or not place.exists() or is_locked(_folder(place, PROGRESS)):
        return None
    try:
        return IngestOutcome(place.stat().st_mtime, KILLED)
    except FileNotFoundError:  # the ingest ended just now
        return None
