"""Files of notes: an import restores the export, may be repeated, and is all or nothing."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

import headscape
from dashboard.notes.__main__ import main
from dashboard.notes.address import LOCKED, NotesAddress, NotesUnavailable, notes_address
from dashboard.notes.database import Database
from dashboard.notes.exchange import HIGHEST, export_notes, import_notes
from dashboard.notes.listing import thread_json
from dashboard.notes.note import Draft, folded, keep_texts, update_note
from dashboard.notes.notes import MOST_VIEWS, Notes, SavedViews
from dashboard.notes.search import Search
from dashboard.notes.target import SentenceTarget
from dashboard.web.errors import Refusal
from store import StoreError
from tests.notes import ANN, BOB, HEAD, HEADS, HELLO, READER, save_views

Open = Callable[[str], Notes]
FIRST_YEAR = {"version": 1, "text": "old", "tags": [], "edited": "0001-01-01T00:00:00+14:00"}
LAST_YEAR = FIRST_YEAR | {"edited": "9999-12-31T23:59:59-14:00"}
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).filter(str.strip)
DRAFTS = st.builds(Draft, WORDS.map(str.strip))
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["add", "reply", "edit", "delete"]), st.integers(0, 5), DRAFTS), max_size=8
)


@pytest.fixture
def other(tmp_path: Path, opened: Open) -> Notes:
    """Another server's notes."""
    return opened(str(tmp_path / "other.sqlite3"))


@pytest.fixture
def content(notes: Notes) -> bytes:
    """An export of an edited note, a reply, a deleted note and a saved view, from each kind of database."""
    note = notes.add(ANN, HEADS, HEAD, Draft("first 🙂", ("a", "b")))
    notes.reply(BOB, note.id, Draft("reply"))
    notes.edit(ANN, note.id, 1, Draft("second"))
    notes.delete(ANN, notes.add(ANN, HEADS, HEAD, HELLO).id)
    SavedViews(notes.database).save(ANN, HEADS, "view", "/head?layer=2")
    return export_notes(notes.database)


def test_an_import_twice_adds_nothing(content: bytes, other: Notes) -> None:
    first, second = (str(import_notes(other.database, content)) for _ in range(2))
    assert first == "3 notes added, 0 updated, 0 unchanged; 1 saved view added"
    assert second == "0 notes added, 0 updated, 3 unchanged; 0 saved views added"
    assert export_notes(other.database) == content


def act(notes: Notes, action: str, number: int, draft: Draft) -> None:
    there = notes.find(Search(order="oldest")).notes
    if action == "add" or not there:
        notes.add(ANN, HEADS, HEAD, draft)
        return
    note = there[number % len(there)]
    if action == "reply":
        notes.reply(ANN, note.id, draft)
    elif action == "edit":
        notes.edit(ANN, note.id, note.version, draft)
    else:
        notes.delete(ANN, note.id)


@settings(max_examples=12)
@given(ACTIONS)
def test_what_is_exported_is_imported_as_it_was(actions: list[tuple[str, int, Draft]]) -> None:
    with TemporaryDirectory() as folder:
        own, other = (Database(notes_address(f"{folder}/{name}.sqlite3", "")) for name in ("own", "other"))
        for action in actions:
            act(Notes(own), *action)
        content = export_notes(own)
        import_notes(other, content)
        assert export_notes(other) == content
        own.close()
        other.close()


def test_the_later_edit_wins_on_both_servers_and_the_other_text_is_kept(file_notes: Notes, other: Notes) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    import_notes(other.database, export_notes(file_notes.database))
    file_notes.edit(ANN, note.id, 1, Draft("here"))
    other.edit(ANN, note.id, 1, Draft("there, later"))
    for one, another in ((file_notes, other), (other, file_notes)):
        import_notes(one.database, export_notes(another.database))
    for each in (file_notes, other):
        assert each.note(note.id).text == "there, later"
        assert {former.text for former in each.history(note.id)} == {"Hello", "here"}


def test_a_deleted_note_is_not_brought_back(file_notes: Notes) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, Draft("secret"))
    before = export_notes(file_notes.database)
    file_notes.delete(ANN, note.id)
    import_notes(file_notes.database, before)
    assert (file_notes.find(Search()).total, b"secret" in export_notes(file_notes.database)) == (0, False)


def test_a_deleted_note_is_not_brought_back_by_a_later_edit_on_another_server(file_notes: Notes, other: Notes) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    import_notes(other.database, export_notes(file_notes.database))
    file_notes.delete(ANN, note.id)
    other.edit(ANN, note.id, 1, Draft("edited after that"))
    imported = import_notes(file_notes.database, export_notes(other.database))
    assert (imported.updated, imported.unchanged) == (0, 1)
    assert (file_notes.of_target(HEAD), file_notes.history(note.id)) == ((), ())


def test_an_imported_deletion_leaves_no_former_text(file_notes: Notes, other: Notes) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, Draft("secret"))
    file_notes.edit(ANN, note.id, 1, Draft("secret too"))
    import_notes(other.database, export_notes(file_notes.database))
    file_notes.delete(ANN, note.id)
    assert import_notes(other.database, export_notes(file_notes.database)).updated == 1
    assert (other.history(note.id), b"secret" in export_notes(other.database)) == ((), False)


def test_a_person_imports_notes_of_others_under_their_own_name_too(file_notes: Notes, other: Notes) -> None:
    for person in (ANN, BOB):
        file_notes.add(person, HEADS, HEAD, HELLO)
    import_notes(other.database, export_notes(file_notes.database), BOB)
    by = {note.author: note.imported_by for note in other.find(Search()).notes}
    assert by == {"ann": "bob", "bob": None}
    listed = {
        thread["author"]: thread["imported_by"] for thread in (thread_json(t, ANN) for t in other.of_target(HEAD))
    }
    assert listed == by


def test_a_person_changes_no_notes_of_others_by_an_import(file_notes: Notes) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    forged = json.loads(export_notes(file_notes.database))
    forged["notes"][0] |= {"text": "forged", "version": 2, "edited": (note.edited + timedelta(hours=1)).isoformat()}
    assert import_notes(file_notes.database, json.dumps(forged).encode(), BOB).unchanged == 1
    assert file_notes.note(note.id).text == "Hello"
    assert import_notes(file_notes.database, json.dumps(forged).encode(), ANN).updated == 1


def test_a_reader_imports_nothing(content: bytes, other: Notes) -> None:
    with pytest.raises(Refusal, match="role author"):
        import_notes(other.database, content, READER)


def broken(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def broken(content: bytes) -> bytes:
        file = json.loads(content)
        change(file)
        return json.dumps(file).encode()

    return broken


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda _: b"", "not a file of notes"),
        (lambda _: b"[" * 100_000, "not a file of notes"),
        (lambda _: b'{"format": "other"}', "not a file of notes"),
        (lambda content: content[:-20], "not a file of notes"),
        (broken(lambda file: file["notes"][-1].pop("author")), r"notes.2.author is wrong"),
        (broken(lambda file: file["notes"][-1].update(more=1)), r"notes.2.more is wrong"),
        (broken(lambda file: file["notes"][-1].update(author="a\x00b")), r"notes.2.author is wrong"),
        (broken(lambda file: file["notes"][1].update(target="head/x/1/2")), "nothing that a note can be about"),
        (broken(lambda file: file["notes"][1].update(text="x" * 10_001)), "Shorten"),
        (broken(lambda file: file["notes"][1].update(edited="2200-01-01T00:00:00Z")), "times are impossible"),
        (broken(lambda file: file["notes"][1].update(created="2200-01-01T00:00:00Z")), "times are impossible"),
        (broken(lambda file: file["notes"][1].update(deleted="0001-01-01T00:00:00+14:00")), "times are impossible"),
        (broken(lambda file: file["notes"][0]["former"].append(FIRST_YEAR)), "Note .* times are impossible"),
        (broken(lambda file: file["notes"][0]["former"].append(LAST_YEAR)), "Note .* times are impossible"),
        (broken(lambda file: file["views"][0].update(created="9999-12-31T23:59:59-14:00")), "times are impossible"),
        (broken(lambda file: file["notes"][1].update(parent=file["notes"][1]["id"])), "replies to itself"),
        (broken(lambda file: file["notes"][1].update(id="1")), "not the id"),
        (broken(lambda file: file["notes"].pop(0)), "replies to none"),
        (
            broken(lambda file: file["notes"].append(file["notes"][0] | {"author": "bob"})),
            "is there 2 times. Nothing was",
        ),
        (
            broken(lambda file: file["views"].append(file["views"][0])),
            "is there 2 times. Nothing was imported; leave one",
        ),
        (broken(lambda file: file["views"][0].update(link="//evil.org")), "not the link of a page"),
    ],
)
def test_a_broken_file_is_refused_and_nothing_of_it_is_imported(
    spoil: Callable[[bytes], bytes], sentence: str, file_notes: Notes, other: Notes
) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    file_notes.reply(BOB, note.id, HELLO)
    file_notes.add(ANN, HEADS, HEAD, HELLO)
    SavedViews(file_notes.database).save(ANN, HEADS, "view", "/head")
    with pytest.raises(Refusal, match=sentence):
        import_notes(other.database, spoil(export_notes(file_notes.database)))
    assert other.find(Search()).total == 0


def with_former_texts(content: bytes, number: int) -> bytes:
    """The file with `number` more former texts in its first note, a second apart."""
    file = json.loads(content)
    first = datetime(2020, 1, 1, tzinfo=UTC)
    file["notes"][0]["former"] += [
        {"version": 1, "text": f"text {n}", "tags": [], "edited": (first + timedelta(seconds=n)).isoformat()}
        for n in range(number)
    ]
    return json.dumps(file).encode()


Write = Callable[[Callable[[Connection], object]], object]


class StepwiseDatabase(Database):
    """A database in which `step` does each step of writing."""

    def __init__(self, address: NotesAddress, step: Callable[..., object]) -> None:
        super().__init__(address)
        self._step = step

    def write(self, work: Callable[[Connection], object], *_seconds: float) -> object:
        return self._step(super().write, work)


def test_many_former_texts_are_imported_in_short_steps_between_which_others_write(
    file_notes: Notes, other: Notes
) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    content = with_former_texts(export_notes(file_notes.database), 1_200)
    sizes: list[int] = []

    def between(write: Write, work: Callable[[Connection], object]) -> object:
        before = len(other.history(note.id)) if sizes else 0
        result = write(work)
        sizes.append(len(other.history(note.id)) - before)
        write(lambda connection: keep_texts(connection, note.id, []))  # another author's turn
        return result

    with closing(StepwiseDatabase(other.database.address, between)) as stepwise:
        import_notes(stepwise, content)
    assert sizes == [0, 500, 500, 200]
    assert [former.text for former in other.history(note.id)] == [f"text {n}" for n in range(1_200)]


def test_an_import_that_updates_an_older_note_is_seen_by_open_pages(file_notes: Notes, other: Notes) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    import_notes(other.database, export_notes(file_notes.database))
    file_notes.edit(ANN, note.id, 1, Draft("edited"))
    other.add(BOB, HEADS, HEAD, HELLO)
    before = other.version()
    assert import_notes(other.database, export_notes(file_notes.database)).updated == 1
    assert Notes(other.database).version() != before


def test_an_import_that_was_interrupted_is_completed_by_another(file_notes: Notes, other: Notes) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    content = with_former_texts(export_notes(file_notes.database), 700)
    steps = iter(range(1))

    def once(write: Write, work: Callable[[Connection], object]) -> object:
        if next(steps, None) is None:
            raise NotesUnavailable(LOCKED)
        return write(work)

    with closing(StepwiseDatabase(other.database.address, once)) as stepwise, pytest.raises(NotesUnavailable):
        import_notes(stepwise, content)
    assert (len(other.history(note.id)), str(import_notes(other.database, content))) == (
        0,
        "0 notes added, 0 updated, 1 unchanged; 0 saved views added",
    )
    assert len(other.history(note.id)) == 700


def test_names_of_a_file_do_not_turn_the_direction_of_a_line(file_notes: Notes, other: Notes) -> None:
    file_notes.add(ANN, HEADS, HEAD, Draft("text", ("tag",)))
    SavedViews(file_notes.database).save(ANN, HEADS, "view", "/head")
    file = json.loads(export_notes(file_notes.database))
    file["notes"][0] |= {"author": "a\u202enn", "title": "L3\u2066 H1", "tags": ["t\u200fag"]}
    file["notes"][0]["origin"]["model_name"] = "ti\u202dny"
    file["views"][0]["name"] = "\u2067view\u2069"
    import_notes(other.database, json.dumps(file).encode())
    (note,) = other.find(Search()).notes
    assert (note.author, note.title, note.tags, note.origin.model_name) == ("ann", "L3 H1", ("tag",), "tiny")
    assert [view.name for view in SavedViews(other.database).of_corpus(HEADS)] == ["view"]


def test_a_note_on_a_sentence_with_control_characters_is_exported_and_imported(file_notes: Notes, other: Notes) -> None:
    texts = {"sentence_hash": np.array([5], np.uint64), "text": np.array(["A film\x08 of\u202e war."])}
    sentences = SimpleNamespace(**{name: SimpleNamespace(values=values) for name, values in texts.items()})
    corpus: Any = SimpleNamespace(
        **vars(HEADS) | {"sentences": sentences, "corpus_attributes": {"name": "re\x01views"}}
    )
    note = file_notes.add(ANN, corpus, SentenceTarget.of(corpus, 0), HELLO)
    assert (note.title, note.origin.corpus_name) == ("A film\ufffd of war.", "re\ufffdviews")
    content = export_notes(file_notes.database)
    assert import_notes(other.database, content).added == 1
    assert other.note(note.id) == note


def test_what_an_older_server_let_in_is_exported_and_imported(file_notes: Notes, other: Notes) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    names = {"title": "L3\x08 H1", "author": "a" * 230, "imported_by": "b" * 230, "version": 2**31}
    origin = replace(note.origin, corpus_name="re\x08views")
    file_notes.database.write(lambda connection: update_note(connection, replace(note, origin=origin, **names)))
    assert import_notes(other.database, export_notes(file_notes.database)).added == 1
    there = other.note(note.id)
    assert (there.title, there.author, there.imported_by) == ("L3\ufffd H1", "a" * 200, "b" * 200)
    assert (there.origin.corpus_name, there.version) == ("re\ufffdviews", HIGHEST)


def test_an_author_without_a_visible_letter_is_refused(content: bytes, other: Notes) -> None:
    file = json.loads(content)
    file["notes"][0]["author"] = "\u200e"
    with pytest.raises(Refusal, match=r"notes.0.author is wrong"):
        import_notes(other.database, json.dumps(file).encode())


def test_a_view_whose_name_is_taken_gets_another(file_notes: Notes, other: Notes) -> None:
    for notes, link in ((file_notes, "/head"), (other, "/heads")):
        SavedViews(notes.database).save(ANN, HEADS, "view", link)
    import_notes(other.database, export_notes(file_notes.database))
    assert [view.name for view in SavedViews(other.database).of_corpus(HEADS)] == ["view", "view (2)"]


def test_an_import_of_more_views_than_are_listed_is_refused_whole(file_notes: Notes, other: Notes) -> None:
    file_notes.add(ANN, HEADS, HEAD, HELLO)
    here, there = SavedViews(file_notes.database), SavedViews(other.database)
    first, _ = (here.save(ANN, HEADS, name, "/head") for name in ("a", "b"))
    import_notes(other.database, export_notes(file_notes.database))
    save_views(other, MOST_VIEWS - 2)
    here.delete(ANN, first.id)
    here.save(ANN, HEADS, "c", "/head")
    note = file_notes.add(ANN, HEADS, HEAD, HELLO)
    with pytest.raises(Refusal, match=r"at most 1,000 saved views, and this would make 1,001\. Delete some first"):
        import_notes(other.database, export_notes(file_notes.database))
    assert note.id not in {each.id for each in other.find(Search()).notes}
    listed = [view.name for view in there.of_corpus(HEADS)]
    assert (listed[-2:], len(listed)) == (["a", "b"], MOST_VIEWS)


def test_the_command_exports_and_imports(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, place = tmp_path / "notes.json", f"--notes={tmp_path / 'new.sqlite3'}"
    file.write_bytes(content)
    assert main(["import", str(file), place]) == 0
    assert "3 notes added" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "again.json"), place]) == 0
    assert (tmp_path / "again.json").read_bytes() == content
    assert (tmp_path / "again.json").stat().st_mode & 0o777 == 0o600  # it names people


def test_a_dash_imports_from_standard_input_and_exports_to_standard_output(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(content)))
    place = f"--notes={tmp_path / 'new.sqlite3'}"
    assert main(["import", "-", place]) == 0
    capsys.readouterr()
    assert main(["export", "-", place]) == 0
    assert capsys.readouterr().out.encode() == content


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["import", "none.json"], "cannot be read or written"),
        (["export", "x.json", "--store=none"], "none.notes.sqlite3 is not there. Name the store with --store=..."),
        (["import", os.devnull, "--store=none"], "There is no store none, nor notes beside it. Name another store"),
        (["export", "x.json", "--notes=mysql://u:secret@h/d"], "is no database for notes"),
        (["export", "x.json", "--notes=none"], "switched off"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert "secret" not in error


def test_a_notebook_reads_the_notes_as_a_table(file_notes: Notes, tmp_path: Path) -> None:
    note = file_notes.add(ANN, HEADS, HEAD, Draft("Hello", ("a",)))
    table = headscape.notes("", str(tmp_path / "notes.sqlite3"))
    (row,) = table.to_dict("records")
    assert (row["id"], row["kind"], row["target"], row["tags"]) == (note.id, "head", HEAD.key, ("a",))
    assert headscape.notes("", str(tmp_path / "none.sqlite3")).columns.equals(table.columns)
    assert headscape.notes(tmp_path, tmp_path / "notes.sqlite3").equals(table)
    assert f"Columns {', '.join(table.columns)}." in str(headscape.notes.__doc__)


def test_the_table_of_a_notebook_names_who_imported_a_note(file_notes: Notes, other: Notes) -> None:
    file_notes.add(ANN, HEADS, HEAD, HELLO)
    import_notes(other.database, export_notes(file_notes.database), BOB)
    (row,) = headscape.notes("", str(other.database.address.file)).to_dict("records")
    assert (row["author"], row["imported_by"]) == ("ann", "bob")


def test_a_notebook_is_told_why_there_is_no_table() -> None:
    with pytest.raises(StoreError, match="not on a disk"):
        headscape.notes("s3://bucket/prefix")
    with pytest.raises(StoreError, match="There is no store nowhere, nor notes beside it"):
        headscape.notes("nowhere")


TEXTS = ["100 %", "a_b", "a\\b", "aXb", "straße", "STRASSE", "Ä", "a/b", "'", '"; --']


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Notes:
    notes = Notes(Database(notes_address(str(tmp_path_factory.mktemp("texts") / "notes.sqlite3"), "")))
    for text in TEXTS:
        notes.add(ANN, HEADS, HEAD, Draft(text))
    return notes


@given(st.text(st.sampled_from("%_\\/'\"aäÄbxßsS \x00🙂"), max_size=4))
def test_a_search_is_for_the_characters_themselves(texts: Notes, sought: str) -> None:
    plain = folded(sought.replace("\x00", "").strip())
    found = {note.text for note in texts.find(Search(text=sought)).notes}
    assert found == {text for text in TEXTS if plain in folded(text)}
