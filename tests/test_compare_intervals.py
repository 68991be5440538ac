"""Intervals on page Compare: a number over a single sentence has no interval, and the page writes none."""

from dataclasses import replace

import numpy as np
from dash import html

from dashboard.compare.data import Changes, changes
from dashboard.compare.head_differences import changed_heads
from dashboard.compare.two_models import MeanInterval, ModelPair
from dashboard.web.state import LinkState


def without_intervals(changed: Changes) -> Changes:
    """Changes with their means but without intervals, as over a single sentence."""
    divergence, difference, most = (
        MeanInterval(known.mean, np.full_like(known.mean, np.nan), np.full_like(known.mean, np.nan))
        for known in (changed.divergence, changed.difference.change, changed.most_difference.change)
    )
    of_statistics = replace(changed.difference, change=difference), replace(changed.most_difference, change=most)
    return replace(changed, divergence=divergence, difference=of_statistics[0], most_difference=of_statistics[1])


def test_a_number_over_one_sentence_has_no_interval(alike: ModelPair) -> None:
    changed = without_intervals(changes(alike, "entropy", "all"))
    page = html.Div(changed_heads(LinkState(page="compare", statistic="entropy"), alike, changed))
    parts = list(page._traverse())
    most, order = changed.most_difference, np.argsort(-changed.divergence.mean, axis=None)
    differences = [f"{100 * value:+.2f} points".replace("-", "−") for value in (most.other - most.own).ravel()[order]]
    assert [part.children for part in parts if getattr(part, "className", "") == "between"] == differences
    (figure,) = (part.figure for part in parts if hasattr(part, "figure"))
    np.testing.assert_array_equal(
        figure.data[0].hovertext, [[f"{value:.4f} nats" for value in row] for row in changed.divergence.mean]
    )
