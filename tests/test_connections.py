"""Clients that are slow, leave, or never finish: they cost no thread and are disconnected."""

import socket
import threading
import time

import pytest

from dashboard.web.admission import client_disconnected
from dashboard.web.connections import EventLoop, FrontServer, most_connections
from tests.fronts import THREADS, Serve, connect

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HALF_HEADERS = b"GET / HTTP/1.1\r\nHost: x\r\nX-a: "
HALF_BODY = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
LONG = 8 << 20
#: Most open connections, where a test needs fewer than usual.
FEW = 4


def short(_environ: object, start: object) -> list[bytes]:
    start("200 OK", [("Content-Length", "2")])  # type: ignore[operator]
    return [b"ok"]


def long(environ: dict[str, object], start: object) -> list[bytes]:
    if environ["PATH_INFO"] != "/long":
        return short(environ, start)
    start("200 OK", [("Content-Length", str(LONG))])  # type: ignore[operator]
    return [bytes(LONG)]


def answer(front: FrontServer, sent: bytes = GET) -> bytes:
    with connect(front, sent) as client:
        return client.recv(12)


def is_closed(client: socket.socket) -> bool:
    """Whether the server closes the connection; waits for it."""
    try:
        while client.recv(1 << 16):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("sent", [HALF_HEADERS, HALF_BODY, b""])
def test_unfinished_requests_hold_no_thread(sent: bytes, serve: Serve) -> None:
    front = serve(short)
    halves = [connect(front, sent) for _ in range(5 * THREADS)]
    assert answer(front) == b"HTTP/1.1 200"
    for half in halves:
        half.close()


def test_clients_that_read_nothing_hold_no_thread(serve: Serve) -> None:
    front = serve(long)
    readers = [connect(front, GET.replace(b"/ ", b"/long "), buffer=4096) for _ in range(5 * THREADS)]
    assert all(reader.recv(12) == b"HTTP/1.1 200" for reader in readers)
    assert answer(front) == b"HTTP/1.1 200"
    for reader in readers:
        reader.close()


def test_a_long_answer_arrives_whole(serve: Serve) -> None:
    with connect(serve(long), GET.replace(b"/ ", b"/long "), buffer=4096) as client:
        head, _, body = client.recv(1 << 16).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        received = len(body)
        while received < LONG:
            received += len(client.recv(1 << 20))
    assert received == LONG


def test_a_connection_is_used_again(serve: Serve) -> None:
    with connect(serve(short), GET) as client:
        for _ in range(3):
            received = b""
            while not received.endswith(b"\r\n\r\nok"):
                received += client.recv(1 << 16)
            client.sendall(GET)


@pytest.mark.parametrize(
    ("limit", "sent"),
    [("headers", HALF_HEADERS), ("body", HALF_BODY), ("idle", b""), ("idle", GET)],
)
def test_a_slow_request_is_disconnected(limit: str, sent: bytes, serve: Serve) -> None:
    with connect(serve(short, **{limit: 0}), sent) as client:
        assert is_closed(client)


def test_a_byte_now_and_then_does_not_prolong_a_request(serve: Serve) -> None:
    with connect(serve(short, headers=0.5), HALF_HEADERS) as client:
        assert wait(lambda: refuses(client, b"a"))


def refuses(client: socket.socket, sent: bytes) -> bool:
    """Whether the server has closed the connection on which this is sent."""
    try:
        client.sendall(sent)
    except ConnectionError:
        return True
    return False


def test_a_client_that_reads_nothing_for_long_is_disconnected(serve: Serve) -> None:
    front = serve(long, stalled=0)
    with connect(front, GET.replace(b"/ ", b"/long "), buffer=4096):
        assert wait(lambda: front.active_channels)
        assert wait(lambda: not front.active_channels)


def wait(is_so: object) -> bool:
    for _ in range(600):
        if is_so():  # type: ignore[operator]
            return True
        time.sleep(0.1)
    return False


def test_at_the_limit_the_connection_that_waited_longest_is_closed(serve: Serve) -> None:
    front = serve(short, most=FEW)
    halves = [connect(front, HALF_HEADERS) for _ in range(FEW)]
    assert wait(lambda: len(front.active_channels) == FEW)
    assert answer(front) == b"HTTP/1.1 200"
    assert is_closed(halves[0])
    assert len(front.active_channels) <= FEW
    for half in halves:
        half.close()


def test_at_the_limit_answers_go_on(serve: Serve) -> None:
    go = threading.Event()

    def slow(environ: dict[str, object], start: object) -> list[bytes]:
        go.wait()
        return short(environ, start)

    front = serve(slow, most=FEW)
    clients = [connect(front, GET) for _ in range(FEW)]
    assert wait(lambda: len(front.active_channels) == FEW)
    more = connect(front, GET)
    go.set()
    assert all(client.recv(12) == b"HTTP/1.1 200" for client in (*clients, more))
    for client in (*clients, more):
        client.close()


def test_there_are_enough_files_for_every_connection() -> None:
    assert most_connections() >= 200


@pytest.mark.parametrize(
    "sent",
    [
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\nX-a: b\r\n\r\n",
        b"GET /" + b"a" * 8_200 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
)
def test_an_ambiguous_request_is_refused(sent: bytes, serve: Serve) -> None:
    assert answer(serve(short), sent)[8:] == b" 400"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-a: " + b"a" * 40_000 + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", b"400"),
    ],
)
def test_a_too_large_request_is_refused(sent: bytes, status: bytes, serve: Serve) -> None:
    assert answer(serve(short), sent)[9:] == status


def test_a_client_that_leaves_is_noticed_during_the_answer(serve: Serve) -> None:
    begun, noticed = threading.Event(), threading.Event()

    def patient(environ: dict[str, object], start: object) -> list[bytes]:
        assert not client_disconnected(environ)
        begun.set()
        if wait(lambda: client_disconnected(environ)):
            noticed.set()
        return short(environ, start)

    client = connect(serve(patient), GET)
    assert begun.wait(60)
    client.close()
    assert noticed.wait(60)


def test_readers_count_as_present_where_the_server_cannot_tell() -> None:
    assert not client_disconnected({})


def test_the_event_loop_ignores_a_connection_that_a_thread_names_after_it_was_closed() -> None:
    loop = EventLoop()
    loop.forget(25)
    loop.change(25)  # by the thread that answered
    loop.turn(0)
    loop.turn(0)
    assert loop._changed == set()
    loop.close()
