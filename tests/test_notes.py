"""Notes and saved views, in SQLite and in PostgreSQL: who may write which, and what the database keeps."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from dashboard.notes.database import Database, migrations
from dashboard.notes.note import (
    MOST_TAGS,
    MOST_TEXT,
    REVISION,
    VERSION_TABLE,
    Draft,
    checked_draft,
    checked_name,
    metadata,
)
from dashboard.notes.notes import MOST_VIEWS, Notes, SavedViews
from dashboard.notes.search import PER_PAGE, Search
from dashboard.notes.target import HeadTarget
from dashboard.web.errors import Refusal
from tests.notes import ANN, BOB, HEAD, HEADS, HELLO, READER, save_views

OTHER_CHECKPOINT: Any = SimpleNamespace(
    **vars(HEADS) | {"name": "other-1", "attributes": HEADS.attributes | {"weights_sha256": "cd" * 32}}
)


def refused(status: int, sentence: str) -> Any:
    return pytest.raises(Refusal, match=sentence, check=lambda refusal: refusal.status == status)


def test_a_note_is_read_as_it_was_written(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, Draft("**Hello** 🙂", ("previous", "to check")))
    assert notes.note(note.id) == note
    assert (note.title, note.author, note.version, note.origin.model_name) == ("L3 H1", "ann", 1, "tiny")


class WritesMeanwhile:
    """A database in which another note is written once, between a reading and its answer."""

    def __init__(self, database: Database, write: Callable[[], object]) -> None:
        self._database, self._writes = database, iter([write])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def read(self, work: Callable[[Any], Any]) -> Any:
        read = self._database.read(work)
        if write := next(self._writes, None):
            write()
        return read


@pytest.mark.parametrize("read", [lambda notes: notes.counts(HEADS).get(HEAD, 0), lambda notes: notes.version()])
def test_what_was_read_before_a_write_is_not_shown_after_it(read: Callable[[Notes], object], notes: Notes) -> None:
    notes.database = WritesMeanwhile(notes.database, lambda: notes.add(ANN, HEADS, HEAD, HELLO))  # type: ignore[assignment]
    before = read(notes)
    assert read(notes) != before


def test_a_reply_stands_below_its_note(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, HELLO)
    reply = notes.reply(BOB, note.id, Draft("Yes"))
    second = notes.reply(ANN, reply.id, Draft("Good"))
    (thread,) = notes.of_target(HEAD)
    assert (thread.note, thread.replies) == (note, (reply, second))
    assert notes.thread(second.id) == thread


def test_an_edit_keeps_the_former_texts(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, Draft("1", ("a",)))
    for version in (1, 2):
        note = notes.edit(ANN, note.id, version, Draft(str(version + 1)))
    assert (note.text, note.tags, note.version) == ("3", (), 3)
    assert [(former.version, former.text, former.tags) for former in notes.history(note.id)] == [
        (1, "1", ("a",)),
        (2, "2", ()),
    ]


def test_a_stale_edit_is_refused_and_changes_nothing(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, HELLO)
    edited = notes.edit(ANN, note.id, 1, Draft("first"))
    with refused(409, "edited elsewhere .* Copy your text"):
        notes.edit(ANN, note.id, 1, Draft("second"))
    assert notes.note(note.id) == edited


def test_an_edit_that_is_sent_twice_is_made_once(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, HELLO)
    edited = [notes.edit(ANN, note.id, 1, Draft("again")) for _ in range(2)]
    assert edited[0] == edited[1]
    assert len(notes.history(note.id)) == 1


def test_a_note_that_is_sent_twice_is_there_once(notes: Notes) -> None:
    name = str(uuid4())
    sent = [notes.add(ANN, HEADS, HEAD, HELLO, name) for _ in range(2)]
    assert sent[0] == sent[1]
    assert notes.find(Search()).total == 1
    with refused(409, "Another note has this id"):
        notes.add(BOB, HEADS, HEAD, HELLO, name)


def test_a_note_that_is_sent_again_with_another_text_is_edited(notes: Notes) -> None:
    name = str(uuid4())
    notes.add(ANN, HEADS, HEAD, Draft("Helo", ("a",)), name)
    sent = [notes.add(ANN, HEADS, HEAD, Draft("Hello", ("a", "b")), name) for _ in range(2)]
    assert sent[0] == sent[1] == notes.note(name)
    assert (sent[0].text, sent[0].tags, sent[0].version) == ("Hello", ("a", "b"), 2)
    assert [(former.text, former.tags) for former in notes.history(name)] == [("Helo", ("a",))]


def test_a_deleted_note_that_is_sent_again_stays_deleted(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, HELLO)
    notes.delete(ANN, note.id)
    assert notes.add(ANN, HEADS, HEAD, HELLO, note.id).deleted
    assert notes.find(Search()).total == 0


def test_only_its_author_edits_and_deletes_a_note(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, HELLO)
    with refused(403, "a note of ann. Reply to it"):
        notes.edit(BOB, note.id, 1, Draft("mine"))
    with refused(403, "a note of ann"):
        notes.delete(BOB, note.id)


def test_a_reader_writes_nothing(notes: Notes) -> None:
    note, views = notes.add(ANN, HEADS, HEAD, HELLO), SavedViews(notes.database)
    view = views.save(ANN, HEADS, "mine", "/head")
    attempts: list[Callable[[], object]] = [
        lambda: notes.add(READER, HEADS, HEAD, HELLO),
        lambda: notes.reply(READER, note.id, HELLO),
        lambda: notes.edit(READER, note.id, 1, HELLO),
        lambda: notes.delete(READER, note.id),
        lambda: views.save(READER, HEADS, "x", "/head"),
        lambda: views.rename(READER, view.id, "x"),
        lambda: views.delete(READER, view.id),
    ]
    for attempt in attempts:
        with refused(403, "Ask who runs the server"):
            attempt()
    assert (notes.find(Search()).total, len(views.of_corpus(HEADS))) == (1, 1)


def test_a_deleted_note_is_gone_with_its_former_texts(notes: Notes) -> None:
    note = notes.edit(ANN, notes.add(ANN, HEADS, HEAD, Draft("secret")).id, 1, Draft("secret too"))
    notes.delete(ANN, note.id)
    notes.delete(ANN, note.id)
    assert (notes.of_target(HEAD), notes.history(note.id), notes.find(Search(text="secret")).total) == ((), (), 0)
    with refused(404, "no such note"):
        notes.note(note.id)


def test_a_deleted_note_with_replies_leaves_its_place(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, HELLO)
    reply = notes.reply(BOB, note.id, Draft("Yes"))
    notes.delete(ANN, note.id)
    (thread,) = notes.of_target(HEAD)
    assert (thread.note.text, thread.note.deleted is not None, thread.replies) == ("", True, (reply,))


def test_counts_are_of_the_targets_that_fit_a_corpus(notes: Notes) -> None:
    other = HeadTarget.of(HEADS, 0, 0)
    note = notes.add(ANN, HEADS, HEAD, HELLO)
    notes.reply(BOB, note.id, HELLO)
    notes.delete(ANN, notes.add(ANN, HEADS, other, HELLO).id)
    assert notes.counts(HEADS) == {HEAD: 2}
    assert notes.counts(OTHER_CHECKPOINT) == {}


def test_counts_show_a_note_that_was_just_written(notes: Notes) -> None:
    assert notes.counts(HEADS) == {}
    notes.add(ANN, HEADS, HEAD, HELLO)
    assert notes.counts(HEADS) == {HEAD: 1}


def test_a_note_on_what_a_corpus_does_not_have_is_refused(notes: Notes) -> None:
    with refused(404, "do not have what the note is about"):
        notes.add(ANN, HEADS, HeadTarget.of(HEADS, 4, 0), HELLO)


@pytest.mark.parametrize(
    ("search", "texts"),
    [
        (Search(), {"Ärger 100%", "plain_text", "plainXtext"}),
        (Search(text="äRGER"), {"Ärger 100%"}),
        (Search(text="%"), {"Ärger 100%"}),
        (Search(text="n_t"), {"plain_text"}),
        (Search(text="\\"), set()),
        (Search(text="' OR 1=1 --"), set()),
        (Search(text="\x00"), {"Ärger 100%", "plain_text", "plainXtext"}),
        (Search(tag="b"), {"plain_text"}),
        (Search(tag="\x00"), set()),
        (Search(author="bob"), {"plainXtext"}),
        (Search(kind="head"), {"Ärger 100%", "plain_text", "plainXtext"}),
        (Search(kind="sentence"), set()),
        (Search(model="ab" * 32, author="ann"), {"Ärger 100%", "plain_text"}),
        (Search(model="cd" * 32), set()),
    ],
)
def test_a_search_finds_what_matches_all_its_fields(notes: Notes, search: Search, texts: set[str]) -> None:
    notes.add(ANN, HEADS, HEAD, Draft("Ärger 100%", ("a",)))
    notes.add(ANN, HEADS, HEAD, Draft("plain_text", ("a", "b")))
    notes.add(BOB, HEADS, HEAD, Draft("plainXtext"))
    assert {note.text for note in notes.find(search).notes} == texts


def test_a_search_comes_in_pages(notes: Notes) -> None:
    for number in range(PER_PAGE + 1):
        notes.add(ANN, HEADS, HEAD, Draft(str(number)))
    newest, oldest = notes.find(Search(page=99)), notes.find(Search(order="oldest"))
    assert (newest.page, newest.pages, newest.total) == (1, 2, PER_PAGE + 1)
    assert [note.text for note in newest.notes] == ["0"]
    assert [note.text for note in oldest.notes] == [str(number) for number in range(PER_PAGE)]


def test_filters_offer_tags_authors_and_models(notes: Notes) -> None:
    for person, tags in ((ANN, ("a", "b")), (ANN, ("a",)), (BOB, ())):
        notes.add(person, HEADS, HEAD, Draft("x", tags))
    offers = notes.offers()
    assert (offers.tags, offers.authors) == ({"a": 2, "b": 1}, {"ann": 2, "bob": 1})
    assert offers.models == {("ab" * 32, "tiny"): 3}


def test_the_tables_are_as_the_migrations_make_them(notes: Notes) -> None:
    def differences(connection: Any) -> list[Any]:
        compared = {"include_name": lambda name, kind, _: kind != "table" or name != VERSION_TABLE}
        return compare_metadata(MigrationContext.configure(connection, opts=compared), metadata)

    assert notes.database.write(differences) == []


def test_the_newest_migration_is_named_in_the_code() -> None:
    assert migrations()[1].get_current_head() == REVISION


def test_a_saved_view_opens_in_the_corpus_that_it_is_of(notes: Notes) -> None:
    views = SavedViews(notes.database)
    view = views.save(ANN, HEADS, " My  view ", "/head?layer=2&snapshot=ABC&model=old&at=1,2,3")
    assert views.of_corpus(HEADS) == (view,)
    assert (view.name, view.href(HEADS)) == ("My view", "/head?model=tiny-1&layer=2&at=1,2,3")
    assert view.href(OTHER_CHECKPOINT) is None


def test_a_name_is_used_once_in_a_corpus(notes: Notes) -> None:
    views = SavedViews(notes.database)
    first, second = (views.save(ANN, HEADS, name, "/head") for name in ("First", "Second"))
    with refused(409, "ann has saved a view as “fIRST”. Choose another name"):
        views.save(BOB, HEADS, "fIRST", "/head")
    with refused(409, "Choose another name"):
        views.rename(ANN, second.id, "first")
    assert views.rename(ANN, first.id, "FIRST") == replace(first, name="FIRST")


def test_no_more_views_are_saved_than_are_listed(notes: Notes) -> None:
    save_views(notes, MOST_VIEWS - 2)
    views = SavedViews(notes.database)
    first, second = (views.save(ANN, HEADS, name, "/head") for name in ("a", "b"))
    with refused(409, "at most 1,000 saved views, and this would make 1,001. Delete some first"):
        views.save(BOB, HEADS, "c", "/head")
    assert views.save(ANN, HEADS, "b", "/head", second.id) == second  # sent twice
    views.delete(ANN, first.id)
    views.save(BOB, HEADS, "c", "/head")
    listed = [view.name for view in views.of_corpus(HEADS)]
    assert (listed[-2:], len(listed)) == (["b", "c"], MOST_VIEWS)


def test_only_its_author_renames_and_deletes_a_saved_view(notes: Notes) -> None:
    views = SavedViews(notes.database)
    view = views.save(ANN, HEADS, "mine", "/head")
    for attempt in (lambda: views.rename(BOB, view.id, "his"), lambda: views.delete(BOB, view.id)):
        with refused(403, "a saved view of ann"):
            attempt()
    views.delete(ANN, view.id)
    with refused(404, "no such saved view"):
        views.view(view.id)


@pytest.mark.parametrize(
    "link", ["//evil.org", "https://evil.org/head", "javascript:alert(1)", "/nothing", "head", "", "/head/../x"]
)
def test_only_a_link_of_a_page_can_be_saved(link: str, file_notes: Notes) -> None:
    with refused(400, "not the link of a page"):
        SavedViews(file_notes.database).save(ANN, HEADS, "x", link)


@pytest.mark.parametrize(
    ("text", "tags", "sentence"),
    [
        (" \n", [], "empty. Write"),
        ("x" * (MOST_TEXT + 1), [], "10,001 characters. Shorten"),
        ("x", map(str, range(MOST_TAGS + 1)), "21 tags. Keep"),
        ("x", ["y" * 41], "too long. Shorten"),
        ("a\x00b", [], "cannot be stored. Remove"),
        ("half \ud800", [], "cannot be stored. Remove"),
    ],
)
def test_a_text_that_cannot_be_stored_is_refused(text: str, tags: list[str], sentence: str) -> None:
    with refused(400, sentence):
        checked_draft(text, tags)


def test_tags_are_in_lower_case_and_each_is_there_once() -> None:
    assert checked_draft(" x ", [" To  Check", "to check", "", "a,b"]) == Draft("x", ("to check", "a b"))


def test_the_name_of_a_view_has_bounds() -> None:
    for name in ("", "x" * 101):
        with refused(400, "name"):
            checked_name(name)
