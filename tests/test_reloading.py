"""SIGHUP replaces the workers of a server while readers ask: nobody is refused. SIGTERM lets answers end."""

import os
from collections import Counter
from pathlib import Path
from select import select
from socket import socket
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.errors import HaltServer

from dashboard import __main__ as command
from dashboard.server import RollingArbiter, Server
from dashboard.serving import Serving
from dashboard.web.connections import BufferingWorker, EventLoop, FrontServer
from dashboard.web.processes import WORKER_MEMORY, usable_memory, workers_by_default
from tests.bench.browser import server_process
from tests.bench.reloads import reload_while_reading, workers
from tests.fronts import Serve, connect
from tests.test_connections import GET, short


@pytest.mark.slow
def test_nobody_is_refused_while_workers_are_replaced(tiny_store: str) -> None:
    with server_process(tiny_store, None, "--workers=2") as (server, address):
        before = workers(server)
        readers = reload_while_reading(server, address, reloads=1)
        after = workers(server)
    outcomes = sum((reader.outcomes for reader in readers), Counter[str]())
    assert set(outcomes) == {"200"}
    assert outcomes.total() > len(readers)
    assert len(after) == len(before) == 2
    assert not after & before


def test_a_worker_that_finishes_says_that_its_connections_end(serve: Serve) -> None:
    front: FrontServer = serve(short)
    with connect(front, GET) as client:
        assert b"Connection: close" not in answer(client)
        front.finishes = True
        client.sendall(GET)
        assert b"Connection: close" in answer(client)


def test_a_signal_ends_a_turn_of_the_event_loop() -> None:
    loop, (reading, writing) = EventLoop(), os.pipe()
    loop.wake_by(reading)
    os.write(writing, b"signal")
    loop.turn(0)
    assert select([reading], [], [], 0) == ([], [], [])
    loop.close()


class Ended(Exception):
    """Raised where a worker would end the process of the tests."""


class WorkerOfTests(BufferingWorker):
    """A worker in the process of the tests."""

    def end(self, status: int) -> None:
        raise Ended(status)


def test_a_worker_that_has_finished_ends_its_process() -> None:
    worker = WorkerOfTests.__new__(WorkerOfTests)
    worker.alive, worker.sockets, worker.PIPE = False, [], os.pipe()
    worker.cfg, worker.tmp = SimpleNamespace(threads=1, graceful_timeout=0), SimpleNamespace(notify=lambda: None)
    with pytest.raises(Ended, match="0"):
        worker.run()
    worker.threads.shutdown()


class StoppedServer(Server):
    def run(self) -> None:
        raise SystemExit(0)


def test_the_command_ends_by_its_own_way_when_the_server_has_stopped() -> None:
    options = command._parser().parse_args([])
    assert command._serve(options, Serving(), StoppedServer) == 0


def answer(client: socket) -> bytes:
    """A whole answer on a socket, which may come in several pieces."""
    received = b""
    while not received.endswith(b"\r\n\r\nok"):
        piece = client.recv(1 << 16)
        assert piece, "the connection ended within the answer"
        received += piece
    return received


class Workers(RollingArbiter):
    """An arbiter without processes: each worker is a number; the second one that starts fails."""

    def __init__(self, *, fails: bool) -> None:
        self.WORKERS = {1: SimpleNamespace(age=1), 2: SimpleNamespace(age=2)}
        self.cfg, self.log = SimpleNamespace(timeout=1), SimpleNamespace(error=lambda _: None)
        self.fails, self.stopped = fails, list[int]()

    def spawn_worker(self) -> int:
        pid = max(self.WORKERS) + 1
        self.WORKERS[pid] = SimpleNamespace(age=pid, answers=True)
        return pid

    def reap_workers(self) -> None:
        if self.fails:
            self.WORKERS.popitem()
            raise HaltServer("Worker failed to boot.", 3)

    def kill_worker(self, pid: int, _signal: Any) -> None:
        self.stopped.append(pid)


def test_an_old_worker_leaves_when_a_new_one_answers() -> None:
    arbiter = Workers(fails=False)
    arbiter.reload()
    assert arbiter.stopped == [1, 2]


def test_a_second_reload_replaces_only_those_that_answer() -> None:
    arbiter = Workers(fails=False)
    arbiter.reload()
    arbiter.reload()
    assert arbiter.stopped == [1, 2, 3, 4]


def test_the_old_workers_stay_where_a_new_one_cannot_start() -> None:
    arbiter = Workers(fails=True)
    arbiter.reload()
    assert arbiter.stopped == []
    assert arbiter.WORKERS.keys() == {1, 2}


# -- number of workers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cores", "memory", "number"), [(1, 64, 2), (8, 64, 8), (8, 3, 3), (8, 0.5, 1)])
def test_workers_are_as_many_as_cores_and_memory_allow(cores: int, memory: float, number: int) -> None:
    assert workers_by_default(cores, int(memory * WORKER_MEMORY)) == number


def test_the_memory_of_a_container_counts(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("4096\n")
    assert usable_memory(tmp_path / "memory.max") == 4096


def test_the_memory_of_the_machine_counts_where_a_container_has_no_limit(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    assert usable_memory(tmp_path / "memory.max") == usable_memory(tmp_path / "none") > 4096


@pytest.mark.parametrize("number", ["0", "-1", "many", "1000", "1.5", "1".zfill(12)])
def test_an_impossible_number_of_workers_is_one_sentence(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--port=0", f"--workers={number}"]) == 1
    sentence = f"dashboard: --workers={number} is not possible. Give a number from 1 to 256.\n"
    assert capsys.readouterr().err == sentence
