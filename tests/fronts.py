"""The server's event loop in a thread of a test's own process, on an application of a few lines."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from waitress.task import ThreadedTaskDispatcher

from dashboard.web.connections import EventLoop, FrontServer, Patience

Application = Callable[..., Any]
Serve = Callable[..., FrontServer]
THREADS = 2


@contextmanager
def answering(
    application: Application, listening: socket.socket | None = None, *, most: int | None = None, **patience: float
) -> Iterator[FrontServer]:
    """A front on a socket, by default on a free port, for as long as the context lasts. Its limits can be set."""
    threads, loop, stop = ThreadedTaskDispatcher(), EventLoop(), threading.Event()
    threads.set_thread_count(THREADS)
    listening = listening or socket.create_server(("127.0.0.1", 0))
    front = FrontServer(application, listening, threads, loop, patience=Patience(**patience), most=most)
    for number in loop.sockets:
        loop.change(number)

    def turn() -> None:
        while not stop.is_set():
            loop.turn(0.02)

    thread = threading.Thread(target=turn)
    thread.start()
    yield front
    stop.set()
    thread.join()
    threads.shutdown()
    front.close()
    loop.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A function that begins to serve an application, with limits where they are given, until the test ends."""
    opened = []

    def begin(application: Application, **limits: Any) -> FrontServer:
        opened.append(answering(application, **limits))
        return opened[-1].__enter__()

    yield begin
    for front in opened:
        front.__exit__(None, None, None)


def connect(front: FrontServer, sent: bytes = b"", *, buffer: int | None = None) -> socket.socket:
    """A connection on which `sent` has been sent. A small `buffer` limits the bytes that it receives before they are read."""
    client = socket.socket()
    if buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.settimeout(60)
    client.connect(("127.0.0.1", int(front.effective_port)))
    client.sendall(sent)
    return client
