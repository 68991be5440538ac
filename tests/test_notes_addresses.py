"""Places of notes: beside the store, in a file, in PostgreSQL or nowhere; no message shows a password."""

import socket
from pathlib import Path

import pytest

from dashboard.__main__ import main
from dashboard.notes.address import NO_PLACE, SWITCHED_OFF, notes_address
from dashboard.serving import Serving


def test_notes_are_beside_a_store_on_disk(tmp_path: Path) -> None:
    for store in (str(tmp_path / "store"), f"file://{tmp_path}/store"):
        assert notes_address("", store).file == tmp_path / "store.notes.sqlite3"


@pytest.mark.parametrize(("text", "store", "reason"), [("", "s3://bucket/x", NO_PLACE), ("none", "x", SWITCHED_OFF)])
def test_without_a_database_the_reason_is_given(text: str, store: str, reason: str) -> None:
    address = notes_address(text, store)
    assert (address.url, address.reason) == (None, reason)


@pytest.mark.parametrize("text", ["notes.db", "sqlite:///notes.db", "./notes.db"])
def test_a_file_can_be_named(text: str) -> None:
    assert notes_address(text, "x").file == Path("notes.db")


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_a_password_is_not_shown(scheme: str) -> None:
    address = notes_address(f"{scheme}://ann:secret@db.example.org/notes", "x")
    assert str(address) == "postgresql+psycopg://ann:***@db.example.org/notes"
    assert "secret" not in f"{address!r} {Serving(notes=address)!r}"


@pytest.mark.parametrize(
    "text", ["mysql://ann:secret@h/d", "postgresql://ann:secret@h", "sqlite://", "http://secret", "://secret"]
)
def test_another_address_is_refused_before_serving(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADSCAPE_NOTES", text)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert main([f"--store={tmp_path}/store", f"--port={port}"]) == 1
    error = capsys.readouterr().err
    assert (
        error
        == "dashboard: --notes is no database for notes. Give a file, sqlite:///FILE, postgresql://USER@HOST/NAME, or none.\n"
    )
