"""A worker of gunicorn that runs waitress: an event loop reads requests and sends answers, threads compute them.

A client that is slow, or that never finishes its request, occupies no thread.
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

#: Most bytes of the first line of a request, which may hold a typed pair: the limit of most proxies.
REQUEST_LINE = 8190
#: Most bytes of a request: of line and headers together (Referer repeats the line), and of the body.
HEADERS, BODY = 32 << 10, 1 << 20
#: Most bytes of an answer that wait for a slow client in memory, and on disk; with more, the answer's thread waits.
IN_MEMORY, ON_DISK = 1 << 20, 64 << 20
#: Most open connections of a worker, and files that each may need: the socket, a request's body, an answer.
CONNECTIONS, FILES = 1_000, 3
#: Files that a worker needs besides connections: files of the store and of libraries.
OTHER_FILES = 200
#: Reserve beyond the limit: connections that are accepted while no other can be closed, and waitress' own sockets.
SPARE = 20

#: Key of the WSGI environment for whether the server stops.
STOPS = "headscape.stops"
#: Seconds between two signs of life to gunicorn, which replaces a worker without them.
PULSE = 1.0
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

log = logging.getLogger("headscape.connections")


@dataclass(frozen=True)
class Patience:
    """Longest times in seconds that the server waits for a client.

    Attributes
    ----------
    headers, body
        From the first byte of a request to the end of its headers, and of its body.
    idle, stalled, thread
        Times of a connection without a request; of a client that reads nothing of its answer; and of a thread that waits until
        the client has read enough of a long answer.
    """

    headers: float = 20
    body: float = 60
    idle: float = 60
    stalled: float = 60
    thread: float = 30


#: Times of every server that a command starts.
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
        channel_request_lookahead=1,  # waitress reads on while it answers, and so notices that a client has left
        log_socket_errors=False,
        ident="",
        server_name="localhost",
        clear_untrusted_proxy_headers=False,  # addresses.py clears them
    )


def most_connections() -> int:
    """Number of connections that the limit of open files allows; raises the limit of this process as far as allowed."""
    wanted = CONNECTIONS * FILES + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(1, (allowed - OTHER_FILES) // FILES)


class Request(HTTPRequestParser):  # type: ignore[misc]
    """A request; refused where proxies and servers could interpret it in two ways (RFC 9112, 6.3), or where its line is too long."""

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the header. Raises ParsingError, which is answered with 400."""
        try:
            super().parse_header(header_plus)
        # waitress would answer 501, which counts as a fault of the server.
        except TransferEncodingNotImplemented as error:
            raise ParsingError("The server reads no Transfer-Encoding but chunked.") from error
        if len(self.first_line) > REQUEST_LINE:
            raise ParsingError(f"The request line has more than {REQUEST_LINE:,} bytes.")
        if "TRANSFER_ENCODING" in self.headers or (self.chunked and "CONTENT_LENGTH" in self.headers):
            raise ParsingError("Transfer-Encoding goes neither with Content-Length nor with HTTP/1.0.")


class Answer(WSGITask):  # type: ignore[misc]
    """The answer to a request; where the worker finishes, the last answer on its connection."""

    def get_environment(self) -> dict[str, Any]:
        """The WSGI environment, with whether the server stops."""
        environ: dict[str, Any] = super().get_environment()
        return environ | {STOPS: self.channel.server.stops}

    def build_response_header(self) -> bytes:
        """The status and the headers: `Connection: close` tells the client to send its next request to another worker."""
        if self.channel.server.finishes:
            self.set_close_on_finish()
        return bytes(super().build_response_header())


class Connection(HTTPChannel):  # type: ignore[misc]
    """The connection of a client. All methods run in the event loop except `service` and its writes."""

    parser_class = Request
    task_class = Answer
    #: Times: first byte of the incomplete request, and beginning of a thread's wait to write.
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
        """Whether a thread works for the connection or will: it may change at any time which events the connection waits for."""
        return bool(self.requests)

    def received(self, data: bytes) -> bool:
        """Receive bytes, and note the time at which a request began."""
        before = self.request
        taken = super().received(data)
        if self.request is not None and self.request is not before:
            self.began = time.time()
        return bool(taken)

    def write_soon(self, data: bytes) -> int:
        """Write bytes, and note the time from which the thread waits."""
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
        """Time from which the server waits for the client; valid only while no thread works for the connection."""
        return float(self.last_activity if self.request is None or self.total_outbufs_len else self.began)

    @property
    def _patience(self) -> float:
        patience: Patience = self.server.patience
        if self.request is None:
            return patience.idle
        return patience.body if self.request.headers_finished else patience.headers


class EventLoop:
    """Calls the sockets of waitress when they can be read or written.

    The loop of waitress asks every socket in every round for its events, so that with 150 open connections an answer
    takes 1.4 times as long. This loop asks a socket only after an event, and while a thread works for it.
    """

    def __init__(self) -> None:
        #: Sockets by file number: waitress adds and removes its sockets here.
        self.sockets: dict[int, Any] = {}
        self._changed: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._waking = -1

    def wake_by(self, number: int) -> None:
        """Let a turn end when this file number is readable: a handled signal alone does not end a turn."""
        self._waking = number
        self._selector.register(number, READ)

    def change(self, number: int) -> None:
        """Ask the socket of this file number again for the events that it waits for."""
        self._changed.add(number)

    def forget(self, number: int) -> None:
        """Stop watching a socket. Call it before closing the socket: the next socket may have the same number."""
        self._changed.discard(number)
        self._watch(number, 0)

    def turn(self, seconds: float) -> None:
        """Handle the next events, or return after `seconds` without events."""
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
        if waiting is None:  # a thread reported a change of a socket that was closed meanwhile
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
    """Accepts connections, and closes connections whose client has kept the server waiting for too long.

    At the limit, a new connection replaces an open one that waits for its client: the longest waiting one of the address
    with the most such connections. Where no connection waits for its client, the new one waits.
    """

    channel_class = Connection
    #: Whether every answer is the last on its connection, and whether the server stops, so that no other worker takes over.
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
        """`most`: the largest number of open connections, by default as many as the limit of open files allows."""
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
        """The address that the server listens on; a unix socket has no port: 80 stands for it, as URLs leave out http's port."""
        return (UNIX, 80) if self.family == socket.AF_UNIX else super().getsockname()

    def fix_addr(self, addr: Any) -> Any:
        """The address of a client; `unix` for a client of a unix socket, which has none."""
        return (UNIX, 0) if self.family == socket.AF_UNIX else addr

    def set_socket_options(self, conn: socket.socket) -> None:
        """Set options of TCP; a unix socket has none."""
        if self.family != socket.AF_UNIX:
            super().set_socket_options(conn)

    @property
    def answers(self) -> bool:
        """Whether a request is being answered."""
        return any(channel.requests or channel.total_outbufs_len for channel in self.active_channels.values())

    def stop_accepting(self) -> None:
        """Leave new connections to other workers; open connections get at most one more answer."""
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
        """Close overdue connections. waitress itself never closes a stalled connection: it waits until the client reads."""
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
    connection, as the client may be about to send it, and announces the end of the connection in the answer.
    """

    #: Whether another worker answers in place of this worker.
    replaced = False
    #: Ends the process.
    end = staticmethod(end_now)

    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        self._made = self.tmp.last_update()
        self.fronts: list[FrontServer] = []

    @property
    def answers(self) -> bool:
        """Whether the worker has begun to answer; the process that started it reads this."""
        return bool(self.tmp.last_update() != self._made)

    def init_signals(self) -> None:
        """Handle the signals of gunicorn, and SIGUSR2."""
        super().init_signals()
        signal.signal(signal.SIGUSR2, self._handle_replacement)

    def run(self) -> None:
        """Answer until told to stop, then finish open answers, and end the process."""
        # Waitress would warn whenever a request waits for a thread.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        let_answers_overflow()
        self.threads = ThreadedTaskDispatcher()
        self.threads.set_thread_count(self.cfg.threads)
        self.loop = EventLoop()
        self.loop.wake_by(self.PIPE[0])  # gunicorn writes into this pipe at every signal
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
        """Number of open connections."""
        return sum(len(front.active_channels) for front in self.fronts)

    def _is_needed(self) -> bool:
        return any(front.answers or (self.replaced and front.active_channels) for front in self.fronts)


def _poll_flags(events: int) -> int:
    return (select.POLLIN if events & READ else 0) | (select.POLLOUT if events & WRITE else 0)
