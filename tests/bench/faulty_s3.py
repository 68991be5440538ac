"""A local S3 server, and a proxy before it that makes a seeded share of its answers late, wrong, cut or lost."""

import os
import random
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from logging import ERROR, getLogger
from pathlib import Path
from threading import Lock, Thread
from typing import Literal
from unittest.mock import patch

from moto.server import ThreadedMotoServer

Fault = Literal["500", "503", "slow", "cut connection", "cut answer", "lost answer"]
FAULTS: tuple[Fault, ...] = ("500", "503", "slow", "cut connection", "cut answer", "lost answer")
#: Seconds of a slow answer, unless the proxy is told otherwise.
SLOW = 1.0
NO_END = 1 << 30
BUCKET = "bucket"
ACCESS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
#: Headers of one connection, which a proxy does not pass on.
OWN = {"connection", "keep-alive", "transfer-encoding", "content-length"}
REFUSED = "<Error><Code>{code}</Code><Message>injected</Message></Error>"


class FaultyS3(ThreadingHTTPServer):
    """The proxy. Its fields may be changed at any time.

    Attributes
    ----------
    fault, share, path, left, slow
        Fault and its settings, as `fail` sets them. Only answers to writes are lost.
    delay
        Seconds before every request is passed on.
    seen, injected
        Requests by their method so far, and faults by their kind since `fail`.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, server: tuple[str, int], *, seed: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.server = server
        self.fault: Fault | None = None
        self.share, self.path, self.left = 1.0, "", NO_END
        self.delay, self.slow = 0.0, SLOW
        self.seen: Counter[str] = Counter()
        self.injected: Counter[str] = Counter()
        self._chance, self._lock = random.Random(seed), Lock()

    def fail(
        self, fault: Fault, *, share: float = 1, path: str = "", most: int = NO_END, seconds: float = SLOW
    ) -> None:
        """Let a share of the requests to a path fail from now on, at most `most` of them."""
        self.fault, self.share, self.path, self.left, self.slow = fault, share, path, most, seconds
        self.injected.clear()

    def calm(self) -> None:
        """Let nothing fail from now on."""
        self.fault = None

    def empty(self) -> None:
        """Empty the server, whose buckets are in the memory of this process, and make the bucket."""
        self._send([("POST", "/moto-api/reset", b""), ("PUT", f"/{BUCKET}", b"")])

    def upload(self, folder: Path, prefix: str) -> None:
        """Copy a local store into the bucket: its files are its objects."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        self._send(("PUT", f"/{BUCKET}/{prefix}/{path.relative_to(folder)}", path.read_bytes()) for path in files)

    def _send(self, requests: Iterable[tuple[str, str, bytes]]) -> None:
        connection = HTTPConnection(*self.server, timeout=60)
        for method, path, body in requests:
            connection.request(method, path, body)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, (method, path, answer.status)
        connection.close()

    @property
    def address(self) -> str:
        """URL of the proxy."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_fault(self, method: str, path: str) -> Fault | None:
        """The fault of a request, or None; counts the request and the fault."""
        with self._lock:
            self.seen[method] += 1
            fails = self.path in path and (self.fault != "lost answer" or method == "PUT")
            if self.fault is None or not fails or not self.left or self._chance.random() >= self.share:
                return None
            self.left -= 1
            self.injected[self.fault] += 1
            return self.fault

    def handle_error(self, *_: object) -> None:
        """Ignore errors: clients close their connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: FaultyS3

    def setup(self) -> None:
        super().setup()
        self._upstream = HTTPConnection(*self.server.server, timeout=60)

    def finish(self) -> None:
        self._upstream.close()
        with suppress(OSError):
            super().finish()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.next_fault(self.command, self.path)
        time.sleep(self.server.delay + (self.server.slow if fault == "slow" else 0))
        if fault in ("500", "503"):
            self._refuse(int(fault))
        elif fault == "cut connection":
            self._cut()
        else:
            self._pass_on(body, fault)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _answer  # noqa: N815  # as http.server calls them

    def _refuse(self, status: int) -> None:
        content = REFUSED.format(code="InternalError" if status == 500 else "SlowDown").encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _pass_on(self, body: bytes, fault: Fault | None) -> None:
        try:
            self._upstream.request(self.command, self.path, body, dict(self.headers))
            answer = self._upstream.getresponse()
            content = answer.read()
        except (OSError, HTTPException):
            self._cut()
            return
        if fault == "lost answer":
            self._cut()
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in OWN:
                self.send_header(name, value)
        self.send_header("Content-Length", answer.getheader("Content-Length") or str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == "cut answer" else content)
        if fault == "cut answer":
            self._cut()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def faulty_s3(*, seed: int = 0) -> Iterator[FaultyS3]:
    """A new S3 server with an empty bucket behind a proxy, both in threads; the environment names the proxy and credentials."""
    getLogger("werkzeug").setLevel(ERROR)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        host, port = moto.get_host_and_port()
        with FaultyS3((host, port), seed=seed) as proxy:
            Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, name="faulty S3", daemon=True).start()
            with patch.dict(os.environ, {**ACCESS, "AWS_ENDPOINT_URL": proxy.address}):
                proxy.empty()
                yield proxy
            proxy.shutdown()
    finally:
        moto.stop()
