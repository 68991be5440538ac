"""Headers of every response: sources that a browser may load, and the rights of other servers' pages over ours."""

import re

import pytest
from flask.testing import FlaskClient

from dashboard.web.assets import VERSION, version

FRAMED = {"Sec-Fetch-Dest": "iframe"}
PATHS = ["/", "/assets/style.css", "/data/page", "/data/1/a/b/c", "/nowhere/at/all", "/_dash-layout", "/_healthz"]


def policy(client: FlaskClient) -> dict[str, list[str]]:
    """Allowed sources of each kind of content, from the server's policy."""
    directives = client.get("/").headers["Content-Security-Policy"].split("; ")
    return {name: sources for name, *sources in map(str.split, directives)}


def test_scripts_are_files_of_the_server_or_have_a_known_hash(client: FlaskClient) -> None:
    own, *hashes = policy(client)["script-src"]
    assert own == "'self'"
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", source) for source in hashes)


def test_nothing_comes_from_another_server(client: FlaskClient) -> None:
    sources = {source for each in policy(client).values() for source in each if not source.startswith("'sha256-")}
    assert sources == {"'none'", "'self'", "'unsafe-inline'", "data:", "blob:"}
    assert policy(client)["default-src"] == policy(client)["base-uri"] == ["'none'"]


def test_pages_of_the_same_origin_may_frame_ours(client: FlaskClient) -> None:
    assert policy(client)["frame-ancestors"] == ["'self'"]
    assert "Heads" in client.get("/", headers=FRAMED | {"Sec-Fetch-Site": "same-origin"}).text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_frame_of_another_origin_says_that_it_stays_empty(site: str, client: FlaskClient) -> None:
    answer = client.get('/heads?q="><b>', headers=FRAMED | {"Sec-Fetch-Site": site})
    assert answer.status_code == 403
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors *"
    assert "Headscape is not shown inside pages of other servers." in answer.text
    assert '<a href="/heads?q=&quot;&gt;&lt;b&gt;" target="_blank" rel="noopener">' in answer.text


def test_only_styles_may_be_inline(client: FlaskClient) -> None:
    assert [name for name, sources in policy(client).items() if "'unsafe-inline'" in sources] == ["style-src"]


@pytest.mark.parametrize("path", PATHS)
def test_every_response_has_the_headers(path: str, client: FlaskClient) -> None:
    answer = client.get(path)
    assert answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert answer.headers["Referrer-Policy"] == answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert answer.headers[VERSION] == version()
    answer.close()


@pytest.mark.parametrize("name", ["Strict-Transport-Security", "Cross-Origin-Opener-Policy"])
def test_headers_that_need_https_are_sent_behind_it_alone(name: str, client: FlaskClient) -> None:
    assert name not in client.get("/_healthz").headers
    assert client.get("/_healthz", base_url="https://localhost").headers[name]
