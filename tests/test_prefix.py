"""A server under a prefix: its answers, and the addresses in them."""

import json
import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard import __main__ as command
from dashboard.app import create_app
from dashboard.notes.target import lasting_link
from dashboard.serving import Serving
from dashboard.web.addresses import LOOPBACK
from dashboard.web.paths import path_prefix
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from tests.access import HTML, by_password
from tests.client import assets

PREFIX = "/head/x"


@pytest.fixture(scope="module")
def under(tiny_store: str) -> FlaskClient:
    """A client of a server whose prefix begins like the name of a page."""
    return create_app(ServedStore(tiny_store), Serving(prefix=PREFIX)).server.test_client()


def page(client: FlaskClient, pathname: str, search: str = "") -> str:
    return client.post(f"{PREFIX}/data/page", data={"pathname": pathname, "search": search, "snapshot": ""}).text


@pytest.mark.parametrize("path", ["/", PREFIX, f"{PREFIX}?layer=3", "/?layer=3"])
def test_the_start_leads_to_the_first_page_with_the_same_fields(path: str, under: FlaskClient) -> None:
    answer = under.get(path)
    query = path.partition("?")[2]
    assert (answer.status_code, answer.location) == (302, f"{PREFIX}/" + (f"?{query}" if query else ""))


@pytest.mark.parametrize(
    "path", ["/heads", "/_healthz", "/head", "/head/", "/head/xy", "/data/page", "/assets/style.css"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_outside_the_prefix_there_is_nothing(method: str, path: str, under: FlaskClient) -> None:
    answer = under.open(path, method=method)
    assert (answer.status_code, answer.mimetype) == (404, "text/plain")
    assert answer.text.startswith(f"This server answers under {PREFIX}/ alone.")


@pytest.mark.parametrize("header", ["X-ProxyContextPath", "X-Forwarded-Prefix"])
def test_a_proxy_may_take_the_prefix_away_and_say_so(header: str, tiny_store: str) -> None:
    serving = Serving(prefix=PREFIX, proxies=LOOPBACK)
    client = create_app(ServedStore(tiny_store), serving).server.test_client()
    answer = client.get("/heads", headers={header: PREFIX})
    assert answer.status_code == 200
    assert f'src="{PREFIX}/assets/color_scheme.js"' in answer.text
    assert client.get("/heads", headers={header: "/other"}).status_code == 404


@pytest.mark.parametrize(("path", "up"), [("/heads", "."), ("/docs/links.md", "./..")])
def test_a_redirect_starts_where_the_request_was_if_a_proxy_took_the_prefix_away(
    path: str, up: str, tiny_store: str, tmp_path: Path
) -> None:
    """The package jupyter-server-proxy puts the prefix before a path that begins with a slash, nginx does not."""
    serving = Serving(prefix=PREFIX, access=by_password(tmp_path))
    client = create_app(ServedStore(tiny_store), serving).server.test_client()
    assert client.get(path, headers=HTML | {"X-ProxyContextPath": PREFIX}).location.startswith(f"{up}/login?next=")
    assert client.get(f"{PREFIX}{path}", headers=HTML).location.startswith(f"{PREFIX}/login?next=")


def test_a_proxy_that_takes_the_prefix_away_in_silence_is_no_endless_redirect(tiny_store: str) -> None:
    client = create_app(ServedStore(tiny_store), Serving(prefix=PREFIX)).server.test_client()
    assert [client.get("/").status_code for _ in range(5)] == [302, 302, 302, 404, 404]
    assert "a proxy must pass on the whole path" in client.get("/").text
    assert client.get(f"{PREFIX}/").status_code == 200


def test_a_page_without_its_files_says_why(under: FlaskClient) -> None:
    shell = " ".join(under.get(f"{PREFIX}/").text.split())
    assert 'start the server with that path, <code translate="no">headscape serve --prefix=PATH</code>' in shell
    assert "#unloaded { display: none; }" in under.get(f"{PREFIX}/assets/shell.css").text


def test_routes_answer_under_the_prefix(under: FlaskClient) -> None:
    assert under.get(f"{PREFIX}/_healthz").status_code == 200
    assert under.get(f"{PREFIX}/fonts/Roboto-Regular.woff2").status_code == 200
    assert under.post(f"{PREFIX}/_dash-update-component", json=[]).status_code == 400


def test_every_address_of_the_shell_has_the_prefix(under: FlaskClient) -> None:
    shell = under.get(f"{PREFIX}/").text
    addresses = re.findall(r"""(?:src|href)="([^"#]+)""", shell)
    assert {f"{PREFIX}/assets/{name}" for name in assets()} <= {address.partition("?")[0] for address in addresses}
    assert all(address.startswith(f"{PREFIX}/") for address in addresses)
    (imports,) = re.findall(r'<script type="importmap">(.*?)</script>', shell)
    assert all(path.startswith(f"{PREFIX}/assets/") for path in json.loads(imports)["imports"])


@pytest.mark.parametrize("name", ["heads", "head"])
def test_a_path_of_the_address_bar_names_its_page(name: str, under: FlaskClient) -> None:
    shown = json.loads(page(under, f"{PREFIX}/{name}"))["shown"]
    assert shown["path"] == f"{PREFIX}/{name}"


def test_the_path_of_a_page_without_the_prefix_is_no_page(under: FlaskClient) -> None:
    assert "Unknown page: head/heads" in str(json.loads(page(under, "/head/heads"))["above"][0])


def test_an_address_has_the_prefix_only_in_an_answer() -> None:
    assert LinkState(page="heads").href == "/heads"


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("", ""),
        ("/", ""),
        ("/x/y", "/x/y"),
        (" /x/y/ ", "/x/y"),
        ("/a.b~c", "/a.b~c"),
        ("/user/a@b.org", "/user/a@b.org"),
    ],
)
def test_a_prefix_is_a_path(text: str, prefix: str) -> None:
    assert path_prefix(text) == prefix


@pytest.mark.parametrize(
    "text", ["x", "//x", "/x//y", "/../x", "/x/.", "/x y", "/é", '/"', "http://a/x", "/x?a", "/%41"]
)
def test_what_is_no_path_is_reported_before_serving(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--port", "0", "--prefix", text]) == 1
    assert capsys.readouterr().err.startswith(f"dashboard: --prefix={text} is not a path such as /team/heads.")


@pytest.mark.parametrize(
    ("prefix", "link", "lasting"),
    [
        ("/head", "/head/heads?layer=1", "/heads?layer=1"),
        ("/head", "/heads?layer=1", "/heads?layer=1"),
        ("/head", "/head?layer=1", "/head?layer=1"),
        ("/head", "/head/", "/"),
        ("", "/head?layer=1", "/head?layer=1"),
    ],
)
def test_the_link_of_a_note_is_the_same_from_a_page_under_a_prefix_and_from_a_file(
    prefix: str, link: str, lasting: str
) -> None:
    with Flask(__name__).test_request_context(environ_overrides={"SCRIPT_NAME": prefix}):
        assert lasting_link(link) == lasting
