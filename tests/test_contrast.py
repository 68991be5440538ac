"""Contrast of selected tokens with the rest: shares of their wordpieces, token types and labels."""

import numpy as np
import pytest

from dashboard.features.shown import LISTED_WORDPIECES, FeatureView, contrast_of, contrasts, selection_contrast
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore


@pytest.fixture
def shown(tiny_store: str) -> FeatureView:
    return FeatureView.of(resolve(ServedStore(tiny_store), "features", "?q=the"))


def test_shares_are_those_of_the_selected_tokens_and_of_the_others() -> None:
    selected = np.array([True, True, True, False, False])
    found = contrast_of("letter", ["a", "b"], np.array([0, 0, 1, 1, 1]), selected)
    a, b = sorted(found, key=lambda contrast: contrast.value)
    assert (a.inside, a.outside, a.share, a.share_outside) == (2, 0, pytest.approx(2 / 3), 0)
    assert (b.inside, b.outside, b.difference) == (1, 2, pytest.approx(1 / 3 - 1))


def test_what_is_searched_for_is_the_wordpiece_that_differs_most(shown: FeatureView) -> None:
    wordpieces = [contrast for contrast in contrasts(shown) if contrast.group == "wordpiece"]
    first = wordpieces[0]
    assert (first.value, first.share, first.share_outside) == ("the", 1, 0)
    assert len(wordpieces) <= LISTED_WORDPIECES


def test_token_types_and_labels_are_counted_once_for_every_token(shown: FeatureView) -> None:
    for group in ("token type", "label"):
        counted = sum(c.inside + c.outside for c in contrasts(shown) if c.group == group)
        assert counted == shown.tokens


def test_nothing_is_contrasted_without_a_selection(tiny_store: str) -> None:
    assert selection_contrast(FeatureView.of(resolve(ServedStore(tiny_store), "features", ""))) == []


def test_a_selection_has_a_table(shown: FeatureView) -> None:
    assert "Selected tokens against the others" in str(selection_contrast(shown))
