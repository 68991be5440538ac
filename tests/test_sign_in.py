"""Signing in with a password: sessions, roles, the return to a link, pages of other sites, logs."""

import json
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from dashboard.access.sign_in import local_link
from dashboard.access.users import EndedSessions, change_user, remove_user, secret_key
from tests.access import (
    HTML,
    PASSWORD,
    by_password,
    cheap_passwords,  # noqa: F401
    client_of,  # noqa: F401
    clock,  # noqa: F401
    comes_in,
    cookie_of,
    server,  # noqa: F401
    server_of,
    sign_in,
    write_users,
)

ClientOf = Callable[..., FlaskClient]
LINKS = Flask("links")


def test_a_person_signs_in_and_returns_to_the_link(server: Flask) -> None:  # noqa: F811
    client = server.test_client()
    sent_away = client.get("/head?layer=3&q=a%26b", headers=HTML)
    assert (sent_away.status_code, sent_away.headers["Location"]) == (303, "/login?next=/head%3Flayer=3%26q=a%2526b")
    form = client.get(sent_away.headers["Location"]).text
    link = re.search(r'name="next" value="([^"]+)"', form)
    assert link
    answer = client.post("/login", data={"name": "ada", "password": PASSWORD, "next": link[1].replace("&amp;", "&")})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/head?layer=3&q=a%26b")
    assert comes_in(client)


def test_a_page_that_is_refused_says_where_to_sign_in(server: Flask) -> None:  # noqa: F811
    response = server.test_client().post("/data/page")
    assert (response.status_code, response.text) == (401, "Your session has ended. Sign in again.")
    assert response.headers["Sign-In"] == "/login"


@pytest.mark.parametrize(("name", "password"), [("ada", "wrong"), ("eve", PASSWORD), ("", ""), ("ada\0", PASSWORD)])
def test_a_wrong_name_and_a_wrong_password_are_one_sentence(name: str, password: str, server: Flask) -> None:  # noqa: F811
    client = server.test_client()
    response = client.post("/login", data={"name": name, "password": password})
    assert response.status_code == 401
    assert "The name or the password is wrong. Try again." in response.text
    assert not comes_in(client)


def test_the_cookie_is_for_this_server_alone(server: Flask) -> None:  # noqa: F811
    form = {"name": "ada", "password": PASSWORD}
    plain, private = (
        server.test_client().post("/login", data=form, base_url=f"{scheme}://localhost", environ_overrides=environ)
        for scheme, environ in (("http", {}), ("https", {"SCRIPT_NAME": "/x"}))
    )
    for path, cookie in (("", -1), ("login", 0)):
        flags, private_flags = (
            {part.strip() for part in answer.headers.getlist("Set-Cookie")[cookie].split(";")[1:]}
            for answer in (plain, private)
        )
        assert {"HttpOnly", "SameSite=Lax", f"Path=/{path}"} < flags
        assert "Secure" not in flags
        assert {"Secure", f"Path=/x{path and '/'}{path}"} < private_flags


def test_signing_out_ends_the_session_and_its_copies(client_of: ClientOf, server: Flask) -> None:  # noqa: F811
    client, copied = client_of("ada"), server.test_client()
    copied.set_cookie(*cookie_of(client))
    other = client_of("ada")
    assert comes_in(copied)
    assert client.post("/logout").headers["Location"] == "/login"
    assert [comes_in(each) for each in (client, copied, other)] == [False, False, True]


def test_signing_in_again_ends_the_session_before(client_of: ClientOf, server: Flask) -> None:  # noqa: F811
    client, copied = client_of("ada"), server.test_client()
    before = cookie_of(client)
    copied.set_cookie(*before)
    assert sign_in(client, "bob") == 303
    assert cookie_of(client) != before
    assert not comes_in(copied)


def test_revoking_a_person_ends_all_sessions_of_that_person_alone(client_of: ClientOf, tmp_path: Path) -> None:  # noqa: F811
    ada, again, bob = client_of("ada"), client_of("ada"), client_of("bob")
    EndedSessions(tmp_path).end_all("ada")
    assert [comes_in(each) for each in (ada, again, bob)] == [False, False, True]
    assert sign_in(ada) == 303
    assert comes_in(ada)


def test_a_session_outlives_a_restart_but_no_change_of_the_settings(
    client_of: ClientOf,  # noqa: F811
    tiny_store: str,
    tmp_path: Path,
) -> None:
    cookie, access = cookie_of(client_of("ada")), by_password(tmp_path)
    others = write_users(tmp_path / "others.json", ada="author")
    clients = [server_of(tiny_store, each).test_client() for each in (access, replace(access, users=others))]
    for client in clients:
        client.set_cookie(*cookie)
    assert [comes_in(client) for client in clients] == [True, False]


@pytest.mark.parametrize("seconds", [0, 3600 - 5, -3600])
def test_a_session_ends_in_its_time_by_whatever_clock(
    seconds: int,
    tiny_store: str,
    tmp_path: Path,
    clock: Callable[[float], None],  # noqa: F811
) -> None:
    client = server_of(tiny_store, by_password(tmp_path, session_hours=1)).test_client()
    clock(0)
    assert sign_in(client) == 303
    clock(seconds)
    assert comes_in(client) == (seconds >= 0)
    clock(3601)
    assert not comes_in(client)


def test_another_role_is_seen_at_the_next_request(client_of: ClientOf, tmp_path: Path) -> None:  # noqa: F811
    client = client_of("bob")
    assert ", reader" in client.get("/_dash-layout").text
    change_user(tmp_path / "users.json", "bob", role="author")
    assert ", author" in client.get("/_dash-layout").text


def test_another_password_and_a_removed_user_end_sessions(client_of: ClientOf, tmp_path: Path) -> None:  # noqa: F811
    ada, bob = client_of("ada"), client_of("bob")
    change_user(tmp_path / "users.json", "ada", password="another password")
    remove_user(tmp_path / "users.json", "bob")
    assert not comes_in(ada)
    assert not comes_in(bob)


@pytest.mark.parametrize("name", ["users.json", "ended.json"])
def test_a_damaged_or_missing_file_lets_nobody_in(name: str, client_of: ClientOf, tmp_path: Path) -> None:  # noqa: F811
    client = client_of("ada")
    (tmp_path / name).write_text("{")
    damaged = client.get("/", headers=HTML)
    (tmp_path / name).unlink()
    missing = client.get("/", headers=HTML)
    for response in (damaged, missing):
        assert (response.status_code, response.mimetype) == (503, "text/plain")
        assert name in response.text
    assert sign_in(client) == 503
    assert client.get("/_healthz").status_code == 200


def test_the_key_is_private_and_stays(tmp_path: Path) -> None:
    key = secret_key(tmp_path)
    assert len(key) >= 32
    assert secret_key(tmp_path) == key
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


@given(st.text(alphabet="/\\.:@?#%abc \t\n\u2028", max_size=12) | st.text(max_size=30))
def test_no_link_leads_to_another_server(link: str) -> None:
    with LINKS.test_request_context("/login"):
        local = local_link(link)
    for text in (local, local.replace("\\", "/"), re.sub(r"[\t\r\n]", "", local)):
        assert urlsplit(urljoin("http://localhost/login", text)).netloc == "localhost"


@pytest.mark.parametrize(
    "link", ["//evil.example", "/\\evil.example", "http://evil.example", "javascript:1", "/\t/e", "/login"]
)
def test_a_link_to_elsewhere_is_the_first_page(link: str) -> None:
    with LINKS.test_request_context("/login", environ_overrides={"SCRIPT_NAME": "/x"}):
        assert local_link(link) == "/x/"


def test_a_very_long_link_is_cut_to_its_page() -> None:
    with LINKS.test_request_context("/login"):
        assert local_link(f"/sentence?text={'a' * 3000}") == "/sentence"
        assert local_link(f"/sentence?text={'a' * 1000}").endswith("aaa")


OTHER_SITES = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://localhost:81"},
    {"Origin": "http://localhost.evil.example"},
    {"Origin": "null"},
]
OWN_SITE = [
    {},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://localhost"},
    {"Origin": "https://localhost"},
]


@pytest.mark.parametrize("path", ["/data/page", "/login", "/logout", "/_dash-update-component"])
@pytest.mark.parametrize("headers", OTHER_SITES)
def test_a_page_of_another_site_changes_nothing(headers: dict[str, str], path: str, client: FlaskClient) -> None:
    """The rule holds also where nobody signs in: the fixture's server admits anybody."""
    response = client.post(path, headers=headers)
    assert response.status_code == 403
    assert "another site" in response.text


def test_a_page_of_another_site_signs_nobody_in_or_out(client_of: ClientOf) -> None:  # noqa: F811
    client, form = client_of("ada"), {"name": "bob", "password": PASSWORD}
    before = cookie_of(client)
    for headers in OTHER_SITES:
        assert client.post("/login", data=form, headers=headers).status_code == 403
        assert client.post("/logout", headers=headers).status_code == 403
    assert cookie_of(client) == before
    assert comes_in(client)


@pytest.mark.parametrize("headers", OWN_SITE)
def test_an_own_page_and_a_script_may_send(headers: dict[str, str], client: FlaskClient) -> None:
    form = {"pathname": "/store", "search": "", "snapshot": ""}
    assert client.post("/data/page", data=form, headers=headers).status_code == 200


def test_another_site_may_link_to_a_page(client: FlaskClient) -> None:
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_nothing_secret_is_logged_or_linked(server: Flask, caplog: pytest.LogCaptureFixture) -> None:  # noqa: F811
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "headscape")
    client = server.test_client()
    form = {"name": "my secret password", "password": "my other secret", "next": "/head"}
    refused = client.post("/login", data=form)
    accepted = client.post("/login", data=form | {"name": "ada", "password": PASSWORD})
    client.get("/data/unknown")
    links = str([*refused.headers, accepted.headers["Location"]])
    for secret in ("my secret", "my other secret", PASSWORD, cookie_of(client)[1]):
        assert secret not in caplog.text
        assert secret not in links


def test_the_page_to_sign_in_runs_no_script(server: Flask) -> None:  # noqa: F811
    response = server.test_client().get("/login")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script" not in policy
    assert "<script" not in response.text
    assert response.headers["Cache-Control"] == "no-store"


def test_the_name_is_shown_as_text(server: Flask) -> None:  # noqa: F811
    form = {"name": '"><script>', "password": "x", "next": '/"><script>'}
    assert "<script" not in server.test_client().post("/login", data=form).text


def test_the_header_names_who_is_signed_in(client_of: ClientOf) -> None:  # noqa: F811
    layout = json.dumps(client_of("bob").get("/_dash-layout").json)
    assert "Signed in as bob" in layout
    assert "/logout" in layout


def test_the_header_names_nobody_where_nobody_signs_in(client: FlaskClient) -> None:
    assert "Sign out" not in client.get("/_dash-layout").text
