"""Outcomes of readers' requests during SIGHUP, which replaces the workers of a server: `python -m tests.bench reloads`."""

import http.client
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from urllib.parse import urlsplit

import psutil

from tests.bench.browser import server_process
from tests.bench.table import show

#: Readers with a new connection for each request, and readers who keep theirs; seconds of rest of the latter between requests.
NEW, KEPT, REST = 4, 8, (0.0, 0.05, 0.5, 2.0)
RELOADS = 3
#: Seconds that a request, and the replacement of all workers, may take.
PATIENCE, WHOLE = 60, 120


@dataclass
class Reader:
    """A reader who requests one page again and again; outcomes are statuses, or names of errors."""

    netloc: str
    keeps: bool
    rest: float
    outcomes: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0

    def read(self, end: Event) -> None:
        """Send requests until the end."""
        connection = self._connect()
        while not end.is_set():
            began = time.perf_counter()
            closes = self._ask(connection)
            self.longest = max(self.longest, time.perf_counter() - began)
            if closes or not self.keeps:
                connection.close()
                connection = self._connect()
            end.wait(self.rest)
        connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.netloc, timeout=PATIENCE)

    def _ask(self, connection: http.client.HTTPConnection) -> bool:
        """Send one request; whether the connection ends with its answer."""
        try:
            connection.request("GET", "/_dash-layout")
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as error:
            self.outcomes[type(error).__name__] += 1
            return True
        self.outcomes[str(response.status)] += 1
        return response.getheader("Connection", "").lower() == "close"


def reload_while_reading(server: subprocess.Popen[bytes], address: str, reloads: int) -> list[Reader]:
    """Replace all workers several times while readers send requests; returns the readers."""
    netloc, end = urlsplit(address).netloc, Event()
    readers = [Reader(netloc, keeps=False, rest=0.01) for _ in range(NEW)]
    readers += [Reader(netloc, keeps=True, rest=REST[number % len(REST)]) for number in range(KEPT)]
    with ThreadPoolExecutor(len(readers)) as pool:
        for reader in readers:
            pool.submit(reader.read, end)
        try:
            for _ in range(reloads):
                reload(server)
        finally:
            end.set()
    return readers


def reload(server: subprocess.Popen[bytes]) -> None:
    """Replace all workers, and wait until the old ones have ended."""
    old = workers(server)
    server.send_signal(signal.SIGHUP)
    wait_until(lambda: not old & workers(server) and len(workers(server)) >= len(old))


def workers(server: subprocess.Popen[bytes]) -> set[int]:
    """Process ids of the workers."""
    return {child.pid for child in psutil.Process(server.pid).children()}


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until the condition is true; it must be within two minutes."""
    end = time.monotonic() + WHOLE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("The workers were not replaced.")
        time.sleep(0.1)


def reloads(store: str) -> None:
    """Print the outcomes of each kind of reader."""
    with server_process(store) as (server, address):
        readers = reload_while_reading(server, address, RELOADS)
    rows = []
    for keeps, rest in dict.fromkeys((reader.keeps, reader.rest) for reader in readers):
        alike = [reader for reader in readers if (reader.keeps, reader.rest) == (keeps, rest)]
        outcomes = sum((reader.outcomes for reader in alike), Counter[str]())
        errors = sum(count for outcome, count in outcomes.items() if outcome != "200")
        longest = f"{1000 * max(reader.longest for reader in alike):,.0f} ms"
        connection = "kept" if keeps else "new"
        rows.append((connection, f"{rest} s", len(alike), f"{outcomes.total():,}", errors, longest))
    columns = ("connection", "rest", "readers", "requests", "refused or failed", "longest")
    show(f"{RELOADS} reloads while {NEW + KEPT} readers ask", columns, rows)
