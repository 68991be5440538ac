"""Tasks of a newcomer by the keyboard alone (`python -m tests.bench tasks` counts keys, and clicks of a mouse)."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences
from dashboard.web.served_store import ServedStore
from tests.bench.readers import Keyboard, Mouse, Reader
from tests.bench.tasks import compare_labels, find_head, find_least, see_attention, send
from tests.browser import Visit, listening
from tests.client import FakeTyped

#: All tests are slow: other tests check each step of a task beside its page.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tiny_store: str) -> Iterator[str]:
    """The address of a server that encodes every typed text as the pair of `tests.sentences`."""
    served_store = ServedStore(tiny_store)
    served_store.put(TypedSentences, FakeTyped())  # type: ignore[arg-type]
    with listening(create_app(served_store).server) as address:
        yield address


def does(task: Callable[[Reader], None], reader: Callable[[Page], Reader], visit: Visit, server: str) -> None:
    """Let a reader of this kind do a task, from the first page on."""
    page = visit(f"{server}/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    task(reader(page))


def test_a_reader_finds_a_head_that_does_one_thing(visit: Visit, bank_server: str) -> None:
    does(lambda reader: find_head(reader, "attend"), Keyboard, visit, bank_server)


def test_a_reader_sees_where_a_typed_word_attends(visit: Visit, server: str) -> None:
    does(lambda reader: see_attention(reader, "The zany film", "film"), Keyboard, visit, server)


def test_a_reader_finds_the_sentences_in_which_a_head_attends_to_sep_least(visit: Visit, server: str) -> None:
    does(find_least, Keyboard, visit, server)


def test_a_reader_compares_the_reviews_of_two_labels_by_mouse(visit: Visit, server: str) -> None:
    """The mouse follows a link of the same page as the keyboard in the test above."""
    does(compare_labels, Mouse, visit, server)


def test_a_reader_sends_what_is_on_screen(visit: Visit, server: str) -> None:
    does(send, Keyboard, visit, server)
