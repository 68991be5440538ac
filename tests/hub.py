"""A hub on this machine with the data sets of a folder: it answers the requests of `huggingface_hub` and `datasets`, no others."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

#: The newest revision of every data set.
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Answers with the files of `folder/<owner>/<name>`; refuses a name that ends in `gated`."""

    folder: Path
    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.asked.append(path)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        parts = path.strip("/").split("/")
        api = parts[0] == "api"
        name, rest = "/".join(parts[2 if api else 1 :][:2]), parts[4 if api else 3 :]
        place = self.folder / name
        if name.endswith("gated"):
            self._send(403, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to it is restricted."})
        elif not place.is_dir():
            self._send(404, b"", {"X-Error-Code": "RepoNotFound"})
        elif api:
            self._send_facts(name, place, rest, body)
        else:
            self._send_file(place / "/".join(rest[2:] if rest[0] == "resolve" else rest[1:]))

    def _send_facts(self, name: str, place: Path, rest: list[str], body: str) -> None:
        files = sorted(path for path in place.rglob("*") if path.is_file())
        known = {path.relative_to(place).as_posix(): path for path in files}
        if rest and rest[0] == "tree":
            facts: object = _listed(place, place / "/".join(rest[2:]), recursive="recursive=True" in self.path)
        elif rest and rest[0] == "paths-info":
            asked = json.loads(body)["paths"]
            facts = [_entry(place, place / path) for path in asked if path and (place / path).exists()]
        else:
            facts = {"id": name, "sha": COMMIT, "siblings": [{"rfilename": title} for title in known]}
        self._send(200, json.dumps(facts).encode(), {"Content-Type": "application/json"})

    def _send_file(self, path: Path) -> None:
        if not path.is_file():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            return
        content = path.read_bytes()
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
        self._send(206 if start else 200, content[start:], {"X-Repo-Commit": COMMIT, "ETag": f'"{_oid(path)}"'})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for title, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(title, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _oid(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()


def _listed(place: Path, folder: Path, *, recursive: bool) -> list[dict[str, object]]:
    return [_entry(place, path) for path in sorted(folder.rglob("*") if recursive else folder.glob("*"))]


def _entry(place: Path, path: Path) -> dict[str, object]:
    title = path.relative_to(place).as_posix()
    if path.is_dir():
        return {"type": "directory", "oid": "0", "path": title}
    return {"type": "file", "oid": _oid(path), "size": path.stat().st_size, "path": title}


@contextmanager
def serving_hub(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a hub with the data sets of a folder, and the paths that it was asked for."""
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OneHub", (Hub,), {"folder": folder, "asked": asked}))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
