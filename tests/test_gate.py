"""The gate: every route of the application and of Dash, by every method, with every kind of invalid credential."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard.access.gate import guard
from dashboard.access.person import LONGEST_NAME
from dashboard.access.settings import Access, Provider
from dashboard.access.users import EndedSessions
from dashboard.app import create_app
from dashboard.serving import Serving
from dashboard.web.addresses import AddressList
from dashboard.web.served_store import ServedStore
from store import Corpus, open_corpus
from tests.access import (
    PROXY,
    by_password,
    by_proxy,
    cheap_passwords,  # noqa: F401
    cookie_of,
    server_of,
    sign_in,
)

Closed = tuple[str, Flask]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
HEALTH = {"/_healthz", "/_readyz"}
SIGNING_IN = {"/login", "/logout", "/fonts/<name>"}
#: Rules of all routes that anybody may use. A new open route must be added here.
OPEN = {
    "password": HEALTH | SIGNING_IN,
    "oidc": HEALTH | SIGNING_IN | {"/login/provider", "/login/callback"},
    "proxy": HEALTH,
}
#: Values of the parts of a rule, by the kind of the part.
VALUES = {"int": "1", "path": "x/y"}
PROVIDER = Provider("http://127.0.0.1:9/.well-known/openid-configuration", "client", "secret", ("example.org",))


def access_of(kind: str, folder: Path) -> Access:
    if kind == "oidc":
        return Access("oidc", state=folder, provider=PROVIDER)
    return by_password(folder) if kind == "password" else by_proxy()


def paths(server: Flask, corpus: Corpus) -> dict[str, str]:
    """A path of every rule, with things that exist where a part names one."""
    known = {"snapshot": corpus.snapshot, "model": corpus.name, "other": corpus.name, "view": next(iter(corpus.views))}

    def value(part: re.Match[str]) -> str:
        kind, name = part["kind"] or "", part["name"]
        choices = re.match(r"any\(([^,)]+)", kind)
        return choices[1] if choices else known.get(name) or VALUES.get(kind, "x")

    part = re.compile(r"<(?:(?P<kind>[^:<>]+):)?(?P<name>[^<>]+)>")
    return {rule.rule: part.sub(value, rule.rule) for rule in server.url_map.iter_rules()}


def forged_cookies(server: Flask, foreign: Flask, folder: Path) -> Iterator[str]:
    """Cookies: made up, altered, of another key; with the right key: expired, of another password or person, revoked."""
    client = server.test_client()
    assert sign_in(client) == 303
    cookie = cookie_of(client)[1]
    own, other = (each.session_interface.get_signing_serializer(each) for each in (server, foreign))  # type: ignore[attr-defined]
    person = own.loads(cookie)["person"]
    yield "eyJwZXJzb24iOnsibmFtZSI6ImFkYSJ9fQ.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb"
    yield cookie[:-2]
    yield other.dumps({"person": person})
    for change in ({"until": time.time() - 1}, {"name": "nobody"}, {"stamp": "0"}, {"policy": "0"}, {"name": None}):
        yield own.dumps({"person": person | change})
    EndedSessions(folder).end_all("ada")
    yield cookie


HEADERS: list[Mapping[str, str]] = [
    {},
    {
        "X-Forwarded-User": "ada",
        "X-Forwarded-For": PROXY,
        "Authorization": "Basic YWRhOmFkYQ==",
        "headscape.peer": PROXY,
    },
    {
        "Accept": "text/html",
        "Sec-Fetch-Mode": "navigate",
        "X-Original-URL": "/_healthz",
        "X-HTTP-Method-Override": "GET",
    },
]


def comes_through(client: FlaskClient, path: str, method: str, headers: Mapping[str, str]) -> bool:
    """Whether a request gets anything but a refusal."""
    response = client.open(path, method=method, headers=headers)
    response.close()
    is_sent_away = response.status_code == 303 and response.headers["Location"].startswith("/login?next=/")
    return not (is_sent_away or response.status_code in (401, 403))


def rules_that_answer(
    client: FlaskClient, links: Mapping[str, str], headers: Mapping[str, str], methods: Sequence[str] = METHODS
) -> set[str]:
    return {rule for rule, path in links.items() for method in methods if comes_through(client, path, method, headers)}


@pytest.fixture(scope="module", params=OPEN)
def closed(request: pytest.FixtureRequest, tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> Closed:
    """A kind of access, and an application with it."""
    return request.param, server_of(tiny_store, access_of(request.param, tmp_path_factory.mktemp("access")))


@pytest.mark.parametrize("headers", HEADERS, ids=["none", "identity", "page"])
def test_only_health_and_signing_in_answer_to_nobody(
    headers: Mapping[str, str], closed: Closed, tiny_store: str
) -> None:
    kind, server = closed
    links = paths(server, open_corpus(tiny_store))
    assert len(links) > 60
    assert rules_that_answer(server.test_client(), links, headers) == OPEN[kind]


def test_no_cookie_that_is_not_a_session_comes_through(tiny_store: str, tmp_path: Path) -> None:
    folders = tmp_path / "own", tmp_path / "other"
    for folder in folders:
        folder.mkdir()
    server = server_of(tiny_store, by_password(folders[0]))
    links = paths(server, open_corpus(tiny_store))
    name = server.config["SESSION_COOKIE_NAME"]
    foreign = server_of(tiny_store, by_password(folders[1]))
    for cookie in forged_cookies(server, foreign, folders[0]):
        client = server.test_client()
        client.set_cookie(name, cookie)
        assert rules_that_answer(client, links, {}, ["GET", "POST"]) == OPEN["password"], cookie


def test_the_same_requests_come_through_with_a_session(tiny_store: str, tmp_path: Path) -> None:
    server = server_of(tiny_store, by_password(tmp_path))
    client = server.test_client()
    assert sign_in(client) == 303
    links = {rule: path for rule, path in paths(server, open_corpus(tiny_store)).items() if rule != "/logout"}
    assert rules_that_answer(client, links, {}) == set(links)


def test_no_route_fails_for_whom_the_gate_lets_in(tiny_store: str, tmp_path: Path) -> None:
    server = server_of(tiny_store, by_password(tmp_path))
    client = server.test_client()
    assert sign_in(client) == 303
    links = paths(server, open_corpus(tiny_store))
    failed = {}
    for rule, path in links.items():
        with client.get(path) as response:
            if response.status_code >= 500:
                failed[rule] = response.text
    assert failed == {}


def test_a_route_that_is_added_later_is_behind_the_gate(tiny_store: str, tmp_path: Path) -> None:
    server = Flask("later")
    guard(server, by_password(tmp_path), ServedStore(tiny_store), {})
    server.add_url_rule("/later", view_func=lambda: "secret")
    assert server.test_client().get("/later").status_code == 401


@pytest.mark.parametrize(
    "path", ["/_readyz/x", "/_healthz/x", "//_healthz", "/login/x", "/_HEALTHZ", "/data/../_healthz"]
)
def test_a_path_like_an_open_one_is_closed(path: str, server_client: FlaskClient) -> None:
    assert server_client.get(path).status_code in (303, 308, 401)


@pytest.fixture(scope="module")
def server_client(tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    return server_of(tiny_store, by_password(tmp_path_factory.mktemp("access"))).test_client()


@pytest.fixture(scope="module")
def from_proxy(tiny_store: str) -> Callable[..., int]:
    """A function that gives the status of an answer to a connection from an address, with headers."""
    serving = Serving(access=by_proxy(authors=("ada@example.org",)), proxies=AddressList((ip_network(PROXY),)))
    server = create_app(ServedStore(tiny_store), serving).server

    def status(address: str, name: str | None, **headers: str) -> int:
        named = headers | ({} if name is None else {"X-Forwarded-User": name})
        return server.test_client().get("/", headers=named, environ_overrides={"REMOTE_ADDR": address}).status_code

    return status


def test_the_proxy_names_the_person(from_proxy: Callable[..., int]) -> None:
    assert from_proxy(PROXY, "ada@example.org") == 200
    assert from_proxy(f"::ffff:{PROXY}", "ada@example.org") == 200
    assert from_proxy(PROXY, "x" * LONGEST_NAME) == 200  # as many characters as a note holds


@pytest.mark.parametrize("name", [None, "", "eve, ada", "ada bob", "x" * (LONGEST_NAME + 1)])
def test_a_proxy_that_names_nobody_lets_nobody_in(name: str | None, from_proxy: Callable[..., int]) -> None:
    assert from_proxy(PROXY, name) == 401


@pytest.mark.parametrize("address", ["10.0.0.2", "127.0.0.1", "::1", "", "localhost", "x"])
def test_another_address_may_not_name_anybody(address: str, from_proxy: Callable[..., int]) -> None:
    assert from_proxy(address, "ada@example.org") == 403


def test_the_address_of_the_connection_counts_not_that_of_the_client(from_proxy: Callable[..., int]) -> None:
    assert from_proxy(PROXY, "ada@example.org", **{"X-Forwarded-For": "192.0.2.7"}) == 200
    assert from_proxy("192.0.2.7", "ada@example.org", **{"X-Forwarded-For": PROXY}) == 403
