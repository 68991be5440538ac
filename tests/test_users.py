"""The users file and the command `headscape users`."""

import io
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from dashboard.access.__main__ import main
from dashboard.access.private_file import AccessFileError, Watched
from dashboard.access.users import add_user, change_user, checked_user, remove_user, watched_users
from tests.access import PASSWORD, cheap_passwords  # noqa: F401


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "users.json"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and error output of the command, to which a password is piped."""
    status = main(arguments, io.StringIO(f"{PASSWORD}\n"))
    return status, *capsys.readouterr()


class Terminal(io.StringIO):
    """Standard input that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_user_signs_in_with_the_right_password_only(file: Path) -> None:
    add_user(file, "ada", "author", PASSWORD)
    users = watched_users(file).value
    assert checked_user(users, " Ada", PASSWORD) == users["ada"]
    assert checked_user(users, "ada", PASSWORD + "x") is None
    assert checked_user(users, "eve", PASSWORD) is None


def test_the_file_has_no_password_and_only_its_owner_reads_it(file: Path) -> None:
    add_user(file, "ada", "author", PASSWORD)
    assert PASSWORD not in file.read_text()
    assert json.loads(file.read_text())["ada"]["password"].startswith("scrypt:")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_one_letter_typed_in_two_ways_is_one_password(file: Path) -> None:
    add_user(file, "ada", "reader", "caf\u00e9 au lait \u00e9")
    assert checked_user(watched_users(file).value, "ada", "cafe\u0301 au lait e\u0301")


def test_an_unknown_name_costs_as_much_as_a_known_one(file: Path) -> None:
    add_user(file, "ada", "reader", PASSWORD)
    methods: list[str] = []

    def check(hashed: str, _password: str) -> bool:
        methods.append(hashed[:14])
        return True

    for name in ("ada", "eve"):
        checked_user(watched_users(file).value, name, PASSWORD, check)
    assert methods[0] == methods[1]


def test_a_change_is_seen_at_once(file: Path) -> None:
    add_user(file, "ada", "reader", PASSWORD)
    users = watched_users(file)
    stamp = users.value["ada"].stamp
    change_user(file, "ada", role="author")
    assert (users.value["ada"].role, users.value["ada"].stamp) == ("author", stamp)
    change_user(file, "ada", password="another password")
    assert users.value["ada"].stamp != stamp
    remove_user(file, "ada")
    assert users.value == {}


def test_a_file_that_is_edited_in_place_to_the_same_size_is_read_again(tmp_path: Path) -> None:
    edited = tmp_path / "number"
    watched = Watched(edited, int, "")
    for moment, content in enumerate((b"1", b"2")):
        edited.write_bytes(content)
        os.utime(edited, (moment, moment))  # two writes may fall into one tick of the clock
        assert watched.value == int(content)


def test_users_added_at_the_same_time_are_all_there(file: Path) -> None:
    threads = [threading.Thread(target=add_user, args=(file, f"u{i}", "reader", PASSWORD)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(watched_users(file).value) == 12


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"ada": {"role": "king"}}', b'{"ada": null}'])
def test_a_damaged_file_is_a_sentence_without_what_it_holds(content: bytes, file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(AccessFileError, match=r"users\.json is damaged\. Restore a copy") as error:
        _ = watched_users(file).value
    assert "king" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "password", "complaint"),
    [
        ("Ada", PASSWORD, "no name"),
        ("a b", PASSWORD, "no name"),
        ("", PASSWORD, "no name"),
        ("ada", "short", "12 to 256 characters"),
        ("ada", "x" * 257, "12 to 256 characters"),
    ],
)
def test_a_bad_name_or_password_is_refused(name: str, password: str, complaint: str, file: Path) -> None:
    with pytest.raises(AccessFileError, match=complaint):
        add_user(file, name, "reader", password)
    assert not file.exists()


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_password_that_is_not_utf_8_is_a_sentence(
    errors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"a long p\xe4ssword\n"), "utf-8", errors)
    assert main(["add", "ada", f"--state={tmp_path}"], typed) == 1
    assert capsys.readouterr().err == "users: The password is not UTF-8. Type it in UTF-8.\n"
    assert not (tmp_path / "users.json").exists()


def test_the_command_adds_and_lists_and_removes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = f"--state={tmp_path}"
    assert run(capsys, "add", "ada", "--role=author", folder) == (0, "ada may sign in as author.\n", "")
    assert run(capsys, "role", "ada", "--role=reader", folder)[0] == 0
    assert run(capsys, "list", folder) == (0, "ada\treader\n", "")
    assert run(capsys, "remove", "ada", folder) == (0, "ada may no longer come in.\n", "")
    assert run(capsys, "list", folder) == (0, "", "")


def test_a_user_is_not_added_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_user(tmp_path / "users.json", "ada", "reader", PASSWORD)
    status, _, complaint = run(capsys, "add", "ada", f"--state={tmp_path}")
    assert (status, complaint.count("\n")) == (1, 1)
    assert "There is a user ada already" in complaint


@pytest.mark.parametrize("name", ["remove", "password", "role"])
def test_an_unknown_user_is_a_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, complaint = run(capsys, name, "eve", f"--state={tmp_path}")
    assert (status, complaint) == (1, "users: There is no user 'eve'. List them with `headscape users list`.\n")


def test_sessions_of_a_name_that_is_not_utf_8_are_not_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    complaint = "users: The name 'b\\udce9' is not UTF-8. Type it in UTF-8.\n"
    assert run(capsys, "revoke", "b\udce9", f"--state={tmp_path}") == (1, "", complaint)
    assert not (tmp_path / "ended.json").exists()


def test_a_password_is_asked_twice_without_echo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter([PASSWORD, PASSWORD + "x"])
    status = main(["add", "ada", f"--state={tmp_path}"], Terminal(), lambda _: next(answers))
    assert (status, capsys.readouterr().err) == (1, "users: The two passwords differ. Type the same one twice.\n")
