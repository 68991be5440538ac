"""Signing in by an OpenID provider that runs on this machine: who is admitted, which of its answers are refused, tokens of its people."""

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard.access.__main__ import main
from dashboard.access.account import Tokens
from dashboard.access.settings import Access, Provider
from dashboard.access.users import EndedSessions
from tests.access import HTML, by_password, comes_in, cookie_of, made_token, opens, server_of
from tests.provider import CLIENT, FOREIGN_KEY, SECRET, FakeProvider, running_provider

Settings = Callable[..., Access]


@pytest.fixture(scope="module")
def running() -> Iterator[FakeProvider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: FakeProvider) -> FakeProvider:
    """The provider with its default answers."""
    running.begin_anew()
    return running


@pytest.fixture
def access(provider: FakeProvider, tmp_path: Path) -> Access:
    """Access that admits people of example.org; ada may write."""
    settings = Provider(provider.discovery, CLIENT, SECRET, domains=("example.org",))
    return Access("oidc", state=tmp_path, provider=settings, authors=("ada@example.org",))


@pytest.fixture
def server(access: Access, tiny_store: str) -> Flask:
    return server_of(tiny_store, access)


@pytest.fixture
def browser(server: Flask) -> FlaskClient:
    return server.test_client()


def way_back(browser: FlaskClient, provider: FakeProvider, link: str = "/head?layer=3") -> str:
    """The link by which the provider sends a browser back that has asked to sign in."""
    sent = browser.get("/login/provider", query_string={"next": link})
    assert sent.status_code == 302, sent.text
    parts = urlsplit(provider.authorize(sent.headers["Location"]))
    return f"{parts.path}?{parts.query}"


def returned(browser: FlaskClient, provider: FakeProvider) -> TestResponse:
    return browser.get(way_back(browser, provider))


def test_a_person_signs_in_and_returns_to_the_link(browser: FlaskClient, provider: FakeProvider) -> None:
    page = browser.get(browser.get("/head?layer=3", headers=HTML).headers["Location"])
    assert 'href="/login/provider?next=/head%3Flayer%3D3"' in page.text
    assert "Sign in with 127.0.0.1" in page.text
    answer = returned(browser, provider)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/head?layer=3")
    assert comes_in(browser)
    layout = browser.get("/_dash-layout").text
    assert "Signed in as ada@example.org" in layout
    assert ", author" in layout


def test_a_person_who_is_not_named_reads(browser: FlaskClient, provider: FakeProvider) -> None:
    provider.claims["email"] = "bob@example.org"
    assert returned(browser, provider).status_code == 303
    assert ", reader" in browser.get("/_dash-layout").text


WRONG: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "x"},
    "no nonce": {"nonce": None},
    "expired": {"exp": 1_000_000_000},
    "another audience": {"aud": "other"},
    "another audience on our behalf": {"aud": "other", "azp": CLIENT},
    "on another's behalf": {"aud": [CLIENT, "other"], "azp": "other"},
    "another issuer": {"iss": "http://evil.example"},
    "from the future": {"iat": 9_000_000_000},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_token_is_refused(wrong: dict[str, Any], browser: FlaskClient, provider: FakeProvider) -> None:
    provider.wrong = wrong
    is_refused(returned(browser, provider), 401, "did not confirm who you are")
    assert not comes_in(browser)


def is_refused(answer: TestResponse, status: int, sentence: str) -> None:
    assert (answer.status_code, sentence in answer.text) == (status, True), answer.text


def test_a_token_with_another_signature_is_refused(browser: FlaskClient, provider: FakeProvider) -> None:
    provider.key = FOREIGN_KEY
    is_refused(returned(browser, provider), 401, "did not confirm who you are")
    assert not comes_in(browser)


def test_a_token_without_a_signature_is_refused_even_if_the_provider_lists_it(
    browser: FlaskClient, provider: FakeProvider
) -> None:
    provider.signed = False
    is_refused(returned(browser, provider), 401, "did not confirm who you are")


@pytest.mark.parametrize("state", ["x", ""])
def test_another_state_is_refused(state: str, browser: FlaskClient, provider: FakeProvider) -> None:
    code = parse_qs(urlsplit(way_back(browser, provider)).query)["code"][0]
    is_refused(browser.get(f"/login/callback?code={code}&state={state}"), 401, "did not confirm who you are")
    assert provider.tokens == []


def test_the_way_back_of_another_browser_is_refused(
    browser: FlaskClient, server: Flask, provider: FakeProvider
) -> None:
    """Otherwise an attacker could sign a reader in to another account."""
    victim = server.test_client()
    victim.get("/login/provider")
    is_refused(victim.get(way_back(browser, provider)), 401, "did not confirm who you are")
    assert not comes_in(victim)


def test_a_way_back_is_good_for_once(browser: FlaskClient, provider: FakeProvider) -> None:
    link = way_back(browser, provider)
    assert browser.get(link).status_code == 303
    browser.post("/logout")
    assert browser.get(link).status_code == 401


@pytest.mark.parametrize("query", ["", "?error=access_denied&state=x", "?code=&state=", "?code=x", "?state=x"])
def test_a_way_back_without_a_code_is_refused(query: str, browser: FlaskClient) -> None:
    is_refused(browser.get(f"/login/callback{query}"), 401, "did not confirm who you are")


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_address_that_is_not_verified_is_refused(
    verified: object, browser: FlaskClient, provider: FakeProvider
) -> None:
    provider.claims["email_verified"] = verified
    is_refused(returned(browser, provider), 403, "has not verified your e-mail address")
    assert not comes_in(browser)


@pytest.mark.parametrize(
    "address",
    ["eve@evil.example", "eve@example.org@evil.example", "eve@sub.example.org", "@example.org", "example.org", ""],
)
def test_a_person_of_another_domain_is_refused(address: str, browser: FlaskClient, provider: FakeProvider) -> None:
    provider.claims["email"] = address
    is_refused(returned(browser, provider), 403, "may not come in here")
    assert not comes_in(browser)


@pytest.mark.parametrize("address", [f"{'a' * 189}@example.org", "a\x08@example.org"])
def test_an_address_that_no_note_holds_is_refused(address: str, browser: FlaskClient, provider: FakeProvider) -> None:
    provider.claims["email"] = address
    is_refused(returned(browser, provider), 403, "more than 200 characters, or hidden ones")
    assert not comes_in(browser)


@pytest.mark.parametrize(
    ("groups", "status"),
    [
        (["readers"], 303),
        (["others", "readers"], 303),
        ([{"name": "others"}, "readers"], 303),
        ([{"name": "readers"}], 403),
        ([["readers"]], 403),
        (["others"], 403),
        ("readers", 403),
        (None, 403),
    ],
)
def test_one_of_the_groups_is_enough(
    groups: object, status: int, access: Access, provider: FakeProvider, tiny_store: str
) -> None:
    assert access.provider
    settings = replace(access.provider, domains=(), groups=("readers", "writers"))
    provider.claims["groups"] = groups
    browser = server_of(tiny_store, replace(access, provider=settings)).test_client()
    assert returned(browser, provider).status_code == status


def test_an_address_that_the_token_lacks_is_asked_for(browser: FlaskClient, provider: FakeProvider) -> None:
    provider.userinfo = {"sub": "1", "email": provider.claims.pop("email"), "email_verified": True}
    assert returned(browser, provider).status_code == 303


def test_an_address_of_somebody_else_is_refused(browser: FlaskClient, provider: FakeProvider) -> None:
    provider.userinfo = {"sub": "2", "email": provider.claims.pop("email"), "email_verified": True}
    is_refused(returned(browser, provider), 403, "may not come in here")


def test_sessions_are_revoked_by_name(browser: FlaskClient, provider: FakeProvider, tmp_path: Path) -> None:
    assert returned(browser, provider).status_code == 303
    EndedSessions(tmp_path).end_all("ada@example.org")
    assert not comes_in(browser)


def test_a_session_ends_where_other_domains_are_allowed(
    browser: FlaskClient, provider: FakeProvider, access: Access, tiny_store: str
) -> None:
    assert returned(browser, provider).status_code == 303
    assert access.provider
    other = replace(access, provider=replace(access.provider, domains=("example.com",)))
    restarted = server_of(tiny_store, other).test_client()
    restarted.set_cookie(*cookie_of(browser))
    assert not comes_in(restarted)


@pytest.mark.parametrize("path", ["/login/provider", "/login/callback?code=x&state=x"])
def test_a_provider_that_is_down_is_a_sentence(path: str, access: Access, tiny_store: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/.well-known/openid-configuration"
        assert access.provider
        down = replace(access, provider=replace(access.provider, discovery=address, seconds=(0.05, 0.05)))
        answer = server_of(tiny_store, down).test_client().get(path)
    assert (answer.status_code, answer.mimetype) == (503, "text/plain")
    assert "does not answer as it should. Try again in a minute." in answer.text


@pytest.mark.slow
def test_a_silent_provider_is_a_sentence(access: Access, tiny_store: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/.well-known/openid-configuration"
        assert access.provider
        waiting = replace(access, provider=replace(access.provider, discovery=address))
        assert server_of(tiny_store, waiting).test_client().get("/login/provider").status_code == 503


def test_a_provider_that_recovers_is_asked_again(browser: FlaskClient, provider: FakeProvider) -> None:
    provider.status = 500
    assert browser.get("/login/provider").status_code == 503
    provider.status = 200
    assert returned(browser, provider).status_code == 303


def test_nothing_secret_is_logged_or_linked(
    browser: FlaskClient, provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "headscape")
    link = way_back(browser, provider)
    answer = browser.get(link)
    query = parse_qs(urlsplit(link).query)
    (token,) = provider.tokens
    secrets = [SECRET, query["code"][0], query["state"][0], token["code_verifier"], cookie_of(browser)[1]]
    for secret in secrets:
        assert secret not in caplog.text
        assert secret not in answer.headers["Location"] + answer.text


def test_what_is_sent_to_the_provider_is_what_the_protocol_needs(browser: FlaskClient, provider: FakeProvider) -> None:
    way_back(browser, provider)
    (query,) = provider.sent.values()
    needed = {
        "response_type",
        "client_id",
        "redirect_uri",
        "scope",
        "state",
        "nonce",
        "code_challenge",
        "code_challenge_method",
    }
    assert query.keys() == needed
    assert query["redirect_uri"] == "http://localhost/login/callback"


def test_the_session_before_ends_when_somebody_signs_in(
    browser: FlaskClient, provider: FakeProvider, server: Flask
) -> None:
    assert returned(browser, provider).status_code == 303
    copied = server.test_client()
    copied.set_cookie(*cookie_of(browser))
    assert returned(browser, provider).status_code == 303
    assert not comes_in(copied)


API = "/api/1/list_models"


@pytest.fixture
def token(browser: FlaskClient, provider: FakeProvider) -> str:
    """Ada's token for ten days, which she made on the page of her account."""
    assert returned(browser, provider).status_code == 303
    return made_token(browser, 10)


def test_a_person_of_the_provider_makes_a_token_that_reads_the_interface_for_programs(
    token: str, server: Flask
) -> None:
    script = server.test_client()
    assert opens(script, API, token)
    refused = [("GET", "/heads"), ("GET", "/account"), ("POST", "/account"), ("POST", API), ("GET", "/api/notes")]
    assert [opens(script, path, token, method) for method, path in refused] == [False] * 5


def test_a_token_lasts_for_a_month_at_most_where_a_provider_vouches(
    browser: FlaskClient, provider: FakeProvider
) -> None:
    assert returned(browser, provider).status_code == 303
    answer = browser.post("/account", data={"days": "31"})
    is_refused(answer, 400, "A token is valid for 1 to 30 days. Choose such a number.")


@pytest.mark.parametrize(
    "end",
    [lambda folder: main(["revoke", "Ada@example.org", f"--state={folder}"]), lambda folder: (folder / "key").unlink()],
)
def test_a_token_ends_when_revoked_and_with_the_key(
    end: Callable[[Path], object], token: str, access: Access, tiny_store: str, tmp_path: Path
) -> None:
    end(tmp_path)
    assert not opens(server_of(tiny_store, access).test_client(), API, token)


def test_a_token_ends_where_other_domains_or_groups_are_admitted(token: str, access: Access, tiny_store: str) -> None:
    assert access.provider
    others = [replace(access.provider, domains=("example.com",)), replace(access.provider, groups=("readers",))]
    servers = [server_of(tiny_store, replace(access, provider=other)).test_client() for other in others]
    assert [opens(client, API, token) for client in servers] == [False, False]
    assert opens(server_of(tiny_store, access).test_client(), API, token)


def test_a_token_ends_when_the_provider_names_its_person_without_the_group(
    access: Access, provider: FakeProvider, tiny_store: str
) -> None:
    assert access.provider
    of_group = replace(access, provider=replace(access.provider, groups=("readers",)))
    server = server_of(tiny_store, of_group)
    browser = server.test_client()
    assert returned(browser, provider).status_code == 303
    token = made_token(browser, 10)
    provider.claims["groups"] = ["others"]
    is_refused(returned(server.test_client(), provider), 403, "may not come in here")
    assert not opens(server.test_client(), API, token)
    assert not comes_in(browser)


def test_a_stranger_ends_nothing(token: str, server: Flask, provider: FakeProvider, tmp_path: Path) -> None:
    """Otherwise any account of the provider could fill the file of ended sessions, or end tokens by an unverified address."""
    provider.claims["email"] = "ada@evil.example"
    assert returned(server.test_client(), provider).status_code == 403
    provider.claims |= {"email": "ada@example.org", "email_verified": False}
    assert returned(server.test_client(), provider).status_code == 403
    assert EndedSessions(tmp_path).value.people == {}
    assert opens(server.test_client(), API, token)


def test_a_token_of_the_users_file_is_none_of_a_provider_s_person_and_the_reverse(
    token: str, server: Flask, tiny_store: str, tmp_path: Path
) -> None:
    """Both have the same folder, thus the same key, and the same name."""
    assert not opens(server.test_client(), API, Tokens(tmp_path).issue("ada@example.org", "", 10))
    assert not opens(server_of(tiny_store, by_password(tmp_path)).test_client(), API, token)
