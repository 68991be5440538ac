"""The account page: a signed-in person makes tokens, and ends all of them."""

import json
import logging

import pytest
from flask import Flask
from flask.testing import FlaskClient
from itsdangerous import URLSafeSerializer

from tests.access import (
    HTML,
    cheap_passwords,  # noqa: F401
    comes_in,
    made_token,
    opens,
    server,  # noqa: F401
    sign_in,
)

API = "/api/1/list_models"


@pytest.fixture
def bob(server: Flask) -> FlaskClient:  # noqa: F811
    client = server.test_client()
    assert sign_in(client, "bob") == 303
    return client


@pytest.fixture
def script(server: Flask) -> FlaskClient:  # noqa: F811
    return server.test_client()


def test_a_token_is_shown_once_and_kept_by_no_cache_and_no_log(
    bob: FlaskClient, script: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "headscape")
    answer = bob.post("/account", data={"days": "10"})
    assert answer.headers["Cache-Control"] == "no-store"
    assert "It is valid for 10 days." in answer.text
    token = made_token(bob, 10)
    assert opens(script, API, token)
    assert "bob made a token for 10 days" in caplog.text
    assert token not in bob.get("/account").text + caplog.text


def test_the_header_leads_to_the_page_which_leads_back_by_signing_in(bob: FlaskClient, script: FlaskClient) -> None:
    layout = json.dumps(bob.get("/_dash-layout").json)
    assert '"href": "/account", "title": "Signed in as bob: tokens for scripts"' in layout
    assert script.get("/account", headers=HTML).headers["Location"] == "/login?next=/account"


@pytest.mark.parametrize("days", ["0", "367", "-1", "x", "", "1e3"])
def test_wrong_days_are_a_sentence(days: str, bob: FlaskClient) -> None:
    answer = bob.post("/account", data={"days": days})
    assert answer.status_code == 400
    assert "A token is valid for 1 to 366 days. Choose such a number." in answer.text
    assert 'class="token"' not in answer.text


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
@pytest.mark.parametrize("form", [{"days": "10"}, {"end": "all"}])
def test_a_page_of_another_site_makes_and_ends_nothing(
    headers: dict[str, str], form: dict[str, str], bob: FlaskClient
) -> None:
    assert bob.post("/account", data=form, headers=headers).status_code == 403
    assert comes_in(bob)


def test_a_token_makes_no_token(bob: FlaskClient, script: FlaskClient) -> None:
    token = made_token(bob, 10)
    assert [opens(script, "/account", token, method) for method in ("GET", "POST")] == [False, False]


def test_a_forged_name_lets_nobody_in(bob: FlaskClient, script: FlaskClient) -> None:
    signer = URLSafeSerializer("a key of somebody else")
    written, signature = made_token(bob, 10).rsplit(".", 1)
    said = signer.load_payload(written.encode())
    forged = signer.dump_payload(said | {"name": "ada"}).decode()
    assert said["name"] == "bob"
    assert not opens(script, API, f"{forged}.{signature}")
    assert not opens(script, API, str(signer.dumps(said)))


def test_all_tokens_and_sessions_of_a_person_end_and_those_of_others_last(
    bob: FlaskClient,
    script: FlaskClient,
    server: Flask,  # noqa: F811
) -> None:
    ada, elsewhere = server.test_client(), server.test_client()
    assert [sign_in(ada, "ada"), sign_in(elsewhere, "bob")] == [303, 303]
    tokens = made_token(bob, 10), made_token(ada, 10)
    answer = bob.post("/account", data={"end": "all"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/account")
    assert [opens(script, API, token) for token in tokens] == [False, True]
    assert [comes_in(client) for client in (bob, elsewhere, ada)] == [False, False, True]
