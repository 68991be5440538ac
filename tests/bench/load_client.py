"""Readers of a server on this machine: one event loop, a connection for each, and answers that are not parsed.

They share the cores with the server, so a request is a write of bytes, and an answer is counted and dropped.
"""

import asyncio
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.bench.load_requests import Request

#: Seconds after which a reader gives up, and bytes of one read.
PATIENCE, PIECE = 120, 1 << 16
OK, BUSY = 200, 503
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Pace:
    """How many readers ask at once, for how long, and the seconds from one answer to their next request."""

    readers: int
    seconds: float
    pause: tuple[float, float] = (0, 0)


@dataclass(frozen=True)
class Answer:
    """The outcome of a request.

    `at` is the second of the clock at which the answer was complete; `status` is 0 without an answer. `retry` says
    whether the answer names a time to ask again.
    """

    kind: str
    at: float
    milliseconds: float
    status: int
    retry: bool

    @property
    def is_clear(self) -> bool:
        """Whether the request succeeded, or the answer says that the server is busy and when to ask again."""
        return self.status == OK or self.told_busy

    @property
    def told_busy(self) -> bool:
        """Whether the answer says that the server is busy, and when to ask again."""
        return self.status == BUSY and self.retry


async def ask_all(address: str, requests: Iterator[Request], pace: Pace, answers: list[Answer]) -> None:
    """Let all readers ask, each one request after the other, and add their answers to the list."""
    end = time.monotonic() + pace.seconds
    netloc = urlsplit(address).netloc
    readers = (_read(_Connection(netloc), requests, pace, end, number, answers) for number in range(pace.readers))
    await asyncio.gather(*readers)


async def _read(
    connection: "_Connection",
    requests: Iterator[Request],
    pace: Pace,
    end: float,
    number: int,
    answers: list[Answer],
) -> None:
    pauses = random.Random(number)
    await asyncio.sleep(pauses.uniform(0, pace.pause[1]))  # readers do not begin together
    while time.monotonic() < end:
        answer = await connection.ask(next(requests))
        answers.append(answer)
        await asyncio.sleep(pauses.uniform(*pace.pause))
    connection.close()


class _Connection:
    """A reader's connection, which is opened anew after an error or where the server closes it."""

    def __init__(self, netloc: str) -> None:
        self._netloc = netloc
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request) -> Answer:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                status, retry = await self._exchange(_bytes(self._netloc, request))
        except (OSError, EOFError, TimeoutError, ValueError):
            self.close()
            status, retry = 0, False
        answer = Answer(request.kind, time.monotonic(), 1000 * (time.perf_counter() - began), status, retry)
        if not answer.is_clear:
            print(status, request.kind, request.path, file=sys.stderr)
        return answer

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None

    async def _exchange(self, content: bytes) -> tuple[int, bool]:
        """The status of an answer, and whether the answer names a time to ask again."""
        if self._streams is None:
            host, port = self._netloc.rsplit(":", 1)
            self._streams = await asyncio.open_connection(host, int(port))
        reader, writer = self._streams
        writer.write(content)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await _drop_body(reader, head)
        if b"\r\nconnection: close" in head:
            self.close()
        return int(head.split(None, 2)[1]), b"\r\nretry-after:" in head


async def _drop_body(reader: asyncio.StreamReader, head: bytes) -> None:
    if b"\r\ntransfer-encoding: chunked" in head:
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
        return
    left = int(head.split(b"\r\ncontent-length:", 1)[1].split(b"\r\n", 1)[0])
    while left:
        piece = await reader.read(min(left, PIECE))
        if not piece:
            raise EOFError
        left -= len(piece)


def _bytes(netloc: str, request: Request) -> bytes:
    body = request.body or b""
    form = f"Content-Type: {FORM}\r\nContent-Length: {len(body)}\r\n" if request.body is not None else ""
    method = "GET" if request.body is None else "POST"
    head = f"{method} {request.path} HTTP/1.1\r\nHost: {netloc}\r\nAccept-Encoding: gzip\r\n{form}\r\n"
    return head.encode() + body
