"""The logs of a server: of errors, where repeated lines are counted, so that nobody can fill it; and of requests, as JSON lines.

Query strings are left out of the log of requests: they hold typed texts, searches and codes of sign-ins.
"""

import copy
import json
import logging
import os
import re
import sys
import traceback
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from threading import Timer
from typing import TextIO

from flask import has_request_context, request

#: Seconds between two reports on repeated lines.
INTERVAL = 60.0
#: Most characters of a line, without a traceback.
LONGEST = 400
#: Key of the WSGI environment: the id of a request, in its answer, in the access log, and in lines on it.
REQUEST_ID = "headscape.request_id"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
log = logging.getLogger("headscape")
#: The file that stands for standard output.
STDOUT = "-"
#: Most characters of a path, and of a name, in a line.
LONGEST_PATH, LONGEST_NAME = 500, 100


def configure() -> None:
    """Let every logger of this process count repeated lines; only our own loggers write records below a warning."""
    logging.basicConfig(level=logging.WARNING, handlers=[CountingHandler()], force=True)
    log.setLevel(logging.INFO)


def _request() -> str:
    """The id of the request that this thread answers, if any."""
    name = request.environ.get(REQUEST_ID) if has_request_context() else None
    return f" [request {name}]" if name else ""


@dataclass
class Repeated:
    """A kind of record, and how often it came since the last report."""

    latest: logging.LogRecord
    times: int = 0


class Lines(logging.Formatter):
    """Formats a record as one line, with its traceback below: nothing that a client sends can end a line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """The line of a record, without control characters, and truncated."""
        line = super().formatMessage(record)
        return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], line)[:LONGEST] + _request()


class CountingHandler(logging.StreamHandler[TextIO]):
    """Writes the first record of a kind at once, and at intervals how often it was repeated.

    A kind is a place in our code that logs, and, for an error, the place that raised it; a record may narrow it by
    `extra={"kind": ...}`, with values that no client chooses.
    """

    def __init__(self, stream: TextIO | None = None, interval: float = INTERVAL) -> None:
        super().__init__(stream)
        self.setFormatter(Lines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._interval = interval
        self._repeated: dict[tuple[object, ...], Repeated] = {}
        self._timer: Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, or count it. The caller holds this handler's lock."""
        kind = _kind(record)
        if kind in self._repeated:
            self._repeated[kind] = Repeated(record, self._repeated[kind].times + 1)
            return
        self._repeated[kind] = Repeated(record)
        super().emit(record)
        self._report_later()

    def report(self) -> None:
        """Write how often each kind was repeated; forget kinds that were not."""
        self.acquire()
        try:
            self._timer = None
            self._write_counts()
        finally:
            self.release()

    def _write_counts(self) -> None:
        self._repeated = {kind: repeated for kind, repeated in self._repeated.items() if repeated.times}
        for kind, repeated in self._repeated.items():
            super().emit(self._summary(repeated))
            self._repeated[kind] = Repeated(repeated.latest)
        if self._repeated:
            self._report_later()

    def _report_later(self) -> None:
        if self._timer is None:
            self._timer = Timer(self._interval, self.report)
            self._timer.daemon = True
            self._timer.start()

    def _summary(self, repeated: Repeated) -> logging.LogRecord:
        summary = copy.copy(repeated.latest)
        summary.msg = f"{repeated.times:,} more in {self._interval:.0f} s, the last: {repeated.latest.getMessage()}"
        summary.args, summary.exc_info, summary.exc_text = (), None, None
        return summary


def _kind(record: logging.LogRecord) -> tuple[object, ...]:
    error = record.exc_info[1] if record.exc_info else None
    raised = traceback.extract_tb(error.__traceback__)[-1:] if error else []
    places = tuple((frame.filename, frame.lineno) for frame in raised)
    return record.pathname, record.lineno, getattr(record, "kind", None), type(error), places


@dataclass(frozen=True)
class Entry:
    """A request that has been answered.

    Attributes
    ----------
    id
        The request's id, which the answer has as `X-Request-ID`.
    user
        Name of the sender; `local` where nobody signs in.
    peer
        Address of the client.
    route
        Name of the route in the code, as in the metrics.
    bytes
        Length of the answer's body.
    """

    id: str
    user: str
    peer: str
    method: str
    route: str
    path: str
    status: int
    milliseconds: float
    bytes: int

    def line(self, now: datetime) -> str:
        """The entry as JSON on one line, in ASCII: no byte that a client sends ends a line or colours a terminal."""
        cut = {"user": self.user[:LONGEST_NAME], "method": self.method[:20], "path": self.path[:LONGEST_PATH]}
        return json.dumps({"time": now.isoformat(timespec="milliseconds")} | asdict(self) | cut)


class AccessLog:
    """Appends entries to a file, in one write each, so that all processes of a server share it.

    Each entry opens the file: after logrotate has moved it away, a new one is made, without a signal.
    """

    def __init__(self, file: str) -> None:
        self._file = file

    def write(self, entry: Entry) -> None:
        """Append an entry. Where the disk is full the entry is lost, and the request is answered all the same."""
        line = entry.line(datetime.now(UTC)) + "\n"
        try:
            self._append(line)
        except OSError as error:
            log.warning("could not write the access log: %s", error.strerror)

    def _append(self, line: str) -> None:
        if self._file == STDOUT:
            sys.stdout.write(line)
            sys.stdout.flush()
        else:
            with open(self._file, "ab", buffering=0, opener=private) as file:
                file.write(line.encode())


def private(file: str, flags: int) -> int:
    """Open a file; a new file is for this user and its group alone, because it names people."""
    return os.open(file, flags, 0o640)


def check_file(file: str) -> None:
    """Raise ValueError, with what to do next, where nothing can be appended to the file."""
    if file in ("", STDOUT):
        return
    try:
        open(file, "a", opener=private).close()
    except OSError as error:
        raise ValueError(
            f"--access-log={file} cannot be written ({error.strerror}). Give another file, or - for standard output."
        ) from error
