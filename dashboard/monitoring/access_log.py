"""The access log: one JSON object a line for each request.

Query strings are left out: they hold typed texts, searches and codes of sign-ins.
"""

import json
import logging
import os
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

log = logging.getLogger("headscape")
#: The file that stands for standard output.
STDOUT = "-"
#: Characters of a path, and of a name, that a line holds.
LONGEST_PATH, LONGEST_NAME = 500, 100


@dataclass(frozen=True)
class Entry:
    """A request that has been answered.

    Attributes
    ----------
    id
        The request's id, which the answer has as `X-Request-ID`.
    user
        Who sent it; `local` where nobody signs in.
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

    The file is opened for each: one that was moved away is made anew, as logrotate needs it, without a signal.
    """

    def __init__(self, file: str) -> None:
        self._file = file

    def write(self, entry: Entry) -> None:
        """Append an entry. Where the disk is full it is lost, and the request is answered all the same."""
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
    """Open a file; one that is made is for this user and its group alone: it names people."""
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
