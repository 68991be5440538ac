"""Many authors at once, in several processes of which one is killed: every acknowledged note is in the database, whole and once."""

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

import pytest

from dashboard.notes.note import Draft
from dashboard.notes.notes import Notes
from dashboard.notes.search import Search
from dashboard.web.errors import Refusal
from tests.family import Start
from tests.notes import ANN, HEAD, HEADS, HELLO, retried

#: Processes, authors of each and notes of each author: 50 authors at once.
PROCESSES, AUTHORS, NOTES = 2, 25, 2
WRITER = """
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4
from dashboard.access.person import Person
from dashboard.notes.address import notes_address
from dashboard.notes.database import Database
from dashboard.notes.note import Draft
from dashboard.notes.notes import Notes
from tests.notes import HEAD, HEADS, retried

place, process, authors, count = sys.argv[1], *map(int, sys.argv[2:])
notes = Notes(Database(notes_address(place, "")))

def write(author):
    person = Person(f"{process}-{author}", "author")
    for number in range(count):
        name = str(uuid4())
        note = retried(lambda: notes.add(person, HEADS, HEAD, Draft(f"{name} {'x' * 2000}", ("tag",)), name))
        retried(lambda: notes.edit(person, name, 1, Draft(note.text + " edited")))
        print(f"{name}\\n", end="", flush=True)

print("begins", flush=True)
with ThreadPoolExecutor(authors) as threads:
    list(threads.map(write, range(authors)))
"""


@pytest.mark.slow
def test_fifty_authors_lose_nothing(place: str, opened: Callable[[str], Notes], start_code: Start) -> None:
    started = [start_code(WRITER, place, str(number), str(AUTHORS), str(NOTES)) for number in range(PROCESSES)]
    for process in started:
        assert process.stdout
        assert process.stdout.readline() == "begins\n"
    killed, *others = started
    first = killed.stdout.readline() if killed.stdout else ""
    killed.send_signal(signal.SIGKILL)
    outputs = [first, *(process.stdout.read() for process in started if process.stdout)]
    for process in started:
        process.wait(120)
    written = {name for output in outputs for name in output.splitlines() if len(name) == 36}
    notes = opened(place)
    pages = [retried(partial(notes.find, Search(page=page))) for page in range(9)]
    there = {note.id: note for page in pages for note in page.notes}
    assert [process.returncode for process in others] == [0] * len(others), [each.communicate() for each in others]
    assert len(written) >= AUTHORS * NOTES * len(others) + 1
    assert written <= there.keys()
    assert all(note.text.startswith(f"{name} xx") and note.tags in ((), ("tag",)) for name, note in there.items())
    assert {there[name].version for name in written} == {2}


def test_of_fifty_edits_at_once_one_is_made_and_the_others_are_told(notes: Notes) -> None:
    note = notes.add(ANN, HEADS, HEAD, HELLO)

    def edit(number: int) -> bool:
        try:
            retried(lambda: notes.edit(ANN, note.id, 1, Draft(str(number))))
        except Refusal as refusal:
            return "edited elsewhere" not in str(refusal)
        return True

    with ThreadPoolExecutor(50) as threads:
        made = list(threads.map(edit, range(50)))
    assert made.count(True) == 1
    assert notes.note(note.id).text == str(made.index(True))
    assert [former.text for former in notes.history(note.id)] == ["Hello"]


def test_fifty_requests_of_one_note_write_it_once(notes: Notes) -> None:
    name = str(uuid4())
    with ThreadPoolExecutor(50) as threads:
        sent = list(threads.map(lambda _: retried(lambda: notes.add(ANN, HEADS, HEAD, HELLO, name)), range(50)))
    assert len(set(sent)) == 1
    assert notes.find(Search()).total == 1
