"""Notes over HTTP: requests of programs, refusals as sentences, and pages that work without the database."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.notes.address import GONE, SWITCHED_OFF, notes_address
from dashboard.notes.target import HeadTarget
from dashboard.serving import Serving
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.people import NAMED, with_people

Serve = Callable[[str], FlaskClient]


@pytest.fixture(scope="module")
def serve_notes(tiny_store: str) -> Serve:
    def serve_notes(place: str) -> FlaskClient:
        app = create_app(ServedStore(tiny_store), Serving(notes=notes_address(place, tiny_store)))
        return with_people(app.server).test_client()

    return serve_notes


@pytest.fixture(scope="module")
def author(serve_notes: Serve, tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    return serve_notes(str(tmp_path_factory.mktemp("routes") / "notes.sqlite3"))


@pytest.fixture
def target(tiny_corpus: Corpus) -> str:
    return HeadTarget.of(tiny_corpus, 1, 1).key


def add(client: FlaskClient, target: str, text: str = "Hello") -> dict[str, Any]:
    answer = client.post("/api/notes", json={"target": target, "text": text, "tags": ["A"]})
    assert answer.status_code == 201, answer.text
    return dict(answer.json)


def test_a_note_is_written_edited_replied_to_and_deleted(author: FlaskClient, target: str, tiny_corpus: Corpus) -> None:
    note = add(author, target)
    assert (note["title"], note["author"], note["tags"]) == ("L1 H1", "local", ["a"])
    assert note["link"] == f"/head?model={tiny_corpus.name}&layer=1&head=1"
    edited = author.put(f"/api/notes/{note['id']}", json={"version": 1, "text": "Edited"}).json
    reply = author.post(f"/api/notes/{note['id']}/replies", json={"text": "Yes"}).json
    (thread,) = author.get("/api/notes/on", query_string={"target": target}).json["threads"]
    assert (thread["note"]["text"], [each["id"] for each in thread["replies"]]) == (edited["text"], [reply["id"]])
    assert [each["text"] for each in author.get(f"/api/notes/{note['id']}/history").json["texts"]] == ["Hello"]
    for each in (reply, note):
        assert author.delete(f"/api/notes/{each['id']}").status_code == 200
    assert author.get("/api/notes").json["total"] == 0


def test_an_id_is_read_in_any_spelling(author: FlaskClient, target: str) -> None:
    note = add(author, target)
    assert author.delete(f"/api/notes/{note['id'].upper()}").status_code == 200
    assert author.get("/api/notes").json["total"] == 0
    assert author.delete("/api/notes/1").status_code == 400


def test_a_saved_view_is_listed_renamed_and_deleted(author: FlaskClient) -> None:
    view = author.post("/api/views", json={"name": "mine", "link": "/head?layer=1"}).json
    assert author.put(f"/api/views/{view['id']}", json={"name": "ours"}).json["name"] == "ours"
    assert [each["name"] for each in author.get("/api/views").json["views"]] == ["ours"]
    assert author.delete(f"/api/views/{view['id']}").status_code == 200


def test_a_file_is_exported_and_imported(author: FlaskClient, target: str, serve_notes: Serve, tmp_path: Path) -> None:
    note, other = add(author, target), serve_notes(str(tmp_path / "other.sqlite3"))
    file = author.get("/api/notes/export")
    assert "headscape-notes.json" in file.headers["Content-Disposition"]
    assert other.post("/api/notes/import", data=file.data).json["added"] >= 1
    assert author.delete(f"/api/notes/{note['id']}").status_code == 200


@pytest.mark.parametrize(
    "content", ["<b>x</b>", "", "[1]", "[" * 10_000, '{"text": "x"}', '{"text": 1, "target": "x"}', '"\\ud800"']
)
def test_a_malformed_request_is_refused(author: FlaskClient, content: str) -> None:
    answer = author.post("/api/notes", data=content, content_type="application/json")
    assert answer.status_code == 400
    assert answer.text.endswith((".", "page."))


@pytest.mark.parametrize(
    "link",
    [
        "/api/notes?kind=x",
        "/api/notes?order=x",
        "/api/notes/on",
        "/api/notes/on?target=head/1/2/3",
        "/api/notes/1/history",
        "/api/views?model=x",
    ],
)
def test_a_wrong_link_is_refused(author: FlaskClient, link: str) -> None:
    assert author.get(link).status_code in (400, 404)


def test_a_file_that_is_too_large_is_refused(author: FlaskClient) -> None:
    answer = author.post("/api/notes/import", data=b" " * ((1 << 20) + 1))
    assert (answer.status_code, "headscape notes import" in answer.text) == (413, True)


def test_a_reader_is_refused(author: FlaskClient, target: str) -> None:
    answer = author.post("/api/notes", json={"target": target, "text": "x"}, headers={NAMED: "reader"})
    assert (answer.status_code, "role author" in answer.text) == (403, True)
    assert author.get("/api/notes").status_code == 200


@pytest.mark.parametrize(("place", "sentence"), [("none", SWITCHED_OFF), ("/proc/none/notes.sqlite3", GONE)])
def test_without_its_database_a_server_shows_pages(place: str, sentence: str, serve_notes: Serve, target: str) -> None:
    client = serve_notes(place)
    answer = client.post("/api/notes", json={"target": target, "text": "x"})
    assert (answer.status_code, answer.text) == (503, sentence)
    page = client.post("/data/page", data={"pathname": "/store", "search": "", "snapshot": ""})
    assert page.status_code == 200
