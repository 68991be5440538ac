"""The server listens on a unix socket; one sentence says why it cannot."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dashboard import __main__ as command
from dashboard.web.addresses import UNIX, bind_of, check_free
from tests.fronts import answering

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        bound.listen()
        yield bound


def test_a_free_path_is_bound(tmp_path: Path) -> None:
    check_free(f"unix:{tmp_path}/http", 0)
    assert bind_of(f"unix:{tmp_path}/http", 8050) == f"unix:{tmp_path}/http"


def test_the_socket_of_a_killed_server_is_replaced(tmp_path: Path) -> None:
    with listening(tmp_path / "http"):
        pass
    check_free(f"unix:{tmp_path}/http", 0)


def test_the_socket_of_a_running_server_stays(tmp_path: Path) -> None:
    with listening(tmp_path / "http"), pytest.raises(ValueError, match="Another server listens"):
        check_free(f"unix:{tmp_path}/http", 0)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("none/http", "There is no folder {}/none for the socket."),
        ("file", "{}/file is not a socket. Remove it"),
        ("x" * 100, "is not an absolute path of at most 107 bytes."),
    ],
)
def test_a_path_that_cannot_be_bound_is_reported_before_serving(
    path: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert command.main([f"--host=unix:{tmp_path}/{path}"]) == 1
    assert sentence.format(tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "sentence"),
    [
        ("no-such-host.invalid", "is not known. Give 127.0.0.1"),
        ("192.0.2.1", "is no address of this machine. Give 127.0.0.1"),
    ],
)
def test_a_host_that_is_not_this_machine_is_named_as_the_cause(host: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"--host={host} {sentence}"):
        check_free(host, 0)


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(ValueError, match="not an absolute path"):
        check_free("unix:http", 0)


def test_a_folder_of_somebody_else_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ValueError, match=f"This user may not create a socket in {tmp_path}"):
        check_free(f"unix:{tmp_path}/http", 0)


def test_a_request_over_a_unix_socket_names_it_as_its_client(tmp_path: Path) -> None:
    seen = {}

    def application(environ: dict[str, object], start: object) -> list[bytes]:
        seen.update(environ)
        start("200 OK", [("Content-Length", "2")])  # type: ignore[operator]
        return [b"ok"]

    with (
        listening(tmp_path / "http") as bound,
        answering(application, bound.dup()),
        socket.socket(socket.AF_UNIX) as client,
    ):
        client.connect(str(tmp_path / "http"))
        client.sendall(GET)
        assert client.recv(12) == b"HTTP/1.1 200"
    assert (seen["REMOTE_ADDR"], seen["SERVER_PORT"]) == (UNIX, "80")
