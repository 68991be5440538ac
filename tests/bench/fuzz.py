"""Generated requests to a production server: none is answered with a server error, a traceback or something secret.

Paths follow the rules of the server with fitting, wrong and hostile values; methods, headers, cookies and bodies are drawn
at random. People sign in to the server: half of the cookies are of an author or a reader. A seed gives the same requests.
"""

import random
import re
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import quote, urlsplit

from flask import Flask, session

from dashboard.access.settings import Access
from dashboard.access.users import Sessions
from dashboard.web.security import CALLBACKS
from store import open_snapshot
from tests.access import by_password, server_of
from tests.bench.browser import production_server
from tests.bench.table import show

REQUESTS, CLIENTS = 20_000, 32
#: Seconds for the next byte of an answer: a request that announces more bytes than it sends gets no answer.
PATIENCE = 2
BUSY = 503
METHODS = ("GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "X" * 40, "")
HOSTILE = (
    "..", "%2e%2e%2f" * 6 + "etc/passwd", "%00", "%ff%fe", "\u202e", "-1", "1e309", "9" * 400, "NaN", "' OR 1=1 --", "<script>",
    "{{7*7}}", "${jndi:ldap://x}", "a" * 3_000, "%0d%0aSet-Cookie:x=1", "[]", "null", "\\", "%", "🙂", ";", "//x", "C:\\x", "?",
)  # fmt: skip
TYPES = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "",
    "x/" + "y" * 500,
)
BODIES = (
    b"", b"{", b"[" * 20_000, b"null", b"{}", b'{"output": 1}', b"\x00" * 100, b"a=b&" * 500, b"\xff\xfe", b"--x\r\n\r\n--x--",
    b'{"output":"..newer.children..","outputs":[],"inputs":[],"state":[]}', b"pathname=/head&search=?layer=%ff&snapshot=x",
    b"9" * 4_000, b'"' + b"\\ud800" * 300 + b'"',
)  # fmt: skip
HEADERS = (
    "Host", "Cookie", "Range", "If-None-Match", "If-Modified-Since", "Accept-Encoding", "Accept", "Origin", "Referer", "Authorization",
    "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "X-Request-ID", "Forwarded", "Expect", "Upgrade",
    "Transfer-Encoding", "Content-Encoding", "Sec-Fetch-Site", "X-HTTP-Method-Override", "Remote-User", "Connection", "Accept-Language",
)  # fmt: skip
FITTING_HEADERS = (
    "localhost",
    "gzip",
    "bytes=0-10",
    "bytes=9-1,-5",
    '"x"',
    "close",
    "chunked",
    "100-continue",
    "127.0.0.1",
    "https",
)
#: Sessions of an author and of a reader; a generated request may end one.
SESSIONS = 60
#: Text that no answer may hold: a traceback, a file of the server, its secrets.
LEAKS = re.compile(rb'Traceback \(most recent|File "/|site-packages|HEADSCAPE_[A-Z]+=|scrypt:\d|root:x:0:0')
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")


@dataclass(frozen=True)
class Generated:
    """A generated request: the bytes before its body, and the body."""

    head: bytes
    body: bytes


class Generator:
    """Draws requests from the rules of a server's addresses."""

    def __init__(self, rules: Sequence[str], fitting: dict[str, str], cookies: Sequence[str], seed: int) -> None:
        self._rules, self._fitting, self._cookies = rules, fitting, cookies
        self._chance = random.Random(seed)

    def __iter__(self) -> Iterator[Generated]:
        while True:
            yield self._request()

    def _request(self) -> Generated:
        method = self._chance.choices(METHODS, (30, 20, 5, *[1] * (len(METHODS) - 3)))[0]
        body = self._chance.choice(BODIES) if self._chance.random() < (0.9 if method == "POST" else 0.1) else b""
        lines = [f"{method} {self._path()}{self._query()} HTTP/1.1", *self._headers(len(body))]
        return Generated("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass"), body)

    def _path(self) -> str:
        if self._chance.random() < 0.05:
            return self._chance.choice(HOSTILE).replace(" ", "%20")
        if self._chance.random() < 0.1:
            return CALLBACKS
        return re.sub(r"<([^>]+)>", self._value, self._chance.choice(self._rules))

    def _value(self, converter: re.Match[str]) -> str:
        """A value for a part of an address; most values fit the rule."""
        name = converter[1].rpartition(":")[2]
        if self._chance.random() < 0.25:
            return quote(self._chance.choice(HOSTILE), safe="%")
        choices = re.match(r"any\(([^)]*)\)", converter[1])
        options = (
            choices[1].replace("'", "").split(", ")
            if choices
            else [self._fitting.get(name, str(self._chance.randrange(12)))]
        )
        return self._chance.choice(options)

    def _query(self) -> str:
        names = (
            "tokens",
            "q",
            "where",
            "text",
            "second",
            "find",
            "layer",
            "snapshot",
            "model",
            "next",
            "side",
            "source",
            "lasso",
            "at",
        )
        count = self._chance.choice((0, 0, 1, 2, 5))
        pairs = (
            f"{self._chance.choice(names)}={quote(self._chance.choice((*HOSTILE, '3', 'film', 'position:1..5')), safe='%')}"
            for _ in range(count)
        )
        return f"?{'&'.join(pairs)}" if count else ""

    def _headers(self, length: int) -> Iterator[str]:
        yield "Host: " + ("localhost" if self._chance.random() < 0.95 else self._chance.choice(HOSTILE[:12]))
        if length or self._chance.random() < 0.05:
            yield f"Content-Length: {length if self._chance.random() < 0.97 else self._chance.choice(('-1', 'x', '99999999999'))}"
            yield f"Content-Type: {self._chance.choice(TYPES)}"
        if self._chance.random() < 0.8:
            yield f"Cookie: {self._chance.choice(self._cookies)}"
        for _ in range(self._chance.choice((0, 0, 1, 3))):
            value = self._chance.choice((*FITTING_HEADERS, *HOSTILE)).replace("\r", "").replace("\n", "")
            yield f"{self._chance.choice(HEADERS[1:])}: {value}"
        yield "Connection: close"


def fuzz(store: str, requests: int = REQUESTS) -> int:
    """Send generated requests to a server of a store, and print its answers; returns 1 where an answer is wrong."""
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as folder:
        access = by_password(Path(folder))
        server = server_of(store, access)
        rules, fitting = _rules(server, store)
        cookies = [*COOKIES * (SESSIONS // 4), *(_session(server, access, name) for name in ("ada", "bob") * SESSIONS)]
        with production_server(store, log, "--auth=password", f"--state={folder}") as address:
            generators = [Generator(rules, fitting, cookies, seed) for seed in range(CLIENTS)]
            answers = _answers(address, generators, requests // CLIENTS)
            alive = _exchange(
                urlsplit(address).netloc,
                Generated(b"GET /_healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b""),
            )
        log.seek(0)
        tracebacks = log.read().count(b"Traceback (most recent")
    counts = Counter(status for status, _ in answers)
    leaks = sum(leak for _, leak in answers)
    wrong = {
        "server errors (5xx but 503 with a sentence)": sum(
            times for status, times in counts.items() if status >= 500 and status != BUSY
        ),
        "answers with a traceback, a path of the server or a secret": leaks,
        "tracebacks in the log": tracebacks,
        "server does not answer afterwards": int(alive[0] != 200),
    }
    rows = [
        (f"status {status or 'none: the connection was closed'}", times) for status, times in sorted(counts.items())
    ]
    show(f"{len(answers):,} generated requests", ("", "times"), [*rows, *wrong.items()])
    return int(any(wrong.values()))


def _session(server: Flask, access: Access, name: str) -> str:
    """The cookie of a new session of a person, made without signing in, as attempts to sign in are limited."""
    with server.test_request_context():
        Sessions(access).begin(name, stamp="1")
        response = server.make_response("")
        server.session_interface.save_session(server, session, response)
    return response.headers["Set-Cookie"].partition(";")[0]


def _answers(address: str, generators: Sequence[Generator], share: int) -> list[tuple[int, bool]]:
    def send(generator: Generator) -> list[tuple[int, bool]]:
        return [_exchange(urlsplit(address).netloc, request) for request in islice(generator, share)]

    with ThreadPoolExecutor(len(generators)) as clients:
        return [answer for answers in clients.map(send, generators) for answer in answers]


def _rules(server: Flask, store: str) -> tuple[list[str], dict[str, str]]:
    """The rules of the server's addresses, and values that fit them in this store."""
    snapshot = open_snapshot(store)
    corpus = snapshot.corpus()
    fitting = {
        "snapshot": snapshot.id,
        "model": corpus.name,
        "form": "csv",
        "view": next(iter(corpus.views), "none"),
        "role": "query",
    }
    return sorted({rule.rule for rule in server.url_map.iter_rules()}), fitting


COOKIES = (
    "session=x", "session=eyJzaWQiOiJ4In0.aaaa.bbbb", "headscape=" + "A" * 3_000, "session=; session=;;=;", "a=b; " * 200,
    "session=%00", "session=\u202e", "__Host-session=1",
)  # fmt: skip


def _exchange(netloc: str, sent: Generated) -> tuple[int, bool]:
    """Status of the answer, 0 without one, and whether it leaks something."""
    host, _, port = netloc.rpartition(":")
    answer = b""
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as client:
            client.sendall(sent.head + sent.body)
            while part := client.recv(1 << 16):
                answer = answer[:200_000] + part if len(answer) < 200_000 else answer
    except OSError:
        pass  # the server may close before it has read all, or wait for bytes that never come
    status = STATUS.match(answer)
    return int(status[1]) if status else 0, bool(LEAKS.search(answer) or Path.cwd().as_posix().encode() in answer)
