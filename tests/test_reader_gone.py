"""Whether a reader is still there is seen on the connection itself."""

import socket
from collections.abc import Iterator

import pytest

from dashboard.reader_gone import SOCKETS, reader_gone

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture(params=[*socket.AddressFamily.__members__.keys() & {"AF_UNIX"}, "tcp"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """The reader's end and the server's."""
    ends = _tcp_pair() if request.param == "tcp" else socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def _tcp_pair() -> Pair:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        reader = socket.create_connection(listening.getsockname())
        return reader, listening.accept()[0]


@pytest.mark.parametrize("name", SOCKETS)
def test_a_reader_who_waits_is_there(name: str, pair: Pair) -> None:
    assert not reader_gone({name: pair[1]})


@pytest.mark.parametrize("name", SOCKETS)
def test_a_reader_who_closed_the_connection_is_gone(name: str, pair: Pair) -> None:
    pair[0].close()
    assert reader_gone({name: pair[1]})


def test_a_reader_who_asks_for_more_is_there_and_loses_nothing(pair: Pair) -> None:
    pair[0].sendall(b"GET /")
    assert not reader_gone({"gunicorn.socket": pair[1]})
    assert pair[1].recv(5) == b"GET /"


def test_a_connection_that_the_server_closed_has_no_reader(pair: Pair) -> None:
    pair[1].close()
    assert reader_gone({"gunicorn.socket": pair[1]})


def test_without_a_connection_nobody_is_taken_for_gone() -> None:
    assert not reader_gone({})
