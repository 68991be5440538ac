"""The selected points as a table and in numbers, against counting by hand."""

from math import isnan

import numpy as np
import pytest

from dashboard.points.head_tokens import HeadTokens, column_of, columns
from dashboard.points.point_set import mask, parse_selection, values
from dashboard.points.shown import Share, ShownPoints, selection_panel, summarize
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus

TOKENS = 90


@pytest.fixture
def drawn(two_views: Corpus) -> HeadTokens:
    return HeadTokens(two_views, TOKENS, 1, 0)


@pytest.fixture
def selected(drawn: HeadTokens) -> np.ndarray:
    """Mask of the keys of [CLS] and of words near the start."""
    return mask(drawn, parse_selection({"where": "position:0..2;role:key"}, drawn.corpus, columns(drawn.corpus))[0])


def test_a_summary_counts(drawn: HeadTokens, selected: np.ndarray) -> None:
    summary = summarize(drawn, selected)
    assert (summary.count, summary.of) == (selected.sum(), 2 * TOKENS)
    assert summary.share == selected.mean()


def test_shares_are_of_the_selected_and_of_the_rest(drawn: HeadTokens, selected: np.ndarray) -> None:
    shares = {share.category: share for share in summarize(drawn, selected).comparisons[1].shares}
    is_word = values(column_of(drawn.corpus, "kind"), drawn) == 5
    inside, rest = is_word[selected].mean(), is_word[~selected].mean()
    assert shares["word"] == Share("word", int(is_word[selected].sum()), inside, rest)


def test_only_keys_are_selected(drawn: HeadTokens, selected: np.ndarray) -> None:
    (role,) = summarize(drawn, selected).comparisons[0].shares
    assert (role.category, role.selected) == ("key", 1)


def test_the_most_frequent_wordpieces_come_first(drawn: HeadTokens, selected: np.ndarray) -> None:
    pieces = summarize(drawn, selected).comparisons[-1]
    assert pieces.column == "wordpiece"
    assert pieces.shares[0].category == "[CLS]"
    assert [share.count for share in pieces.shares] == sorted((share.count for share in pieces.shares), reverse=True)
    assert len(pieces.shares) == 12


@pytest.mark.parametrize("name", ["norm", "position", "sentence_length", "received", "entropy"])
def test_means_differ_by_so_many_deviations(drawn: HeadTokens, selected: np.ndarray, name: str) -> None:
    difference = {
        difference_of_column.column: difference_of_column
        for difference_of_column in summarize(drawn, selected).differences
    }[name]
    numbers = values(column_of(drawn.corpus, name), drawn)
    inside, rest = numbers[selected], numbers[~selected]
    deviation = np.sqrt((inside.std() ** 2 + rest.std() ** 2) / 2)
    assert (difference.selected, difference.rest) == pytest.approx((inside.mean(), rest.mean()))
    assert difference.standardized == pytest.approx((inside.mean() - rest.mean()) / deviation)


def test_of_all_heads_only_what_is_the_same_in_all_is_compared(two_views: Corpus) -> None:
    drawn = HeadTokens(two_views, TOKENS)
    summary = summarize(drawn, np.ones((1, TOKENS, 2), bool))
    assert [difference.column for difference in summary.differences] == ["position", "sentence_length"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("q=zzzz", "No drawn point matches the search “zzzz”, so the picture shows all points alike. Clear all."),
        ("q=zzzz&where=position:1..2", "No drawn point matches the search “zzzz” and the filter, so"),
        ("lasso=pca-exact-2d,0,0,0,0,0,0,1,0,1,1", "No drawn point matches the lasso, so"),
        ("q=zzzz&tokens=5", "alike. Clear all, or show more tokens."),
    ],
)
def test_an_empty_selection_names_what_nothing_matches(tiny_store: str, query: str, text: str) -> None:
    context = resolve(ServedStore(tiny_store), "/head", f"?{query}")
    tokens = min(context.state.tokens, context.corpus.n_tokens)
    assert text in str(selection_panel(ShownPoints.of(context, HeadTokens(context.corpus, tokens, 0, 0))))


@pytest.mark.parametrize("everything", [True, False])
def test_all_or_nothing_can_be_summarized(drawn: HeadTokens, everything: bool) -> None:
    summary = summarize(drawn, np.full((1, TOKENS, 2), everything))
    assert summary.share == everything
    assert all(isnan(difference.standardized) for difference in summary.differences)
