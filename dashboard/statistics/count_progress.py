"""How far a count is, for the page that waits for it: in small files, as any process of the server may be asked."""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from dashboard.statistics.counts import Counting, write_whole
from dashboard.web.admission import asker_gone
from dashboard.web.errors import Refusal
from dashboard.web.library import Library

CANCELLED = "Counting was cancelled. Count again, or change the filter."
#: Seconds between two notes of how far a count is.
PAUSE = 0.1
_NAME = re.compile(r"[0-9a-f]{16}")


class Cancelled(Refusal):
    """The reader pressed Cancel."""

    def __init__(self) -> None:
        super().__init__(CANCELLED, 409)


@dataclass(frozen=True)
class Progress:
    """How far a count is: the share that is done, 0 to 1, and the seconds since it began."""

    share: float
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds that it will take, at this rate; None where too little is done to say."""
        return self.seconds * (1 - self.share) / self.share if self.share > 0.05 else None


class CountProgress:
    """Notes on the counts that pages wait for, in a folder that all processes of the server share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of(cls, library: Library) -> "CountProgress":
        """Those of a library, in the folder of its server."""
        return cls(library.folder)

    def counting(self, name: str) -> "WatchedCounting":
        """The wait of a page; `name` is from `new_name`."""
        return WatchedCounting(self._folder, _checked(name))

    def find(self, name: str) -> Progress | None:
        """None where the count has not begun, or has ended."""
        try:
            noted = json.loads((self._folder / f"{_checked(name)}.progress").read_bytes())
        except FileNotFoundError:
            return None
        return Progress(noted["share"], max(0.0, time.time() - noted["began"]))

    def cancel(self, name: str) -> None:
        """End a count that waits or works; one that has ended stays as it is."""
        if (self._folder / f"{_checked(name)}.waits").exists():
            write_whole(self._folder / f"{name}.cancel", b"")


class WatchedCounting(Counting):
    """Notes how far the count is, and ends it where its reader cancelled it or left. A context manager: afterwards no note stays."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._began = self._noted = 0.0

    def __enter__(self) -> "WatchedCounting":
        write_whole(self._file("waits"), b"")
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        cancelled = self._file("cancel").exists()
        for kind in ("waits", "progress", "cancel"):
            self._file(kind).unlink(missing_ok=True)
        if cancelled and isinstance(error, Refusal):  # it may have waited for its turn
            raise Cancelled from error

    def begin(self) -> None:
        """Note when."""
        self._began = time.time()
        self._note(0.0)

    def watch(self, share: float) -> None:
        """Note the share, ten times a second at most."""
        if self.gone:
            raise Cancelled
        if time.time() - self._noted >= PAUSE:
            self._note(share)

    @property
    def gone(self) -> bool:
        """Whether the reader cancelled the count or left."""
        return self._file("cancel").exists() or asker_gone()

    def _note(self, share: float) -> None:
        self._noted = time.time()
        write_whole(self._file("progress"), json.dumps({"share": share, "began": self._began}).encode())

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._name}.{kind}"


def new_name() -> str:
    """A name for a count that nobody guesses."""
    return token_hex(8)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Refusal("There is no such count. Reload the page.", 404)
    return name
