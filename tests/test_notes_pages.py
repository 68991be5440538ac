"""Notes and saved views on pages, without a browser."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.notes.address import WRITING_OFF, notes_address
from dashboard.notes.database import Database
from dashboard.notes.page import KIND_NAMES, MOST_MARKED, _mark_heads
from dashboard.notes.target import Kind, PointTarget, Target, TokenTarget, parse_target
from dashboard.serving import Serving
from dashboard.ui.files import SERVED_STORE
from dashboard.web.served_store import ServedStore
from dashboard.web.state import NOTED, LinkState
from store import Corpus
from tests.client import above
from tests.people import NAMED, with_people

ANN, BOB, READER = ({NAMED: name} for name in ("ann", "bob", "reader"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notes") / "notes.sqlite3"


@pytest.fixture(scope="module")
def people(tiny_store: str, place: Path) -> FlaskClient:
    """A client of a server with notes and people."""
    serving = Serving(notes=notes_address(str(place), tiny_store))
    return with_people(create_app(ServedStore(tiny_store), serving).server).test_client()


@pytest.fixture
def noted(people: FlaskClient, place: Path) -> FlaskClient:
    """The client of a server without any note yet."""
    for file in place.parent.glob(f"{place.name}*"):
        file.unlink()
    return people


@pytest.fixture(scope="module")
def off(tiny_store: str) -> FlaskClient:
    """A client of a server that has no notes."""
    address = notes_address("none", tiny_store)
    return create_app(ServedStore(tiny_store), Serving(notes=address)).server.test_client()


def read(client: FlaskClient, what: str, link: str, person: dict[str, str] = ANN, **more: str) -> Any:
    """The answer about notes that a page at a link gets."""
    pathname, _, search = link.partition("?")
    form = {"pathname": pathname, "search": f"?{search}" if search else "", "snapshot": "", **more}
    response = client.post(f"/data/notes/{what}", data=form, headers=person)
    assert response.status_code == 200, response.text
    assert response.headers["Cache-Control"] == "no-store"
    return response.json


def write(client: FlaskClient, key: str, text: str = "Odd", person: dict[str, str] = ANN, **more: Any) -> Any:
    response = client.post("/api/notes", json={"target": key, "text": text, **more}, headers=person)
    assert response.status_code == 201, response.text
    return response.json


def page_of(client: FlaskClient, pathname: str, search: str = "", person: dict[str, str] = ANN) -> Any:
    form = {"pathname": pathname, "search": search, "snapshot": ""}
    return client.post("/data/page", data=form, headers=person).json


def panels(tree: Any) -> dict[str, Any]:
    """Targets of all panels of notes in a part of a page, by the panel's id."""
    if isinstance(tree, list):
        return {name: about for item in tree for name, about in panels(item).items()}
    if not isinstance(tree, dict):
        return {}
    properties = tree.get("props", {})
    if tree.get("type") == "NotePanel":
        return {properties["id"]: properties["about"]}
    return panels(properties.get("children"))


def test_the_link_names_the_kinds_that_notes_have() -> None:
    assert get_args(Kind) == NOTED == tuple(KIND_NAMES)


@pytest.mark.parametrize(
    ("link", "part", "kinds"),
    [
        ("/head?layer=1&head=1&tab=notes", "beside", ["head"]),
        ("/head?layer=1&head=1&pinned=0-1&tab=notes", "beside", ["head", "head"]),
        ("/head?layer=1&head=1&token=5", "beside", ["token"]),
        ("/sentence?sentence=3", "below", ["sentence"]),
        ("/sentence?sentence=3&queries=2", "below", ["sentence", "token"]),
        ("/sentence?sentence=3&queries=2.4", "below", ["sentence"]),
        ("/features?point=L00.mixed", "beside", ["point"]),
        ("/features?point=L00.mixed&ftoken=3", "beside", ["point", "point"]),
    ],
)
def test_a_page_has_notes_on_what_it_shows(client: FlaskClient, link: str, part: str, kinds: list[str]) -> None:
    pathname, _, search = link.partition("?")
    shown = panels(page_of(client, pathname, f"?{search}")[part])
    assert [about["target"].partition("/")[0] for about in shown.values()] == kinds


def test_page_relations_has_notes_on_the_pairs_that_a_head_links(bank_client: FlaskClient) -> None:
    shown = above(bank_client, "/relations", "?relation=det")
    keys = re.findall(r"pair/[^'\"]*", shown)
    assert "Notes on its pairs" in shown
    assert all(parse_target(key).kind == "pair" for key in keys)
    assert keys


def test_a_note_on_a_head_marks_its_panel(noted: FlaskClient) -> None:
    about = panels(page_of(noted, "/head", "?layer=1&head=0&tab=notes")["beside"])["notes-head-0"]
    write(noted, about["target"])
    marks = read(noted, "marks", "/heads")
    assert marks["panels"] == {"L1 H0": 1}
    assert marks["counts"] == {about["target"]: 1}


def test_a_note_on_a_token_marks_its_points_and_its_place_in_the_sentence(
    noted: FlaskClient, tiny_corpus: Corpus
) -> None:
    about = panels(page_of(noted, "/sentence", "?sentence=3&queries=2")["below"])["notes-token"]
    write(noted, about["target"])
    rows = tiny_corpus.sentence_rows(3)
    token = int((tiny_corpus.rows < rows.start + 2).sum())
    picture = page_of(noted, "/head")["picture"]
    marks = read(noted, "marks", "/head")
    assert marks["tokens"] == {str(token): 1}
    assert picture["points"].startswith(f"{marks['base']}/")
    sentence = page_of(noted, "/sentence", "?sentence=3")["sentence"]
    marks = read(noted, "marks", "/sentence?sentence=3")
    assert marks["positions"] == {"2": 1}
    assert sentence["layer_url"].startswith(f"{marks['base']}/")
    assert read(noted, "marks", "/sentence?sentence=4")["positions"] == {}


def test_notes_on_other_targets_hide_no_mark_of_a_token(tiny_corpus: Corpus) -> None:
    others: list[Target] = [PointTarget("model", f"L{number}") for number in range(MOST_MARKED)]
    counts = {**dict.fromkeys(others, 1), TokenTarget.of(tiny_corpus, 7): 2}
    assert _mark_heads(tiny_corpus, LinkState(page="heads"), counts)["tokens"] == {"7": 2}


def test_a_note_at_a_feature_point_marks_the_token_there_alone(noted: FlaskClient) -> None:
    link = "?point=L00.mixed&ftoken=3"
    about = panels(page_of(noted, "/features", link)["beside"])["notes-token"]
    write(noted, about["target"])
    marks = read(noted, "marks", f"/features{link}")
    assert marks["tokens"] == {"3": 1}
    assert page_of(noted, "/features", link)["picture"]["points"].startswith(f"{marks['base']}/")
    assert read(noted, "marks", "/features?point=L00.projected")["tokens"] == {}


def test_a_text_is_elements_and_never_html(noted: FlaskClient) -> None:
    key = read(noted, "on", "/heads")["target"]
    write(noted, key, "A **bold** <script>alert(1)</script>")
    tree = read(noted, "on", "/heads")["notes"][0]["tree"]
    assert ["strong", {}, "bold"] in tree[2]
    assert " <script>alert(1)</script>" in tree[2]


def test_a_view_is_the_link_without_camera_and_snapshot(noted: FlaskClient) -> None:
    key = read(noted, "on", "/head?layer=1&at=0.5,0.5,2")["target"]
    write(noted, key)
    assert len(read(noted, "on", "/head?layer=1")["notes"]) == 1
    assert read(noted, "on", "/head?layer=0")["notes"] == []


def test_only_its_author_may_change_a_note_and_a_reader_none(noted: FlaskClient) -> None:
    key = read(noted, "on", "/heads")["target"]
    write(noted, key)
    own, others, reader = (read(noted, "on", "/heads", person) for person in (ANN, BOB, READER))
    assert [answer["notes"][0]["mine"] for answer in (own, others, reader)] == [True, False, False]
    assert [answer["writes"] for answer in (own, others, reader)] == [True, True, False]


def test_a_reader_sees_nothing_that_writes(noted: FlaskClient) -> None:
    assert "import-notes" in str(page_of(noted, "/notes"))
    page = page_of(noted, "/notes", person=READER)
    assert "import-notes" not in str(page)
    assert page["shown"]["writes"] is False


def test_page_notes_finds_by_text_tag_author_and_kind(noted: FlaskClient) -> None:
    view = read(noted, "on", "/heads")["target"]
    head = panels(page_of(noted, "/head", "?tab=notes")["beside"])["notes-head-0"]["target"]
    write(noted, view, "A sink", tags=["sinks"])
    write(noted, head, "Something else", BOB)

    def texts(search: str) -> list[str]:
        return [note["text"] for note in read(noted, "found", f"/notes?{search}")["notes"]]

    assert texts("") == ["Something else", "A sink"]
    assert (
        texts("containing=SINK")
        == texts("tag=sinks")
        == texts("tag=Sinks")
        == texts("author=ann")
        == texts("about=view")
        == ["A sink"]
    )
    assert texts("author=bob&tag=sinks") == []


def test_page_notes_offers_the_tags_and_authors_that_notes_have(noted: FlaskClient) -> None:
    write(noted, read(noted, "on", "/heads")["target"], tags=["sinks"])
    shown = str(page_of(noted, "/notes")["above"])
    assert "sinks (1)" in shown
    assert "ann (1)" in shown


def test_a_list_without_notes_keeps_no_room_for_them(noted: FlaskClient) -> None:
    bare = "note-lists none"  # assets/notes.css
    assert bare in str(page_of(noted, "/notes")["above"])
    write(noted, read(noted, "on", "/heads")["target"])
    assert bare not in str(page_of(noted, "/notes")["above"])


def test_a_note_of_the_list_opens_what_it_is_about(noted: FlaskClient) -> None:
    head = panels(page_of(noted, "/head", "?layer=1&head=1&tab=notes")["beside"])["notes-head-0"]["target"]
    write(noted, head)
    (note,) = read(noted, "found", "/notes")["notes"]
    assert note["title"] == "L1 H1"
    assert "layer=1&head=1" in note["href"]
    assert note["missing"] is None


def test_a_saved_view_is_opened_with_the_same_fields(noted: FlaskClient) -> None:
    link = "/head?layer=1&head=1&colour=position&at=0.4,0.6,2"
    response = noted.post("/api/views", json={"name": "Positions", "link": link}, headers=ANN)
    assert response.status_code == 201, response.text
    (view,) = read(noted, "views", "/notes", BOB)["views"]
    assert not view["mine"]
    opened, saved = (page_of(noted, *split(href), BOB) for href in (view["href"], link))
    assert {**opened["shown"], "model": None, "link": None} == {**saved["shown"], "model": None, "link": None}


def split(href: str) -> tuple[str, str]:
    pathname, _, search = href.partition("?")
    return pathname, f"?{search}"


@pytest.mark.parametrize("what", ["marks", "on", "found", "views"])
def test_a_server_without_notes_says_so_in_a_sentence(off: FlaskClient, what: str) -> None:
    assert read(off, what, "/heads")["problem"].startswith("Notes are switched off")


def test_page_notes_of_a_server_without_notes_says_so(off: FlaskClient) -> None:
    assert "Notes are switched off" in above(off, "/notes")


def test_pages_work_without_notes(off: FlaskClient) -> None:
    assert page_of(off, "/head", "?tab=notes")["picture"]


class ReadOnlyDatabase(Database):
    is_read_only = True


@pytest.fixture
def read_only(noted: FlaskClient) -> Iterator[Callable[[], None]]:
    """A function that makes the notes of the server read-only until the end of the test."""
    served_store: ServedStore = noted.application.extensions[SERVED_STORE]
    before = served_store.service(Database)
    yield lambda: served_store.put(Database, ReadOnlyDatabase(before.address))
    served_store.put(Database, before)


def test_pages_say_that_writing_is_off_where_the_file_cannot_be_written(
    noted: FlaskClient, read_only: Callable[[], None]
) -> None:
    target = panels(page_of(noted, "/head", "?layer=1&head=0&tab=notes")["beside"])["notes-head-0"]["target"]
    write(noted, target)
    read_only()
    page = json.dumps(page_of(noted, "/notes"))
    assert WRITING_OFF in page
    assert "import-notes" not in page
    to_author, to_reader = (read(noted, "on", "/head", person, target=target) for person in (ANN, READER))
    assert (to_author["writes"], to_author["off"], len(to_author["notes"])) == (False, WRITING_OFF, 1)
    assert "off" not in to_reader


def test_the_menu_of_the_header_hears_whether_a_view_can_be_saved(
    noted: FlaskClient, read_only: Callable[[], None]
) -> None:
    assert "off" not in read(noted, "views", "/head")
    read_only()
    to_author, to_reader = (read(noted, "views", "/head", person) for person in (ANN, READER))
    assert to_author["off"] == WRITING_OFF
    assert "off" not in to_reader
