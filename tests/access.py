"""Servers that ask who sends a request, and people who sign in. Fixtures for the tests of access."""

import re
import time
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.security import generate_password_hash

from dashboard.access import users
from dashboard.access.settings import Access, TrustedProxy
from dashboard.access.sign_in import DEVICE_SUFFIX
from dashboard.access.users import User
from dashboard.app import create_app
from dashboard.serving import Serving
from dashboard.web.addresses import AddressList
from dashboard.web.served_store import ServedStore

PASSWORD = "correct horse battery"
#: A hash that costs nothing: these tests do not measure the cost of scrypt.
CHEAP = "scrypt:512:8:1"
PROXY = "10.0.0.1"
HTML = {"Accept": "text/html"}


def write_users(file: Path, **roles: str) -> Path:
    """Users with one password."""
    named = {
        name: User(role=role, password=generate_password_hash(PASSWORD, CHEAP), stamp="1")  # type: ignore[arg-type]
        for name, role in roles.items()
    }
    file.write_bytes(users._FILE.dump_json(named))
    return file


def by_password(folder: Path, **settings: float) -> Access:
    """Access by password for ada, an author, and bob, a reader."""
    file = write_users(folder / "users.json", ada="author", bob="reader")
    return Access("password", state=folder, users=file, **settings)  # type: ignore[arg-type]


def by_proxy(**settings: tuple[str, ...]) -> Access:
    proxy = TrustedProxy("X-Forwarded-User", AddressList((ip_network(PROXY),)))
    return Access("proxy", proxy=proxy, **settings)  # type: ignore[arg-type]


def server_of(store: str, access: Access) -> Flask:
    server: Flask = create_app(ServedStore(store), Serving(access=access)).server
    return server


def sign_in(client: FlaskClient, name: str = "ada", password: str = PASSWORD, link: str = "") -> int:
    """The status of the answer to the sign-in form."""
    return client.post("/login", data={"name": name, "password": password, "next": link}).status_code


def cookie_of(client: FlaskClient) -> tuple[str, str]:
    """The name and the value of the session cookie."""
    (cookie,) = [each for each in client._cookies.values() if not each.key.endswith(DEVICE_SUFFIX)]  # type: ignore[union-attr]
    return cookie.key, cookie.value


def comes_in(client: FlaskClient) -> bool:
    return client.get("/").status_code == 200


def made_token(client: FlaskClient, days: int) -> str:
    """A token that the signed-in person makes on the account page."""
    answer = client.post("/account", data={"days": str(days)})
    shown = re.search(r'<p class="token" role="status">([^<]+)</p>', answer.text)
    assert shown, answer.text
    return shown[1]


def opens(client: FlaskClient, path: str, token: str, method: str = "GET") -> bool:
    """Whether a request with a token is let in."""
    return client.open(path, method=method, headers={"Authorization": f"Bearer {token}"}).status_code != 401


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """In modules that import this fixture, the command writes cheap hashes; an unknown name costs as little."""
    monkeypatch.setattr(users, "METHOD", CHEAP)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A function that sets all clocks to a number of seconds from now."""
    now = time.time()
    return lambda seconds: monkeypatch.setattr(time, "time", lambda: now + seconds)


@pytest.fixture
def server(tiny_store: str, tmp_path: Path) -> Flask:
    """A server that ada, an author, and bob, a reader, sign in to with a password."""
    return server_of(tiny_store, by_password(tmp_path))


@pytest.fixture
def client_of(server: Flask) -> Callable[..., FlaskClient]:
    """A function that gives a client in which a person has signed in."""

    def client_of(name: str) -> FlaskClient:
        client = server.test_client()
        assert sign_in(client, name) == 303
        return client

    return client_of
