"""The server's log: repeated lines are counted, so that nobody can fill the log."""

import copy
import logging
import re
import traceback
from dataclasses import dataclass
from threading import Timer
from typing import TextIO

from flask import has_request_context, request

#: Seconds between two reports on repeated lines.
INTERVAL = 60.0
#: Characters of a line, without a traceback.
LONGEST = 400
#: Key of the WSGI environment: the id of a request, in its answer, in the access log, and in lines on it.
REQUEST_ID = "headscape.request_id"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def configure() -> None:
    """Let every logger of this process count repeated lines."""
    logging.basicConfig(level=logging.WARNING, handlers=[CountingHandler()], force=True)


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
    """One line per record, and its traceback below: nothing that a client sends can end a line."""

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
