"""Publications and expiries beside readers: whether an answer is ever of two snapshots, wrong, or too old.

Each publication writes other head statistics. A second server in this process then answers every route for that
snapshot. Answers that readers get under its id must be the same, byte for byte.
"""

import http.client
import json
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from threading import Event, Lock, Thread
from urllib.parse import urlencode, urlsplit

import numpy as np

from dashboard.app import create_app
from dashboard.web.http import FORMAT
from dashboard.web.served_store import ServedStore
from store.repository.arrays import array_of
from store.repository.history import expire
from store.repository.writer import open_writer
from tests.bench.browser import production_server
from tests.bench.table import show

#: Readers, seconds, and the seconds between two requests of a reader.
USERS, SECONDS, PAUSE = 50, 300, (2, 6)
PUBLICATIONS, EXPIRIES = 20, 5
#: Seconds for which a replaced snapshot is kept, and after which no page may show a replaced one.
KEPT, STALE = 45, 30
#: Requests of a reader to a snapshot before the page is opened again.
VISIT = 4
PAGES = ("/", "/heads", "/head", "/statistics", "/map", "/sentence", "/store")
ROUTES = ("statistics.csv", "statistics/0/0.csv", "expansion.csv", "mixing.csv", "tokens.json?tokens=500")
#: Patterns of the snapshot in an address of data, and in a link; page Store links to other snapshots, as it lists the history.
OF_DATA, OF_LINKS = re.compile(rf"/data/{FORMAT}/(\w+)/"), re.compile(r"snapshot=(\w+)")
BUSY, GONE, FAILED = 503, 404, 0
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Published:
    """Published snapshots: time and model of each, and the answers that its routes must give."""

    model: str
    times: dict[str, float] = field(default_factory=dict)
    answers: dict[tuple[str, str], str] = field(default_factory=dict)

    def newest(self, before: float) -> str:
        """The snapshot that was published last before a time."""
        return max((time, name) for name, time in self.times.items() if time <= before)[1]

    def replaced(self, snapshot: str) -> float:
        """The time at which the next snapshot was published; infinite for the newest."""
        own = self.times[snapshot]
        return min((time for time in self.times.values() if time > own), default=float("inf"))


@dataclass
class Seen:
    """Answers to readers: counts of outcomes, and answers to compare at the end."""

    counts: Counter[str] = field(default_factory=Counter)
    answers: list[tuple[str, str, str]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def add(self, outcome: str, answer: tuple[str, str, str] | None = None) -> None:
        """Count an outcome; note the answer of a route under a snapshot."""
        with self.lock:
            self.counts[outcome] += 1
            if answer:
                self.answers.append(answer)


def refresh(store: str, seconds: int = SECONDS) -> int:
    """Publish and expire beside readers on a copy of a store, and print the outcomes; returns 1 where an answer was wrong."""
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/store"
        shutil.copytree(store, copy)
        with production_server(copy) as address:
            published, seen = _published_and_seen(copy, urlsplit(address).netloc, seconds)
    rows = _outcomes(published, seen)
    title = f"{PUBLICATIONS} publications and {EXPIRIES} expiries beside {USERS} readers in {seconds} s"
    show(title, ("", "times"), rows)
    return int(any(times for name, times in rows if name.startswith("wrong:")))


def _published_and_seen(store: str, netloc: str, seconds: int) -> tuple[Published, Seen]:
    served_store = ServedStore(store)
    published, seen = Published(served_store.snapshot().corpus().name), Seen()
    _note(published, served_store, served_store.newest)
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(USERS) as readers, _refreshing(store, served_store, published, seconds) as failures:
        list(readers.map(lambda number: _read(netloc, published, seen, number, until), range(USERS)))
    seen.counts["wrong: publications or expiries that failed"] += len(failures)
    return published, seen


@contextmanager
def _refreshing(store: str, served_store: ServedStore, published: Published, seconds: int) -> Iterator[list[Exception]]:
    """Publications and expiries in a thread of their own, for as long as the context lasts; yields their errors."""
    stop, failures = Event(), list[Exception]()
    every = seconds / (PUBLICATIONS + 1)

    def work() -> None:
        for number in range(1, PUBLICATIONS + 1):
            if stop.wait(every):
                return
            try:
                _publish(store, served_store, published, number)
                if number % (PUBLICATIONS // EXPIRIES) == 0:
                    expire(store, timedelta(seconds=KEPT))
            except Exception as error:
                failures.append(error)
                print(f"publication {number}: {error}", flush=True)

    thread = Thread(target=work)
    thread.start()
    try:
        yield failures
    finally:
        stop.set()
        thread.join()


def _publish(store: str, served_store: ServedStore, published: Published, number: int) -> None:
    """Write other statistics of every head, and publish them."""
    with open_writer(store) as writer:
        array = array_of(writer.group(f"models/{published.model}"), "head_statistic")
        array[...] = np.random.default_rng(number).random(array.shape)
        writer.commit(f"statistics {number}")
        snapshot = writer.publish(f"publication {number}")
    _note(published, served_store, snapshot)


def _note(published: Published, served_store: ServedStore, snapshot: str) -> None:
    """Note when a snapshot was published, and the answers of a server that has only this snapshot."""
    published.times[snapshot] = time.monotonic()
    client = create_app(ServedStore(served_store.url)).server.test_client()
    for route in ROUTES:
        answer = client.get(f"/data/{FORMAT}/{snapshot}/{published.model}/{route}")
        published.answers[snapshot, route] = sha256(answer.data).hexdigest()


def _read(netloc: str, published: Published, seen: Seen, number: int, until: float) -> None:
    """A reader: opens a page, then asks for data of its snapshot, again and again."""
    chance = random.Random(number)
    time.sleep(chance.uniform(0, PAUSE[1]))
    while time.monotonic() < until:
        snapshot = _open_page(netloc, published, seen, chance.choice(PAGES))
        for _ in range(VISIT if snapshot else 0):
            time.sleep(chance.uniform(*PAUSE))
            if time.monotonic() < until:
                _ask_route(netloc, published, seen, str(snapshot), chance.choice(ROUTES))
        time.sleep(chance.uniform(*PAUSE))


def _open_page(netloc: str, published: Published, seen: Seen, page: str) -> str | None:
    """Open a page as a new tab does; returns the snapshot of the page."""
    began = time.monotonic()
    status, body = _fetched(netloc, "/data/page", {"pathname": page, "search": "", "snapshot": ""})
    if status != 200:
        seen.add("refused as busy" if status == BUSY else "wrong: errors")
        return None
    content = json.loads(body)
    shown = content.get("shown", {}).get("snapshot")
    if shown is None:
        seen.add("wrong: pages that show an error")
        return None
    text = json.dumps(content)
    named = {*OF_DATA.findall(text), *(OF_LINKS.findall(text) if page != "/store" else ())}
    seen.add("wrong: pages that name two snapshots" if named - {shown} else "pages of one snapshot")
    late = shown in published.times and published.replaced(shown) < began - STALE
    seen.add(f"wrong: pages older than {STALE} s" if late else "pages that are current")
    return str(shown)


def _ask_route(netloc: str, published: Published, seen: Seen, snapshot: str, route: str) -> None:
    status, body = _fetched(netloc, f"/data/{FORMAT}/{snapshot}/{published.model}/{route}")
    if status == 200:
        seen.add("answers of routes", (snapshot, route, sha256(body).hexdigest()))
    elif status == GONE and published.replaced(snapshot) < time.monotonic() - KEPT:
        seen.add("refused: the snapshot was deleted meanwhile")
    else:
        seen.add("refused as busy" if status == BUSY else "wrong: errors")


def _fetched(netloc: str, path: str, form: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(netloc, timeout=60)
    try:
        body = urlencode(form) if form else None
        connection.request("POST" if form else "GET", path, body, FORM if form else {})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return FAILED, b""
    finally:
        connection.close()


def _outcomes(published: Published, seen: Seen) -> list[tuple[str, int]]:
    """Counts of outcomes by name; names of counts that must be 0 begin with "wrong:"."""
    wrong = sum(published.answers.get((snapshot, route)) != digest for snapshot, route, digest in seen.answers)
    never = (
        "errors",
        "publications or expiries that failed",
        "pages that show an error",
        "pages that name two snapshots",
    )
    zero = dict.fromkeys((*(f"wrong: {name}" for name in never), f"wrong: pages older than {STALE} s"), 0)
    snapshots = len({snapshot for snapshot, _, _ in seen.answers})
    rows = zero | dict(sorted(seen.counts.items()))
    rows |= {
        "wrong: answers that differ from a server of that snapshot alone": wrong,
        "snapshots that readers saw": snapshots,
    }
    return list(rows.items())
