"""Waiting times of many readers on a production server, and memory of its workers: `python -m tests.bench team crowd flood`."""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median, quantiles

import psutil

from store import open_snapshot
from tests.bench.browser import server_process
from tests.bench.load_client import OK, Answer, Pace, ask_all
from tests.bench.load_requests import Mix, Request
from tests.bench.table import show

#: Fifty readers who pause, the first minute of fifty who do not, these again, and more readers than this server is made for.
TEAM, FIRST, CROWD, FLOOD = Pace(50, 300, (2, 6)), Pace(50, 60), Pace(50, 150), Pace(200, 60)
#: Readers before and after the flood: the server has recovered when its last `LAST` answers are as fast as before.
CALM, LAST, AS_BEFORE = Pace(8, 30, (0.2, 0.6)), 20, 1.5
#: Seconds between two measurements of the server's memory.
EVERY = 20
#: A measurement of memory: second, number of answers, and name, resident and proportional bytes of each process.
Look = tuple[float, int, list[tuple[str, int, int]]]


@dataclass
class Measured:
    """Answers, memory and time of a server under load.

    Attributes
    ----------
    own, cpu
        Seconds of CPU time of the readers, and of the server.
    """

    answers: list[Answer]
    memory: list[Look]
    seconds: float
    own: float
    cpu: float

    def of(self, kind: str) -> list[Answer]:
        """The answers of a kind."""
        return [answer for answer in self.answers if answer.kind == kind]


def team(store: str) -> None:
    """Waiting times of fifty readers who pause between requests, for five minutes."""
    with _served(store) as (address, mix, process):
        _show_load(TEAM, mix, asyncio.run(_measure(address, iter(mix), TEAM, process)))


def crowd(store: str) -> None:
    """Requests a second of fifty readers without a pause, after their first minute on a new server; whether memory stays constant."""
    with _served(store) as (address, mix, process):
        requests = iter(mix)
        asyncio.run(_measure(address, requests, FIRST, process))
        _show_load(CROWD, mix, asyncio.run(_measure(address, requests, CROWD, process)))


def flood(store: str) -> None:
    """Answers to two hundred readers without a pause, and the seconds until the server has recovered: two minutes."""
    with _served(store) as (address, mix, process):
        requests = iter(mix)
        before = asyncio.run(_measure(address, requests, CALM, process))
        _show_load(FLOOD, mix, asyncio.run(_measure(address, requests, FLOOD, process)))
        ended = time.monotonic()
        after = asyncio.run(_measure(address, requests, CALM, process))
        usual = _median(before.answers)
        rows = [("before", f"{usual:,.0f} ms"), ("after", f"{_median(after.answers):,.0f} ms")]
        recovered = _seconds_to_recover(after.answers, ended, AS_BEFORE * usual)
        rows.append((f"the last {LAST} at most {AS_BEFORE} times as before", recovered))
        show(f"{CALM.readers} readers before and after the flood", ("", "p50"), rows)


@contextmanager
def _served(store: str) -> Iterator[tuple[str, Mix, psutil.Process]]:
    with server_process(store) as (server, address):
        yield address, Mix(open_snapshot(store), seed=0), psutil.Process(server.pid)


async def _measure(address: str, requests: Iterator[Request], pace: Pace, server: psutil.Process) -> Measured:
    answers: list[Answer] = []
    memory: list[Look] = []
    began, own, cpu = time.perf_counter(), time.process_time(), _cpu(server)
    looking = asyncio.create_task(_look(server, began, answers, memory))
    await ask_all(address, requests, pace, answers)
    looking.cancel()
    seconds = time.perf_counter() - began
    memory.append((seconds, len(answers), _memory(server)))
    return Measured(answers, memory, seconds, time.process_time() - own, _cpu(server) - cpu)


async def _look(server: psutil.Process, began: float, answers: list[Answer], memory: list[Look]) -> None:
    while True:
        memory.append((time.perf_counter() - began, len(answers), _memory(server)))
        await asyncio.sleep(EVERY)


def _cpu(server: psutil.Process) -> float:
    """Seconds of CPU time of all processes of the server."""
    times = [process.cpu_times() for process in [server, *server.children(recursive=True)]]
    return float(sum(each.user + each.system for each in times))


def _memory(server: psutil.Process) -> list[tuple[str, int, int]]:
    """Name, resident and proportional bytes of each process of the server."""
    rows = []
    for process in [server, *server.children(recursive=True)]:
        try:
            info = process.memory_full_info()
            name = "encoder" if "dashboard.sentence.encoder" in " ".join(process.cmdline()) else "worker"
        except psutil.Error:  # it has ended
            continue
        rows.append(("front" if process == server else f"{name} {process.pid}", info.rss, info.pss))
    return rows


def _show_load(pace: Pace, mix: Mix, measured: Measured) -> None:
    kinds = [("all", measured.answers), *((kind, measured.of(kind)) for kind in mix.kinds)]
    rows = [_row(kind, answers, measured.seconds) for kind, answers in kinds if answers]
    pause = "no pause" if not pace.pause[1] else f"{pace.pause[0]:g} to {pace.pause[1]:g} s between requests"
    show(
        f"{pace.readers} readers for {pace.seconds:g} s, {pause}",
        ("", "requests", "per s", "p50", "p95", "longest", "told busy", "errors"),
        rows,
    )
    each = [f"{1000 * seconds / max(1, len(measured.answers)):.1f} ms" for seconds in (measured.cpu, measured.own)]
    show("CPU time of a request", ("server", "readers of this benchmark"), [each])
    looks = [
        (f"{second:.0f} s", f"{count:,}", name, f"{rss / 1e6:,.0f} MB", f"{pss / 1e6:,.0f} MB")
        for second, count, processes in measured.memory
        for name, rss, pss in processes
    ]
    show("Memory of the server meanwhile", ("after", "requests", "process", "RSS", "PSS"), looks)


def _row(kind: str, answers: list[Answer], seconds: float) -> tuple[str, ...]:
    times = [answer.milliseconds for answer in answers if answer.status == OK]
    busy = sum(answer.told_busy for answer in answers)
    spans = quantiles(times, n=20) if len(times) > 1 else [*times, *[float("nan")] * 19]
    waits = (f"{milliseconds:,.0f} ms" for milliseconds in (spans[9], spans[18], max(times, default=float("nan"))))
    errors = sum(not answer.is_clear for answer in answers)
    return kind, f"{len(answers):,}", f"{len(answers) / seconds:.1f}", *waits, str(busy), str(errors)


def _median(answers: list[Answer]) -> float:
    return median(answer.milliseconds for answer in answers if answer.status == OK)


def _seconds_to_recover(answers: list[Answer], ended: float, most: float) -> str:
    """Seconds from `ended` until the median of the last answers is at most `most` milliseconds."""
    in_order = sorted(answers, key=lambda answer: answer.at)
    for number in range(LAST, len(in_order) + 1):
        if _median(in_order[number - LAST : number]) <= most:
            return f"after {in_order[number - 1].at - ended:.1f} s"
    print("it has not recovered", file=sys.stderr)
    return "not in time"
