"""Time of a page and of `/_healthz` while other clients finish no request or hardly read their answers."""

import socket
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median, quantiles
from threading import Event, Thread
from urllib.parse import urlencode, urlsplit

from dashboard.web.http import data_link
from ingest.pipeline import run
from ingest.run.settings import Settings
from store import open_corpus
from tests.bench.browser import production_server
from tests.bench.table import show

SENTENCES = 300
#: Connections of clients that send half a request (headers and bodies in equal parts), and of slow readers.
HALVES, READERS = 200, 100
#: Bytes that a slow reader takes each second.
PACE = 1_000
#: Rounds alone and beside the slow clients in turn, and requests of each kind in one round.
ROUNDS, HEALTH, PAGES = 4, 100, 25
HEALTH_URL, PAGE = "/_healthz", "/data/page"
Times = dict[str, list[float]]


def slow() -> None:
    """Measure on a small store of the default model, and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store"
        run(Settings(store=store, sentences=SENTENCES, views="pca-exact-2d", features="none"))
        corpus = open_corpus(store)
        grid = f"{data_link(corpus)}/points/{next(iter(corpus.views))}/grid.bin"
        with production_server(store) as address:
            alone, beside = compared(address, grid)
    show(
        f"{HALVES} half-sent requests and {READERS} readers of {PACE:,} bytes a second, production server",
        ("", "alone: median", "95th percentile", "beside them: median", "95th percentile", "median, ratio"),
        [_row(name, alone[name], beside[name]) for name in alone],
    )


def compared(address: str, grid: str) -> tuple[Times, Times]:
    """Milliseconds of each kind of request alone, and beside the slow clients; in turn, so that noise hits both."""
    heads = count()
    routes: dict[str, tuple[int, Callable[[], object]]] = {
        HEALTH_URL: (HEALTH, lambda: _get(address + HEALTH_URL)),
        "content of page Head": (PAGES, lambda: _page(address, next(heads))),
    }
    _measured(routes)  # the first requests warm the server
    alone: Times = {name: [] for name in routes}
    beside: Times = {name: [] for name in routes}
    for _ in range(ROUNDS):
        _add(alone, _measured(routes))
        with slow_clients(address, grid):
            _add(beside, _measured(routes))
    return alone, beside


@contextmanager
def slow_clients(address: str, grid: str) -> Iterator[None]:
    """Keep all slow clients connected for as long as the context lasts."""
    host, port = str(urlsplit(address).hostname), int(urlsplit(address).port or 80)
    halves = [_connected(host, port, _half(number)) for number in range(HALVES)]
    readers = [_connected(host, port, _request("GET", grid) + "\r\n") for _ in range(READERS)]
    stop = Event()
    reading = Thread(target=_read, args=(readers, stop))
    reading.start()
    time.sleep(2)  # so that the server has begun all answers
    try:
        yield
    finally:
        stop.set()
        reading.join()
        for client in (*halves, *readers):
            client.close()


def _half(number: int) -> str:
    if number % 2:
        return _request("GET", "/") + "X-Header: "
    return _request("POST", PAGE) + "Content-Length: 5000\r\n\r\npathname="


def _request(method: str, path: str) -> str:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"


def _connected(host: str, port: int, sent: str) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * PACE)  # else the system reads ahead for the client
    client.connect((host, port))
    client.sendall(sent.encode())
    return client


def _read(readers: list[socket.socket], stop: Event) -> None:
    for reader in readers:
        reader.setblocking(False)
    while not stop.wait(1):
        for reader in readers:
            _take(reader)


def _take(reader: socket.socket) -> None:
    try:
        reader.recv(PACE)
    except BlockingIOError:
        return


def _measured(routes: dict[str, tuple[int, Callable[[], object]]]) -> Times:
    return {name: [_milliseconds(ask) for _ in range(times)] for name, (times, ask) in routes.items()}


def _milliseconds(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return 1000 * (time.perf_counter() - began)


def _add(times: Times, more: Times) -> None:
    for name in times:
        times[name] += more[name]


def _page(address: str, number: int) -> bytes:
    """The answer to the browser's first request for the page of a head."""
    form = {"pathname": "/head", "search": f"?layer={number % 6}&head={number // 6 % 12}", "snapshot": ""}
    return _get(f"{address}{PAGE}", urlencode(form).encode())


def _get(url: str, body: bytes | None = None) -> bytes:
    with urllib.request.urlopen(url, body, timeout=60) as answer:
        return bytes(answer.read())


def _row(name: str, alone: list[float], beside: list[float]) -> tuple[str, ...]:
    figures = [
        f"{figure:,.1f} ms" for times in (alone, beside) for figure in (median(times), quantiles(times, n=20)[-1])
    ]
    return name, *figures, f"{median(beside) / median(alone):.2f}"
