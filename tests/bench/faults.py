"""Answers to readers and authors while parts of a production server fail; whether a note that was confirmed as saved is lost.

Workers are killed, the database of notes is taken away, its disk is full, the clock jumps by an hour, and clients send half a
request. Notes that the server has confirmed are counted in the database afterwards.
"""

import http.client
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Event
from unittest.mock import patch
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import psutil

from dashboard.notes.target import HeadTarget
from dashboard.web.http import data_link
from store import open_corpus
from tests.bench.browser import server_process
from tests.bench.slow import slow_clients
from tests.bench.table import show

#: Readers and authors; seconds between two requests of each; seconds of a fault.
READERS, AUTHORS, REST = 16, 4, (0.2, 1.0)
SECONDS = 40
#: Seconds between two kills of a worker, and for how long workers are killed.
EVERY, KILLING = 20, 120
#: Megabytes of the small disk that is filled.
SMALL = 16
FORM, JSON = {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "application/json"}
PAGES = ("/", "/heads", "/head", "/statistics", "/sentence", "/store", "/notes")


@dataclass
class Seen:
    """Answers to readers and authors while a fault lasts."""

    pages: Counter[int] = field(default_factory=Counter)
    writes: Counter[int] = field(default_factory=Counter)
    sentences: Counter[str] = field(default_factory=Counter)
    confirmed: list[str] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)

    @property
    def silence(self) -> float:
        """The longest time in which nobody got an answer, in seconds."""
        ordered = sorted(self.answered)
        return max((after - before for before, after in pairwise(ordered)), default=0.0)


@dataclass(frozen=True)
class Served:
    """A running server, with the file of its notes and the target of the benchmark's notes."""

    process: subprocess.Popen[bytes]
    netloc: str
    notes: Path
    target: str


def faults(store: str) -> int:
    """Try every fault, and print the answers; returns 1 where a confirmed note was lost or a page had a server error."""
    rows = [_row(name, *fault(store)) for name, fault in FAULTS.items()]
    columns = (
        "",
        "pages: answered, busy, no answer, other",
        "notes: saved, refused, no answer",
        "longest silence",
        "lost",
        "refused notes were told",
    )
    show("Faults of a production server", columns, rows)
    return int(any(row[4] != "0" for row in rows))


def _killed(store: str) -> tuple[Seen, int]:
    """SIGKILL a worker every 20 seconds."""
    with tempfile.TemporaryDirectory() as folder, _served(store, Path(folder)) as served:
        return _watched(served, KILLING, _kill_workers)


def _kill_workers(served: Served, end: Event) -> None:
    chance = random.Random(0)
    while not end.wait(EVERY):
        workers = psutil.Process(served.process.pid).children()
        chance.choice(workers).send_signal(signal.SIGKILL)


def _database_gone(store: str) -> tuple[Seen, int]:
    """Put a folder in the place of the database for half of the time."""
    with tempfile.TemporaryDirectory() as folder, _served(store, Path(folder)) as served:
        return _watched(served, SECONDS, _hide_database)


def _hide_database(served: Served, end: Event) -> None:
    end.wait(SECONDS / 4)
    hidden = served.notes.with_name("hidden")
    served.notes.rename(hidden)
    served.notes.mkdir()
    end.wait(SECONDS / 2)
    served.notes.rmdir()
    hidden.rename(served.notes)
    end.wait()


def _disk_full(store: str) -> tuple[Seen, int]:
    """Keep notes on a disk of a few megabytes, fill it for half of the time, and free it."""
    with tempfile.TemporaryDirectory() as folder, _small_disk(Path(folder)) as disk, _served(store, disk) as served:
        return _watched(served, SECONDS, _fill_disk)


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _fill_disk(served: Served, end: Event) -> None:
    end.wait(SECONDS / 4)
    filling = served.notes.with_name("filling")
    with filling.open("wb", buffering=0) as file:  # else closing it would fail, too
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
    end.wait(SECONDS / 2)
    filling.unlink()
    end.wait()


def _clock(offset: str) -> Callable[[str], tuple[Seen, int]]:
    """Start the server again with a clock that is an hour off, on the same notes."""

    def fault(store: str) -> tuple[Seen, int]:
        with tempfile.TemporaryDirectory() as folder:
            with _served(store, Path(folder)) as served:
                before, lost_before = _watched(served, 5, _nothing)
            with _shifted_clock(offset), _served(store, Path(folder)) as served:
                seen, _ = _watched(served, SECONDS / 2, _nothing)
                return seen, lost_before + _lost(served.notes, before.confirmed + seen.confirmed)

    return fault


@contextmanager
def _shifted_clock(offset: str) -> Iterator[None]:
    """Shift the clock of processes that start within the context, by Debian's package faketime."""
    served_store = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if served_store is None:
        raise FileNotFoundError("Install Debian's package faketime.")
    with patch.dict(os.environ, {"LD_PRELOAD": str(served_store), "FAKETIME": offset}):
        yield


def _half_open(store: str) -> tuple[Seen, int]:
    """Hold 500 connections with half a request, and slow readers."""
    with tempfile.TemporaryDirectory() as folder, _served(store, Path(folder)) as served:
        return _watched(served, SECONDS, _hold_connections(store))


def _hold_connections(store: str) -> Callable[[Served, Event], None]:
    corpus = open_corpus(store)
    grid = f"{data_link(corpus)}/points/{next(iter(corpus.views))}/grid.bin"

    def hold(served: Served, end: Event) -> None:
        with slow_clients(f"http://{served.netloc}", grid), slow_clients(f"http://{served.netloc}", grid):
            end.wait()

    return hold


def _calm(store: str) -> tuple[Seen, int]:
    with tempfile.TemporaryDirectory() as folder, _served(store, Path(folder)) as served:
        return _watched(served, SECONDS / 2, _nothing)


def _nothing(_served: Served, end: Event) -> None:
    end.wait()


FAULTS: dict[str, Callable[[str], tuple[Seen, int]]] = {
    "no fault": _calm,
    f"a worker killed every {EVERY} s": _killed,
    f"the database replaced by a folder for {SECONDS // 2} s": _database_gone,
    f"the disk of the notes full for {SECONDS // 2} s": _disk_full,
    "the clock an hour ahead after a restart": _clock("+1h"),
    "the clock an hour behind after a restart": _clock("-1h"),
    "400 half-sent requests and 200 readers of 1 kB/s": _half_open,
}


@contextmanager
def _served(store: str, folder: Path) -> Iterator[Served]:
    notes = folder / "notes.sqlite3"
    target = HeadTarget.of(open_corpus(store), 0, 0).key
    with server_process(store, None, "--notes", str(notes)) as (process, address):
        yield Served(process, urlsplit(address).netloc, notes, target)


def _watched(served: Served, seconds: float, fault: Callable[[Served, Event], None]) -> tuple[Seen, int]:
    """Answers to readers and authors for some seconds of a fault, and the number of confirmed notes that are lost."""
    seen, end = Seen(), Event()
    with ThreadPoolExecutor(READERS + AUTHORS + 1) as pool:
        work = [pool.submit(fault, served, end)]
        work += [pool.submit(_ask, _read_page, served, seen, number, end) for number in range(READERS)]
        work += [pool.submit(_ask, _write_note, served, seen, number, end) for number in range(AUTHORS)]
        time.sleep(seconds)
        end.set()
    for part in work:
        part.result()
    return seen, _lost(served.notes, seen.confirmed)


def _ask(
    send: Callable[[Served, Seen, random.Random], None], served: Served, seen: Seen, number: int, end: Event
) -> None:
    chance = random.Random(number)
    while not end.wait(chance.uniform(*REST)):
        send(served, seen, chance)


def _read_page(served: Served, seen: Seen, chance: random.Random) -> None:
    form = urlencode({"pathname": chance.choice(PAGES), "search": "", "snapshot": ""})
    status, _ = _answer(served, seen, "/data/page", form, FORM)
    seen.pages[status] += 1


def _write_note(served: Served, seen: Seen, _chance: random.Random) -> None:
    name = str(uuid4())
    body = json.dumps({"id": name, "text": f"note {name}", "target": served.target})
    status, answer = _answer(served, seen, "/api/notes", body, JSON)
    seen.writes[status] += 1
    if status == 201:
        seen.confirmed.append(name)
    elif status:
        seen.sentences[answer.decode()[:160]] += 1


def _answer(served: Served, seen: Seen, path: str, body: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """Status and body of an answer; status 0 where no answer comes."""
    connection = http.client.HTTPConnection(served.netloc, timeout=60)
    try:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        answer = response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()
    seen.answered.append(time.monotonic())
    return answer


def _lost(notes: Path, confirmed: list[str]) -> int:
    """How many confirmed notes the database does not have."""
    with tempfile.TemporaryDirectory() as folder:
        for part in notes.parent.glob(f"{notes.name}*"):
            shutil.copy(part, folder)
        with sqlite3.connect(Path(folder) / notes.name) as connection:
            there = {name for (name,) in connection.execute("SELECT id FROM headscape_notes")}
    return len(set(confirmed) - there)


def _row(name: str, seen: Seen, lost: int) -> tuple[str, ...]:
    answered, busy, silent = (seen.pages[status] for status in (200, 503, 0))
    other = seen.pages.total() - answered - busy - silent
    saved, unanswered = seen.writes[201], seen.writes[0]
    refused = seen.writes.total() - saved - unanswered
    told = "; ".join(seen.sentences)
    pages, notes = f"{answered}, {busy}, {silent}, {other}", f"{saved}, {refused}, {unanswered}"
    return name, pages, notes, f"{seen.silence:.1f} s", str(lost), told
