"""`python -m dashboard` as it runs for a team: protection of clients from each other."""

import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

from dashboard.server import THREADS
from tests.bench.browser import production_server

WORKERS = 2
HALVES = {
    "headers": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Header: ",
    "body": b"POST /_dash-update-component HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{",
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("production") / "log"


@pytest.fixture(scope="module")
def production(tiny_store: str, log: Path) -> Iterator[str]:
    with log.open("wb") as written, production_server(tiny_store, written, f"--workers={WORKERS}") as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("half", HALVES)
def test_half_sent_requests_do_not_stop_the_server(half: str, production: str) -> None:
    host, port = urlsplit(production).hostname, urlsplit(production).port
    with ExitStack() as clients:
        for _ in range(2 * WORKERS * THREADS):
            client = clients.enter_context(socket.create_connection((host, port)))
            client.sendall(HALVES[half])
        with urllib.request.urlopen(production, timeout=60) as page:
            assert "Headscape" in page.read().decode()


def status(url: str, headers: dict[str, str], body: bytes | None = None) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


@pytest.mark.parametrize("header", ["SCRIPT_NAME", "Script-Name", "X-Forwarded-Prefix", "X-Forwarded-Host"])
def test_a_header_cannot_move_the_server(header: str, production: str) -> None:
    assert status(production, {header: "/p"}) == 200


def test_a_strangers_name_is_refused(production: str) -> None:
    assert status(production, {"Host": "evil.example"}) == 400
    assert status(production, {"Host": "evil.example", "X-Forwarded-Host": "localhost"}) == 400


def test_nobody_can_fill_the_log(production: str, log: Path) -> None:
    before = log.read_text()
    json = {"Content-Type": "application/json"}
    for number in range(100):
        assert status(f"{production}/_dash-update-component", json, f"[{number}]".encode()) == 400
    added = log.read_text().removeprefix(before)
    assert 0 < len(added.splitlines()) <= WORKERS
    assert "Traceback" not in added
