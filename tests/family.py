"""Processes started for a test, and their children: none outlives the test."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]
#: Seconds until a process that should have started is found missing: test processes share their cores.
PATIENCE = 60
#: Seconds until a process that should have ended within five is found alive, for the same reason.
ENDED_WITHIN = 15

Start = Callable[..., subprocess.Popen[str]]


def alive(process: psutil.Process) -> bool:
    """Whether a process runs. A zombie has ended: perhaps no parent is left to collect it."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def family(process: subprocess.Popen[str], *, members: int = 1) -> list[psutil.Process]:
    """The process and all its descendants, once they are at least `members`."""
    for _ in range(100 * PATIENCE):
        parent = psutil.Process(process.pid)
        if len(everyone := [parent, *parent.children(recursive=True)]) >= members:
            return everyone
        assert alive(parent), process.communicate()
        time.sleep(0.01)
    raise AssertionError(f"There are {everyone}, not {members}.")


def ended(processes: list[psutil.Process]) -> bool:
    """Whether all processes end soon."""
    for _ in range(100 * ENDED_WITHIN):
        if not any(map(alive, processes)):
            return True
        time.sleep(0.01)
    return False


def expect_lines(process: subprocess.Popen[str], *lines: str) -> None:
    """Wait until the process has written these lines, and no others."""
    assert process.stdout is not None
    assert [process.stdout.readline().strip() for _ in lines] == list(lines)


@pytest.fixture
def start_code() -> Iterator[Start]:
    """A function that runs Python code as a command, which hears SIGINT and SIGHUP even under `nohup make test &`."""
    started: list[subprocess.Popen[str]] = []

    def start_code(code: str, *arguments: str) -> subprocess.Popen[str]:
        hears = "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        hears += "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        command = [sys.executable, "-c", hears + code, *arguments]
        started.append(subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True, start_new_session=True))
        return started[-1]

    yield start_code
    for process in started:
        with process:
            for member in family(process) if process.poll() is None else []:
                member.kill()
