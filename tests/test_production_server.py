"""`python -m dashboard` as it runs for a team: what no client may do to the others."""

import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from dashboard.server import THREADS, WORKERS
from tests.bench.browser import production_server

HALVES = {
    "headers": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Header: ",
    "body": b"POST /_dash-update-component HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{",
}


@pytest.fixture(scope="module")
def production(tiny_store: str) -> Iterator[str]:
    with production_server(tiny_store) as address:
        yield address


@pytest.mark.parametrize("half", HALVES)
def test_half_sent_requests_do_not_stop_the_server(half: str, production: str) -> None:
    host, port = urlsplit(production).hostname, urlsplit(production).port
    with ExitStack() as clients:
        for _ in range(2 * WORKERS * THREADS):
            client = clients.enter_context(socket.create_connection((host, port)))
            client.sendall(HALVES[half])
        with urllib.request.urlopen(production, timeout=60) as page:
            assert "Headscape" in page.read().decode()
