"""The end of the last ingest, in a small file beside a local store: whether it failed, when, and why.

A server shows it, as the log of a timer that refreshes a store at night is read by nobody.
"""

import json
import os
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from store.repository.access import local_path
from store.repository.lock import is_locked
from store.repository.progress import ENDING as PROGRESS

ENDING = ".outcome"
KILLED = "The process was killed; what was committed is kept. Run the same command again to go on."


@dataclass(frozen=True)
class IngestOutcome:
    """The end of an ingest.

    Attributes
    ----------
    ended
        Time of the end, in seconds since 1970.
    failure
        What was wrong, then what to do; empty where nothing was. It may name folders of the machine.
    """

    ended: float
    failure: str = ""


def note_outcome(url: str, failure: str = "") -> None:
    """Write the end of an ingest in one step. No effect on object storage, without a store, and while another ingest writes it."""
    place = _file(url, ENDING)
    if place is None or not (_folder(place, ENDING) / "snapshots").is_dir() or is_locked(_folder(place, ENDING)):
        return
    new = place.with_name(f"{place.name}.{os.getpid()}")
    new.write_text(json.dumps(asdict(IngestOutcome(time.time(), failure))), "utf-8")
    new.replace(place)


def ingest_outcome(url: str) -> IngestOutcome | None:
    """The end of the last ingest; None where none was noted, and for object storage."""
    return max(filter(None, (_killed(url), _noted(url))), key=lambda outcome: outcome.ended, default=None)


def _noted(url: str) -> IngestOutcome | None:
    place = _file(url, ENDING)
    try:
        content = json.loads(place.read_text("utf-8")) if place else None
    except FileNotFoundError:
        return None
    return content and IngestOutcome(**{name.name: content[name.name] for name in fields(IngestOutcome)})


def _killed(url: str) -> IngestOutcome | None:
    """A killed ingest leaves its progress behind, but not its lock."""
    place = _file(url, PROGRESS)
    if place is None or not place.exists() or is_locked(_folder(place, PROGRESS)):
        return None
    try:
        return IngestOutcome(place.stat().st_mtime, KILLED)
    except FileNotFoundError:  # it ended just now
        return None


def _file(url: str, ending: str) -> Path | None:
    folder = local_path(url)
    return None if folder is None else Path(f"{folder.resolve()}{ending}")


def _folder(place: Path, ending: str) -> Path:
    return Path(str(place).removesuffix(ending))
