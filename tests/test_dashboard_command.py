"""`make dashboard` as a program: how it ends, and what it makes of a store that is not there."""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from dashboard import __main__ as command
from dashboard.web.addresses import bind_of, check_free

Popen = subprocess.Popen[bytes]


@pytest.fixture
def ingest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Popen]:
    """An ingest that never ends by itself, of a store where there is nothing yet."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(command, "_describe", lambda _: subprocess.CompletedProcess([], 3, "", "store: There is none."))
    monkeypatch.setattr(command, "PAUSE", 0.01)
    with subprocess.Popen(["sleep", "600"]) as process:
        monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: process)
        yield process
        process.kill()
    signal.signal(signal.SIGTERM, before)


def ctrl_c(_seconds: float) -> None:
    raise KeyboardInterrupt


def terminate(_seconds: float) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("stop", [ctrl_c, terminate])
def test_stopped_before_the_first_picture_it_ends_and_the_ingest_with_it(
    stop: Callable[[float], None], ingest: Popen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=stop))
    assert command.main(["--ingest", "--port", "0"]) == 0
    assert ingest.returncode == -signal.SIGTERM


def test_a_store_that_cannot_be_read_is_not_taken_for_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "data has schema 999. Update Headscape, or ingest again with `headscape ingest --store=...`."
    monkeypatch.setattr(command, "_describe", lambda _: subprocess.CompletedProcess([], 1, "", f"store: {message}\n"))
    assert command.main(["--ingest", "--port", "0"]) == 1
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
