"""Links of long texts fit into a request."""

from urllib.parse import quote_plus

import pytest

from dashboard.sentence.picture import data_url, query_string
from dashboard.web.connections import REQUEST_LINE
from dashboard.web.context import Context, LinkReader, resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from tests.browser import Open

#: Every position of the longest sentence a BERT reads.
EVERY_POSITION = ".".join(map(str, range(512)))


@pytest.fixture
def pair(tiny_store: str) -> Context:
    return resolve(ServedStore(tiny_store), "/sentence", f"?text={'a' * 3_900}&second={'b' * 3_900}")


def test_a_request_has_room_for_the_longest_pair_and_every_position(pair: Context) -> None:
    state, url = pair.state, data_url(pair.state, data_link(pair.corpus))
    path = f"{url}/weights/11/11.csv{query_string(state, {'hide': EVERY_POSITION})}"
    assert len(f"GET {path} HTTP/1.1") < REQUEST_LINE


def test_a_truncated_pair_gives_notices_with_its_lengths(pair: Context) -> None:
    notice = "The text is too long for a link; showing its first 2,000 characters"
    assert pair.notices == (notice, notice)


@pytest.mark.parametrize(
    ("text", "second", "lengths"),
    [(5_000, 0, (3_500, 0)), (5_000, 100, (3_500, 100)), (5_000, 1_500, (2_500, 1_500)), (100, 5_000, (100, 3_500))],
)
def test_a_text_of_a_pair_has_the_bytes_that_the_other_leaves(text: int, second: int, lengths: tuple[int, int]) -> None:
    pair = LinkReader({"text": "a" * text, "second": "b" * second}, {}, []).typed_pair()
    assert tuple(len(typed or "") for typed in pair) == lengths


def test_the_length_of_a_text_is_counted_in_bytes_of_the_link() -> None:
    pair = LinkReader({"text": "\u5f71" * 900, "second": "\u00e9" * 900}, {}, []).typed_pair()
    assert sum(len(quote_plus(typed or "")) for typed in pair) <= 4_000
    assert {typed[0] for typed in pair if typed} == {"\u5f71", "\u00e9"}


def test_the_browser_truncates_a_pair_too(open_page: Open, tiny_server: str) -> None:
    page = open_page(f"{tiny_server}/sentence?text={'a' * 3_500}")
    search = page.evaluate("headscape.address.choose('second', 'b'.repeat(9000), { second: null })")
    assert (search.count("a"), search.count("b")) == (2_100 - 1, 2_100 - 1)
