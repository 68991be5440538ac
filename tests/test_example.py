"""Heads by example: marked pairs in a link, and the heads that make these links."""

import numpy as np
import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

import store
from dashboard.relations.example import (
    MOST_MARKED,
    MarkedPair,
    Marking,
    _written,
    by_example,
    parse_marks,
    rank_heads,
    written_marks,
)
from dashboard.web.state import LinkState
from tests.client import above
from tests.components import components

PAIRS = st.lists(
    st.builds(MarkedPair, st.integers(0, 99), st.integers(0, 30), st.integers(0, 30)), max_size=8, unique=True
)


@given(PAIRS)
def test_marked_pairs_survive_a_link(pairs: list[MarkedPair]) -> None:
    assert sorted(map(str, _written(written_marks(pairs) or ""))) == sorted(map(str, pairs))


def test_a_pair_that_the_corpus_has_not_is_left_out(bank_corpus: store.Corpus) -> None:
    assert parse_marks(bank_corpus, "0:0-1;0:2-2;0:0-99;99999:0-1") == (MarkedPair(0, 0, 1),)


def test_heads_are_ranked_by_links_then_weight(bank_corpus: store.Corpus) -> None:
    pairs = [MarkedPair(0, 0, 1), MarkedPair(1, 2, 0)]
    ranked = rank_heads(bank_corpus, pairs)
    assert len(ranked) == bank_corpus.layers * bank_corpus.heads
    assert ranked == sorted(ranked, key=lambda each: (-each.linked, -each.weight))
    for each in ranked:
        patterns = [bank_corpus.word_pattern(pair.sentence, layer=each.layer, head=each.head).values for pair in pairs]
        weights = [pattern[pair.source, pair.target] for pattern, pair in zip(patterns, pairs, strict=True)]
        others = [np.delete(pattern[pair.source], pair.source) for pattern, pair in zip(patterns, pairs, strict=True)]
        assert each.weight == pytest.approx(np.mean(weights), rel=1e-5)
        assert each.linked == sum(weight == other.max() for weight, other in zip(weights, others, strict=True))


def test_the_page_ranks_heads_for_marked_pairs(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", "?example=0:0-1;1:0-1")
    assert "links, of 2" in page
    assert "(sentence 1)" in page


def test_the_page_lists_the_sentences_of_the_first_head(bank_client: FlaskClient, bank_corpus: store.Corpus) -> None:
    first = rank_heads(bank_corpus, [MarkedPair(0, 0, 1)])[0]
    page = above(bank_client, "/relations", "?example=0:0-1")
    assert f"Sentences where L{first.layer} H{first.head} finds the most links like the marked pairs" in page


def test_the_page_lists_the_sentences_of_a_chosen_head(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", "?example=0:0-1&examples=chosen&layer=1&head=1")
    assert "Sentences where L1 H1 finds the most links like the marked pairs" in page


def test_a_first_word_that_the_sentence_is_too_short_for_is_none(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", "?sentence=0&start=140")
    assert "Choose a word, then the word that it should attend to." in page
    assert "140-" not in page


@pytest.mark.parametrize(("marked", "buttons"), [(MOST_MARKED - 1, 6), (MOST_MARKED, 0)])
def test_words_mark_no_pair_where_as_many_are_marked_as_can_be(marked: int, buttons: int) -> None:
    pairs = tuple(MarkedPair(1 + number, 0, 1) for number in range(marked))
    shown = list(components(by_example(LinkState(start=2), Marking(list("abcdef"), 99, pairs), None)))
    assert sum(getattr(part, "className", None) == "word" for part in shown) == buttons
    assert ("20 pairs are marked. Remove one to mark another." in shown) is (buttons == 0)


def test_pairs_without_anything_in_common_have_no_sentences(
    bank_client: FlaskClient, bank_corpus: store.Corpus
) -> None:
    last = bank_corpus.words.rows(0).stop - bank_corpus.words.rows(0).start - 1
    page = above(bank_client, "/relations", f"?example=0:0-{last}.{last}-0")
    assert "Mark pairs of one kind" in page
    assert "like the marked pairs" not in page


@pytest.mark.parametrize("hostile", ["0:0-1;", "x", "0:0", "9" * 30, "0:0-1" + ".0-1" * 500])
def test_a_hostile_example_is_ignored_with_a_notice(hostile: str, bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", f"?example={hostile}")
    assert "Ignored an invalid parameter: example=" in page
    assert "Heads by example" in page
