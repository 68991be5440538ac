"""What many readers at once wait for on a production server, and the memory that its processes come to: `python -m tests.bench load`."""

import http.client
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles
from threading import Lock
from urllib.parse import urlsplit

import psutil

from store import open_snapshot
from tests.bench.browser import server_process
from tests.bench.load_requests import Mix, Request
from tests.bench.table import show

#: Readers at once, the seconds for which they ask, and the most that one of them waits between two requests.
USERS, SECONDS, REST = 50, 60, 0.6
#: Requests after which memory is looked at, and readers who send these without a rest.
REQUESTS, EVERY, CROWD = 10_000, 1_000, 8
#: Seconds after which a reader gives up.
PATIENCE = 120
BUSY = 503
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Answer:
    """What became of a request: its kind, milliseconds until its last byte, its status (0 for no answer)."""

    kind: str
    milliseconds: float
    status: int


def load(store: str) -> None:
    """Print the tables of a store."""
    many_readers(store)
    memory(store)


def many_readers(store: str) -> None:
    """Requests a second and waits while `USERS` readers ask for `SECONDS`."""
    with _served(store) as (address, mix, process):
        began = time.perf_counter()
        answers = _crowd(address, mix, users=USERS, rest=REST, enough=lambda _: time.perf_counter() - began > SECONDS)
        seconds = time.perf_counter() - began
        rows = [_row("all", answers, seconds), *(_row(kind, _of(answers, kind), seconds) for kind in mix.kinds)]
        title = f"{USERS} readers for {SECONDS} s, 0 to {REST} s between requests"
        show(title, ("", "requests", "per s", "p50", "p95", "longest", "told busy", "errors"), rows)
        show("Memory of the server after it", ("process", "RSS", "PSS"), _memory(process))


def memory(store: str) -> None:
    """Memory of every process of the server, as requests go by."""
    with _served(store) as (address, mix, process):
        measured = {0: _memory(process)}
        for sent in range(EVERY, REQUESTS + 1, EVERY):
            _crowd(address, mix, users=CROWD, rest=0, enough=lambda count: count >= EVERY)
            measured[sent] = _memory(process)
            print(sent, measured[sent], file=sys.stderr, flush=True)
        time.sleep(5)
        rows = [(f"{sent:,}", name, rss, pss) for sent, each in measured.items() for name, rss, pss in each]
        show(f"Memory while {CROWD} readers ask without a rest", ("requests", "process", "RSS", "PSS"), rows)


@contextmanager
def _served(store: str) -> Iterator[tuple[str, Mix, psutil.Process]]:
    with server_process(store) as (server, address):
        yield address, Mix(open_snapshot(store), seed=0), psutil.Process(server.pid)


def _crowd(address: str, mix: Mix, *, users: int, rest: float, enough: Callable[[int], bool]) -> list[Answer]:
    """Readers who each send one request after the other, until there are enough."""
    answers: list[Answer] = []
    requests, lock, netloc = iter(mix), Lock(), urlsplit(address).netloc

    def read(number: int) -> None:
        pauses = random.Random(number)
        while True:
            with lock:
                if enough(len(answers)):
                    return
                request = next(requests)
            answers.append(_ask(netloc, request))
            time.sleep(pauses.uniform(0, rest))

    with ThreadPoolExecutor(users) as pool:
        list(pool.map(read, range(users)))
    return answers


def _ask(netloc: str, request: Request) -> Answer:
    began = time.perf_counter()
    connection = http.client.HTTPConnection(netloc, timeout=PATIENCE)
    try:
        headers = {"Accept-Encoding": "gzip"} | ({"Content-Type": FORM} if request.body else {})
        connection.request("POST" if request.body else "GET", request.path, request.body, headers)
        response = connection.getresponse()
        response.read()
        status = response.status
    except (OSError, http.client.HTTPException):
        status = 0
    finally:
        connection.close()
    if status not in (200, BUSY):
        print(status, request.kind, request.path, file=sys.stderr)
    return Answer(request.kind, 1000 * (time.perf_counter() - began), status)


def _of(answers: list[Answer], kind: str) -> list[Answer]:
    return [answer for answer in answers if answer.kind == kind]


def _row(kind: str, answers: list[Answer], seconds: float) -> tuple[str, ...]:
    times = [answer.milliseconds for answer in answers if answer.status == 200]
    busy = sum(answer.status == BUSY for answer in answers)
    spans = quantiles(times, n=20) if len(times) > 1 else [float("nan")] * 19
    waits = (f"{milliseconds:,.0f} ms" for milliseconds in (spans[9], spans[18], max(times, default=float("nan"))))
    errors = len(answers) - len(times) - busy
    return kind, str(len(answers)), f"{len(answers) / seconds:.1f}", *waits, str(busy), str(errors)


def _memory(process: psutil.Process) -> list[tuple[str, str, str]]:
    """Of each process of the server: what it is, its resident and its proportional set."""
    rows = []
    for number, member in enumerate([process, *process.children(recursive=True)]):
        with psutil.Process(member.pid).oneshot():
            info = member.memory_full_info()
        rows.append((f"{number}", f"{info.rss / 1e6:,.0f} MB", f"{info.pss / 1e6:,.0f} MB"))
    return rows
