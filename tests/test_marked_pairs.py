"""Marked pairs of a sentence: from the link to the views, and from page Head to page Sentence and back."""

import pytest

from dashboard.sentence.marks import MarkedPair, marked_pairs, marks_notice
from dashboard.sentence.picture import MARK_COLOURS, options_of
from dashboard.sentence.sentence import shown_units
from dashboard.ui.theme import CATEGORIES
from dashboard.web.state import LinkState
from tests.sentences import PIECES, a_pair


def marked(**fields: object) -> list[MarkedPair]:
    """The marks of the pair of sentences at a link with these fields."""
    state, sentence = LinkState("sentence").with_(**fields), a_pair()
    options = options_of(state)
    return marked_pairs(state, sentence, options, shown_units(sentence, options))


def test_a_pair_of_the_link_is_named_and_found_among_the_shown_tokens() -> None:
    assert marked(marks="1-3") == [MarkedPair((1, 3), ("the", "##y"), 1, 3)]


def test_a_word_is_marked_where_any_of_its_wordpieces_is() -> None:
    assert marked(marks="1-3", words="1") == [MarkedPair((1, 3), ("the", "zany"), 1, 2)]


@pytest.mark.parametrize(
    ("fields", "query", "key"), [({"hide": "3"}, 1, None), ({"pair": "ab"}, 1, None), ({"special": "0"}, 0, 2)]
)
def test_a_mark_of_a_token_that_is_not_shown_is_kept_without_its_place(
    fields: dict[str, str], query: int | None, key: int | None
) -> None:
    (mark,) = marked(marks="1-3", **fields)
    assert (mark.positions, mark.query, mark.key) == ((1, 3), query, key)


def test_two_words_of_a_link_mark_each_wordpiece_of_one_with_each_of_the_other() -> None:
    """Words of a link match [CLS] the zan ##y film in any case; a word that the sentence lacks marks nothing."""
    assert [mark.names for mark in marked(marks="the-Zany")] == [("the", "zan"), ("the", "##y")]
    assert [mark.positions for mark in marked(marks="zany-film.1-2")] == [(2, 4), (3, 4), (1, 2)]
    assert marked(marks="the-capybara.the-the") == [MarkedPair((1, 1), ("the", "the"), 1, 1)]


def test_marks_that_the_sentence_does_not_have_and_repeated_ones_are_left_out() -> None:
    assert [mark.positions for mark in marked(marks=f"1-2.1-{len(PIECES)}.1-2.2-1")] == [(1, 2), (2, 1)]


def test_as_many_pairs_are_marked_as_there_are_colours_and_a_notice_says_so() -> None:
    state = LinkState("sentence").with_(marks=".".join(f"1-{key}" for key in range(9)))
    assert len(marked(marks=state.marks)) == 8
    (notice,) = marks_notice(state, a_pair())
    assert notice.startswith("The link marks 9 pairs; the first 8 are shown")
    assert marks_notice(state.with_(marks="1-2"), a_pair()) == ()


def test_marks_have_the_colours_of_categories_in_both_schemes() -> None:
    assert {scheme: tuple(colours) for scheme, colours in MARK_COLOURS.items()} == dict(CATEGORIES)


def test_marks_stay_on_their_page_and_in_their_sentence() -> None:
    state = LinkState("sentence").with_(marks="1-2")
    assert state.on("sentence").marks == "1-2"
    assert state.on("head").marks is None
    assert LinkState("head").with_(marks="1-2").on("sentence").marks is None
    assert state.of_sentence(3).marks is None
    assert state.of_sentence(3, marks="1-2").marks == "1-2"
