"""`make dashboard` as a program: how it ends, and what it does without a store."""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator

import pytest

from dashboard import __main__ as command
from dashboard.web.addresses import bind_of, check_free

Popen = subprocess.Popen[bytes]


class Described(command.Commands):
    """Commands with a given answer on the store, and a given ingest in place of a real one."""

    def __init__(self, status: int, message: str, ingest: Popen | None = None, stop: Callable[[], None] = int) -> None:
        self.description = subprocess.CompletedProcess([], status, "", message)
        self.begun, self.stop = ingest, stop

    def describe(self, _store: str) -> subprocess.CompletedProcess[str]:
        return self.description

    def ingest(self, _store: str) -> Popen:
        assert self.begun
        return self.begun

    def wait(self) -> None:
        self.stop()


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Restores the handler of SIGTERM after a test: the command sets its own."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def ingest() -> Iterator[Popen]:
    """An ingest that never ends by itself."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def ctrl_c() -> None:
    raise KeyboardInterrupt


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("stop", [ctrl_c, terminate])
def test_stopped_before_the_first_picture_it_ends_and_the_ingest_with_it(
    stop: Callable[[], None], ingest: Popen
) -> None:
    commands = Described(command.NOTHING_YET, "store: There is none.", ingest, stop)
    assert command.main(["--ingest", "--port", "0"], commands) == 0
    assert ingest.returncode == -signal.SIGTERM


def test_a_store_that_cannot_be_read_is_not_taken_for_none(capsys: pytest.CaptureFixture[str]) -> None:
    message = "data has schema 999. Update Headscape, or ingest again with `headscape ingest --store=...`."
    assert command.main(["--ingest", "--port", "0"], Described(1, f"store: {message}\n")) == 1
    assert capsys.readouterr() == ("", f"dashboard: {message}\n")


def test_an_address_of_ipv6_is_listened_to() -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(ValueError, match=f"Port {port} of ::1 is not available"):
                check_free("::1", port)
    except OSError:
        pytest.skip("this machine has no IPv6")
    check_free("::1", port)
    assert bind_of("::1", port) == f"[::1]:{port}"
