"""Tokens of scripts: they read the interface for programs, and end as sessions do."""

from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dashboard.access.__main__ import main
from dashboard.access.account import issue_token
from dashboard.access.settings import Access
from dashboard.access.users import change_user, remove_user
from tests.access import (
    by_password,
    cheap_passwords,  # noqa: F401
    clock,  # noqa: F401
    cookie_of,
    server_of,
    sign_in,
)

API = "/api/1/list_models"
DAY = 86_400


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return by_password(tmp_path)


@pytest.fixture
def client(tiny_store: str, access: Access) -> FlaskClient:
    return server_of(tiny_store, access).test_client()


@pytest.fixture
def token(access: Access) -> str:
    """Bob's token for ten days."""
    return issue_token(access.state, access.users, "bob", 10)


def status(client: FlaskClient, token: str, path: str = API, method: str = "GET") -> int:
    return client.open(path, method=method, headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_token_reads_the_interface_for_programs(client: FlaskClient, token: str) -> None:
    assert client.get(API).status_code == 401
    assert status(client, token) == 200
    assert status(client, token, "/api/1/openapi.json") == 200


@pytest.mark.parametrize(
    "path", ["/heads", "/data/session", "/api/notes", "/metrics", "/api/x/list_models", "/data/page"]
)
def test_a_token_reads_nothing_else(client: FlaskClient, token: str, path: str) -> None:
    assert status(client, token, path) == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_token_changes_nothing(client: FlaskClient, token: str, method: str) -> None:
    assert status(client, token, method=method) == 401


@pytest.mark.parametrize(
    "end",
    [
        lambda folder: change_user(folder / "users.json", "bob", password="another password"),
        lambda folder: remove_user(folder / "users.json", "bob"),
        lambda folder: main(["revoke", "bob", f"--state={folder}"]),
    ],
    ids=["password", "removal", "revocation"],
)
def test_a_token_ends_with_the_password_with_its_person_and_when_revoked(
    client: FlaskClient, token: str, tmp_path: Path, end: Callable[[Path], object]
) -> None:
    end(tmp_path)
    assert status(client, token) == 401


def test_a_token_ends_after_its_days(client: FlaskClient, token: str, clock: Callable[[float], None]) -> None:  # noqa: F811
    clock(10 * DAY - 60)
    assert status(client, token) == 200
    clock(10 * DAY + 60)
    assert status(client, token) == 401


def test_a_token_of_another_key_or_altered_lets_nobody_in(
    client: FlaskClient, token: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    foreign = issue_token(tmp_path_factory.mktemp("other"), tmp_path / "users.json", "bob", 10)
    assert [status(client, wrong) for wrong in (foreign, token[:-1], f"x{token}", "")] == [401] * 4


def test_the_cookie_of_a_session_is_no_token_and_a_token_no_cookie(client: FlaskClient, token: str) -> None:
    assert sign_in(client) == 303
    name, cookie = cookie_of(client)
    client.delete_cookie(name)
    assert status(client, cookie) == 401
    client.set_cookie(name, token)
    assert client.get(API).status_code == 401


def test_the_command_prints_a_token(client: FlaskClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "Ada", f"--state={tmp_path}", "--days=1"]) == 0
    assert status(client, capsys.readouterr().out.strip()) == 200


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            ["nobody"],
            "users: There is no user 'nobody'. List them with `headscape users list`; people of a provider use the page /account.",
        ),
        (["bob", "--days=0"], "users: A token is valid for 1 to 366 days. Choose such a number."),
    ],
)
def test_a_token_that_cannot_be_made_is_a_sentence(
    access: Access, asked: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", *asked, f"--state={access.state}"]) == 1
    assert capsys.readouterr().err.strip() == sentence
