"""A link is a view: round trips, and whatever a stranger types is brought into bounds."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dashboard.statistics.definitions import telling
from dashboard.web.library import Library
from dashboard.web.link_fields import MOST_TOKENS, VALUES
from dashboard.web.link_reader import LinkReader
from dashboard.web.state import Address
from dashboard.web.view import find
from store import STATISTICS
from store.schema.model import SOURCES


@pytest.fixture(scope="module")
def library(tiny_store: str) -> Library:
    return Library(tiny_store)


@given(layer=st.integers(0, 1), head=st.integers(0, 1), tokens=st.integers(1, MOST_TOKENS))
def test_a_link_restores_the_state_it_was_made_of(library: Library, layer: int, head: int, tokens: int) -> None:
    path, _, query = Address(page="head", layer=layer, head=head, tokens=tokens).href.partition("?")
    found = find(library, path, query).address
    assert (found.page, found.layer, found.head, found.tokens) == ("head", layer, head, tokens)


@given(
    statistic=st.sampled_from(list(STATISTICS)),
    source=st.sampled_from(SOURCES),
    values=st.sampled_from(VALUES),
    sort=st.sampled_from([None, "head", *STATISTICS]),
)
def test_a_link_restores_what_is_shown_of_all_heads(
    library: Library, statistic: str, source: str, values: str, sort: str | None
) -> None:
    assume(statistic in telling(source))
    path, _, query = Address("statistics", statistic=statistic, source=source, values=values, sort=sort).href.partition(
        "?"
    )
    found = find(library, path, query).address
    assert (found.page, found.statistic, found.source, found.values, found.sort) == (
        "statistics",
        statistic,
        source,
        values,
        sort,
    )


def test_the_model_that_is_shown_is_not_compared_with_itself(library: Library) -> None:
    place = find(library, "/statistics", "")
    again = find(library, "/statistics", f"?other={place.corpus.name}")
    assert again.address.other is None
    assert "not compared with itself" in again.notices[0]


@given(path=st.text(max_size=40), search=st.text(max_size=200))
def test_any_text_is_a_place_within_bounds(library: Library, path: str, search: str) -> None:
    place = find(library, path, search)
    assert 0 <= place.address.layer < place.corpus.layers
    assert 0 <= place.address.head < place.corpus.heads


@pytest.mark.parametrize("junk", ["layer=99", "layer=-1", "head=999999999999999999", "tokens=0"])
def test_a_number_out_of_range_is_said(library: Library, junk: str) -> None:
    (notice,) = find(library, "/head", f"?{junk}").notices
    assert notice.startswith(f"{junk} is out of range (")


@pytest.mark.parametrize("junk", ["layer=abc", "layer=1e3", "layer=٣"])
def test_what_is_no_whole_number_is_said(library: Library, junk: str) -> None:
    (notice,) = find(library, "/head", f"?{junk}").notices
    assert notice.startswith(f"{junk} is not a whole number (0 to 1).")


@pytest.mark.parametrize("field", ["most", "fewest", "token", "toward", "ftoken"])
def test_what_is_no_number_chooses_nothing(library: Library, field: str) -> None:
    place = find(library, "/sentence", f"?{field}=abc")
    assert place.address.fields[field] is None
    assert place.notices[0].endswith("It is left out.")


@pytest.mark.parametrize(
    ("asked", "kept", "said"), [("0.0.1", "0.1", 0), ("1.1", "1", 0), ("1.11", "1", 1), ("11", None, 1)]
)
def test_heads_that_are_not_there_are_left_out_and_each_is_had_once(
    library: Library, asked: str, kept: str | None, said: int
) -> None:
    place = find(library, "/sentence", f"?heads={asked}")
    assert (place.address.heads, len(place.notices)) == (kept, said)


@pytest.mark.parametrize(
    ("asked", "kept", "said"),
    [("a;b:c|d", "a;b:c|d", 0), ("a;b:c|de", "a;b:c", 1), ("a:bcdef;g", "a:bcdef", 1), ("a:bcdefg", None, 1)],
)
def test_conditions_beyond_what_a_link_holds_are_left_out_whole_and_said(
    asked: str, kept: str | None, said: int
) -> None:
    notices: list[str] = []
    assert LinkReader({"where": asked}, notices).parts("where", 7) == kept
    assert len(notices) == said


def test_a_search_that_is_cut_is_said(library: Library) -> None:
    (notice,) = find(library, "/", f"?q={'a' * 300}").notices
    assert notice == "A link holds 200 characters of q. The rest is left out."


def test_queries_are_had_once(library: Library) -> None:
    assert find(library, "/sentence", "?queries=3.1.3").address.queries == "3.1"


def test_no_sentences_are_ranked_by_what_is_the_same_in_each(library: Library) -> None:
    place = find(library, "/sentence", "?by=received")
    assert place.address.by is None
    assert "by=received" in place.notices[0]


TYPED = "?text=a&second=b&pair=ab&words=1&special=0&rollout=1&hide=2"


def test_a_token_chosen_by_its_position_is_among_all_wordpieces(library: Library) -> None:
    address = find(library, "/sentence", TYPED).address.of_sentence(3, queries="4")
    assert address.href == "/sentence?sentence=3&queries=4"


def test_another_sentence_is_no_pair_and_shown_as_the_one_before(library: Library) -> None:
    address = find(library, "/sentence", TYPED).address.of_sentence(3)
    assert address.href == "/sentence?sentence=3&special=0&words=1&rollout=1"


def test_an_unknown_model_is_said_and_the_newest_shown(library: Library) -> None:
    place = find(library, "/", "?model=gpt-2")
    assert place.corpus.name in place.snapshot.models
    assert "gpt-2" in place.notices[0]


def test_an_unknown_snapshot_is_said_and_the_newest_shown(library: Library) -> None:
    place = find(library, "/", "?snapshot=AAAAAAAAAAAAAAAAAAAA")
    assert place.snapshot.id == library.newest
    assert place.expired


def test_an_unknown_page_is_said(library: Library) -> None:
    assert "etc/passwd" in find(library, "/../etc/passwd", "").notices[0]


def test_a_link_to_an_older_snapshot_keeps_naming_it(library: Library) -> None:
    assert find(library, "/", f"?snapshot={library.newest}").address.href == f"/?snapshot={library.newest}"
