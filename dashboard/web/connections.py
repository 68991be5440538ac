"""A worker of gunicorn that runs waitress: an event loop reads requests and sends answers, threads compute them.

A client that is slow, or that never finishes what it began, costs no thread.
"""

import logging
import os
import resource
import select
import selectors
import signal
import socket
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from gunicorn.workers.base import Worker
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError, TransferEncodingNotImplemented
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask

from dashboard.web.addresses import UNIX
from dashboard.web.processes import let_answers_overflow
from store.process import end_now

#: Bytes of the first line of a request, which holds a typed pair: as many as most proxies accept.
REQUEST_LINE = 8190
#: Bytes of a request: of line and headers together (Referer repeats the line), of the body.
HEADERS, BODY = 32 << 10, 1 << 20
#: Bytes of an answer that wait for a slow client in memory, and on disk. Beyond these the answer's thread waits.
IN_MEMORY, ON_DISK = 1 << 20, 64 << 20
#: Open connections of a worker, and files that each may need: the socket, a request's body, an answer.
CONNECTIONS, FILES = 1_000, 3
#: Files that a worker needs beside connections: the store's, libraries'.
OTHER_FILES = 200
#: Beyond the limit: connections that are accepted while no other one can be closed, and waitress' own sockets.
SPARE = 20

#: Key of the WSGI environment: whether the server stops.
STOPS = "headscape.stops"
#: Seconds between two signs of life to gunicorn, which replaces a worker without them.
PULSE = 1.0
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

log = logging.getLogger("headscape.connections")


@dataclass(frozen=True)
class Patience:
    """How long the server waits for a client, in seconds.

    Attributes
    ----------
    headers, body
        From the first byte of a request to the end of its headers, and of its body.
    idle, stalled, thread
        How long a connection may stay open without a request, how long a client may take nothing of its answer, and how long
        a thread waits until the client has taken enough of a long answer.
    """

    headers: float = 20
    body: float = 60
    idle: float = 60
    stalled: float = 60
    thread: float = 30


#: Of every server that a command starts.
USUAL = Patience()


def adjustments(connections: int) -> Adjustments:
    """The settings of waitress for a number of connections."""
    return Adjustments(
        max_request_header_size=HEADERS,
        max_request_body_size=BODY + 1,  # the first size that is refused
        inbuf_overflow=64 << 10,
        outbuf_overflow=IN_MEMORY,
        outbuf_high_watermark=ON_DISK,
        connection_limit=connections + SPARE,
        cleanup_interval=1,
        channel_request_lookahead=1,  # it goes on reading while it answers, and so sees that a client has left
        log_socket_errors=False,
        ident="",
        server_name="localhost",
        clear_untrusted_proxy_headers=False,  # addresses.py does it
    )


def most_connections() -> int:
    """How many connections the limit of open files allows; raises the limit of this process as far as allowed."""
    wanted = CONNECTIONS * FILES + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(1, (allowed - OTHER_FILES) // FILES)


class Request(HTTPRequestParser):  # type: ignore[misc]
    """A request; refused where proxies and servers could read it in two ways (RFC 9112, 6.3), or where its line is too long."""

    def parse_header(self, header_plus: bytes) -> None:
        """Raises ParsingError, which is answered with 400."""
        try:
            super().parse_header(header_plus)
        # waitress answers 501, which would count as a fault of the server.
        except TransferEncodingNotImplemented as error:
            raise ParsingError("The server reads no Transfer-Encoding but chunked.") from error
        if len(self.first_line) > REQUEST_LINE:
            raise ParsingError(f"The request line has more than {REQUEST_LINE:,} bytes.")
        if "TRANSFER_ENCODING" in self.headers or (self.chunked and "CONTENT_LENGTH" in self.headers):
            raise ParsingError("Transfer-Encoding goes neither with Content-Length nor with HTTP/1.0.")


class Answer(WSGITask):  # type: ignore[misc]
    """The answer to a request; of a worker that finishes, the last of its connection."""

    def get_environment(self) -> dict[str, Any]:
        """The WSGI environment."""
        environ: dict[str, Any] = super().get_environment()
        return environ | {STOPS: self.channel.server.stops}

    def build_response_header(self) -> bytes:
        """The status and the headers: `Connection: close` tells the client to send its next request to another worker."""
        if self.channel.server.finishes:
            self.set_close_on_finish()
        return bytes(super().build_response_header())


class Connection(HTTPChannel):  # type: ignore[misc]
    """The connection of a client. All of it runs in the event loop except `service` and what that writes."""

    parser_class = Request
    task_class = Answer
    #: When the first byte of the request came that is not complete yet, and since when a thread waits to write.
    began, writing = 0.0, float("inf")

    def add_channel(self, map: dict[int, Any] | None = None) -> None:  # noqa: A002
        """Let the event loop watch the connection."""
        super().add_channel(map)
        self.server.loop.change(self._fileno)

    def del_channel(self, map: dict[int, Any] | None = None) -> None:  # noqa: A002
        """Let the event loop forget the connection."""
        if self._fileno is not None:
            self.server.loop.forget(self._fileno)
        super().del_channel(map)

    @property
    def changes(self) -> bool:
        """Whether a thread works for the connection, or will: it may change at any time what the connection waits for."""
        return bool(self.requests)

    def received(self, data: bytes) -> bool:
        """Receive bytes, and remember when a request began."""
        before = self.request
        taken = super().received(data)
        if self.request is not None and self.request is not before:
            self.began = time.time()
        return bool(taken)

    def write_soon(self, data: bytes) -> int:
        """Write bytes, and remember since when the thread waits."""
        self.writing = time.time()
        try:
            return int(super().write_soon(data))
        finally:
            self.writing = float("inf")

    def overdue(self, now: float) -> bool:
        """Whether the client has kept the server waiting for too long."""
        if self.total_outbufs_len:
            patience = self.server.patience
            return bool(self.last_activity < now - patience.stalled or self.writing < now - patience.thread)
        return not self.requests and self.waits_since < now - self._patience

    @property
    def idle(self) -> bool:
        """Whether the connection waits for the first byte of a request."""
        return self.request is None and not self.requests and not self.total_outbufs_len

    @property
    def waits_since(self) -> float:
        """Since when the client has kept the server waiting; only where no thread works for it."""
        return float(self.last_activity if self.request is None or self.total_outbufs_len else self.began)

    @property
    def _patience(self) -> float:
        patience: Patience = self.server.patience
        if self.request is None:
            return patience.idle
        return patience.body if self.request.headers_finished else patience.headers


class EventLoop:
    """Calls the sockets of waitress when they can be read or written.

    The loop of waitress asks every socket in every round what it waits for, so that with 150 open connections an answer
    takes 1.4 times as long. This loop asks a socket after an event, and while a thread works for it.
    """

    def __init__(self) -> None:
        #: By file number: waitress adds and removes its sockets here.
        self.sockets: dict[int, Any] = {}
        self._changed: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._waking = -1

    def wake_by(self, number: int) -> None:
        """Let a turn end when this file number can be read. A signal that is handled does not end one."""
        self._waking = number
        self._selector.register(number, READ)

    def change(self, number: int) -> None:
        """Ask the socket of this file number again what it waits for."""
        self._changed.add(number)

    def forget(self, number: int) -> None:
        """Stop watching a socket. Call it before closing the socket: the next may have the same number."""
        self._changed.discard(number)
        self._watch(number, 0)

    def turn(self, seconds: float) -> None:
        """Handle the next events, or return after some seconds without any."""
        for number in tuple(self._changed):
            self._ask(number)
        for key, events in self._selector.select(seconds):
            if key.fd == self._waking:
                os.read(key.fd, 1 << 10)
            elif waiting := self.sockets.get(key.fd):  # an earlier one of these events may have closed it
                self.change(key.fd)
                wasyncore.readwrite(waiting, _poll_flags(events))

    def close(self) -> None:
        """Stop watching all sockets."""
        self._selector.close()

    def _ask(self, number: int) -> None:
        waiting = self.sockets.get(number)
        if waiting is None or not getattr(waiting, "changes", True):
            self._changed.discard(number)
        if waiting is None:  # a thread that worked for it has said so after it was closed
            return
        self._watch(number, (READ if waiting.readable() else 0) | (WRITE if waiting.writable() else 0))

    def _watch(self, number: int, events: int) -> None:
        known = self._selector.get_map().get(number)
        if known and not events:
            self._selector.unregister(number)
        elif known and known.events != events:
            self._selector.modify(number, events)
        elif events and not known:
            self._selector.register(number, events)


class FrontServer(TcpWSGIServer):  # type: ignore[misc]
    """Accepts connections, and closes those whose client has kept the server waiting for too long.

    At the limit, a new connection replaces an open one: the one that has waited longest, of the address with the most
    connections that wait for their client. Where none waits for its client, the new connection waits.
    """

    channel_class = Connection
    #: Whether every answer is the last of its connection, and whether no other worker answers in place of this one.
    finishes = stops = False

    def __init__(
        self,
        application: Any,
        listening: socket.socket,
        threads: ThreadedTaskDispatcher,
        loop: EventLoop,
        *,
        patience: Patience = USUAL,
        most: int | None = None,
    ) -> None:
        """`most`: how many connections may be open, by default as many as the limit of open files allows."""
        self.loop, self.patience, self.most = loop, patience, most or most_connections()
        super().__init__(
            application,
            loop.sockets,
            _sock=listening,
            dispatcher=threads,
            adj=adjustments(self.most),
            sockinfo=(listening.family, listening.type, listening.proto, listening.getsockname()),
            bind_socket=False,
        )

    def getsockname(self) -> tuple[str, int]:
        """The address that the server listens on; a unix socket has no port, and the one of http is left out of URLs."""
        return (UNIX, 80) if self.family == socket.AF_UNIX else super().getsockname()

    def fix_addr(self, addr: Any) -> Any:
        """The address of a client, which a unix socket does not have."""
        return (UNIX, 0) if self.family == socket.AF_UNIX else addr

    def set_socket_options(self, conn: socket.socket) -> None:
        """Options of TCP alone."""
        if self.family != socket.AF_UNIX:
            super().set_socket_options(conn)

    @property
    def answers(self) -> bool:
        """Whether a request is being answered."""
        return any(channel.requests or channel.total_outbufs_len for channel in self.active_channels.values())

    def stop_accepting(self) -> None:
        """Leave new connections to other workers; open connections get one more answer at most."""
        self.finishes = True
        self.loop.forget(self._fileno)
        self.del_channel()
        self.socket.close()

    def close(self) -> None:
        """Close the socket and every connection."""
        for channel in list(self.active_channels.values()):
            channel.handle_close()
        super().close()

    def handle_accept(self) -> None:
        """Accept a connection; at the limit, close another first."""
        if len(self.active_channels) >= self.most:
            self._make_room()
        super().handle_accept()

    def maintenance(self, now: float) -> None:
        """Close overdue connections. waitress itself never closes a stalled one: it waits until the client reads."""
        overdue = [channel for channel in self.active_channels.values() if channel.overdue(now)]
        slow = sum(not channel.idle for channel in overdue)
        for channel in overdue:
            channel.handle_close()
        if slow:
            log.warning(
                "Closed %d connections: their clients were too slow to send a request or to take an answer", slow
            )

    def _make_room(self) -> None:
        waiting = [channel for channel in self.active_channels.values() if not channel.requests]
        if waiting:
            most = Counter(channel.addr[0] for channel in waiting).most_common(1)[0][0]
            min(
                (channel for channel in waiting if channel.addr[0] == most), key=lambda channel: channel.waits_since
            ).handle_close()
            log.warning("Closed a connection to make room for another: %d are open", len(self.active_channels) + 1)


class BufferingWorker(Worker):  # type: ignore[misc]
    """A worker that gunicorn starts, watches, replaces and stops, and in which waitress answers.

    SIGUSR2 tells it that another worker answers in its place: it then waits for the next request of every open
    connection, whose client may be about to send it, and says in the answer that the connection ends.
    """

    #: Whether another worker answers in its place.
    replaced = False
    #: Ends the process.
    end = staticmethod(end_now)

    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        self._made = self.tmp.last_update()
        self.fronts: list[FrontServer] = []

    @property
    def answers(self) -> bool:
        """Whether it has begun to answer, as the process that started it sees it."""
        return bool(self.tmp.last_update() != self._made)

    def init_signals(self) -> None:
        """Handle the signals of gunicorn, and SIGUSR2."""
        super().init_signals()
        signal.signal(signal.SIGUSR2, self._handle_replacement)

    def run(self) -> None:
        """Answer until told to stop, then finish what is being answered, and end the process."""
        logging.getLogger("waitress.queue").setLevel(
            logging.ERROR
        )  # it would warn whenever a request waits for a thread
        let_answers_overflow()
        self.threads = ThreadedTaskDispatcher()
        self.threads.set_thread_count(self.cfg.threads)
        self.loop = EventLoop()
        self.loop.wake_by(self.PIPE[0])  # gunicorn lets every signal write into it
        self.fronts = [FrontServer(self.wsgi, listening.sock, self.threads, self.loop) for listening in self.sockets]
        for number in self.loop.sockets:
            self.loop.change(number)
        while self.alive and os.getppid() == self.ppid:
            self._turn(PULSE)
        self._finish()
        self.end(0)

    def _handle_replacement(self, _number: int, _frame: object) -> None:
        self.alive, self.replaced = False, True

    def _turn(self, seconds: float) -> None:
        self.notify()
        self.loop.turn(seconds)

    def _finish(self) -> None:
        for front in self.fronts:
            front.stop_accepting()
            front.stops = not self.replaced
        end = time.monotonic() + self.cfg.graceful_timeout
        self._turn(0)  # requests that have arrived are answered
        while time.monotonic() < end and self._is_needed():
            self._turn(PULSE)
        for front in self.fronts:
            front.close()
        self.loop.close()

    @property
    def connections(self) -> int:
        """How many are open."""
        return sum(len(front.active_channels) for front in self.fronts)

    def _is_needed(self) -> bool:
        return any(front.answers or (self.replaced and front.active_channels) for front in self.fronts)


def _poll_flags(events: int) -> int:
    return (select.POLLIN if events & READ else 0) | (select.POLLOUT if events & WRITE else 0)
