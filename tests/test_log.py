"""The server's log: repeated lines are counted."""

import io
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from dashboard.monitoring.logs import CountingHandler

NEVER = 3_600.0


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def handler(stream: io.StringIO) -> Iterator[CountingHandler]:
    counting = CountingHandler(stream, NEVER)
    yield counting
    if counting._timer:
        counting._timer.cancel()


@pytest.fixture
def log(handler: CountingHandler) -> logging.Logger:
    logger = logging.Logger("headscape")
    logger.addHandler(handler)
    return logger


def lines(stream: io.StringIO) -> list[str]:
    return [line.split("headscape: ")[-1] for line in stream.getvalue().splitlines()]


def test_repeated_lines_are_counted(log: logging.Logger, handler: CountingHandler, stream: io.StringIO) -> None:
    for number in range(1_000):
        log.warning("400 for %s", number)
    assert lines(stream) == ["400 for 0"]
    handler.report()
    assert lines(stream)[1:] == ["999 more in 3600 s, the last: 400 for 999"]


def test_a_line_that_stopped_is_written_again(
    log: logging.Logger, handler: CountingHandler, stream: io.StringIO
) -> None:
    for _ in range(2):
        log.warning("busy")
        handler.report()
    assert lines(stream) == ["busy", "busy"]


def test_different_lines_are_counted_apart(log: logging.Logger, stream: io.StringIO) -> None:
    for kind in ("400", "404", "400"):
        log.warning("%s for /", kind, extra={"kind": kind})
    log.error("something else")
    assert lines(stream) == ["400 for /", "404 for /", "something else"]


def fail(log: logging.Logger, error: Exception) -> None:
    try:
        raise error
    except Exception:
        log.exception("could not answer")


def test_the_traceback_of_an_error_is_written_once(
    log: logging.Logger, handler: CountingHandler, stream: io.StringIO
) -> None:
    for number in range(5):
        fail(log, ValueError(f"the number {number}"))
    fail(log, KeyError("another"))
    handler.report()
    assert stream.getvalue().count("Traceback") == 2
    assert lines(stream)[-1] == "4 more in 3600 s, the last: could not answer"


def test_a_client_cannot_write_a_line_of_its_own(log: logging.Logger, stream: io.StringIO) -> None:
    log.warning("400 for %s", "/a\n2026-11-22 ERROR headscape: forged\x1b[2J\u2028" + "b" * 9_000)
    assert len(stream.getvalue().splitlines()) == 1
    assert len(stream.getvalue()) < 500
    assert "\x1b" not in stream.getvalue()


@pytest.mark.heavy
def test_a_server_writes_what_its_own_loggers_tell_and_of_others_their_warnings_alone() -> None:
    told = "import logging; from dashboard.monitoring.logs import configure; configure()\n"
    told += "for name in ('headscape.access', 'zarr'):\n  logging.getLogger(name).info('told by %s', name)"
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert [line.split(": ")[-1] for line in run.stderr.splitlines()] == ["told by headscape.access"]
