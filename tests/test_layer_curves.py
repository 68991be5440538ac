"""Figures by layer: the lines of the layers' means and their intervals."""

from typing import Any

import numpy as np

from dashboard.statistics.figures import Curve, layer_curves

VALUES = np.array([[0.2, 0.4], [0.5, 0.7]])
HOVER_TEXTS = [["", ""], ["", ""]]


def line(between: np.ndarray | None, unit: str = "share") -> Any:
    """The trace of the layers' means."""
    return layer_curves([Curve("one", VALUES, HOVER_TEXTS, between)], unit=unit).data[1]


def test_a_line_has_the_mean_of_each_layer() -> None:
    np.testing.assert_allclose(line(None).y, [0.3, 0.6])


def test_bars_reach_to_the_ends_of_the_interval() -> None:
    bars = line(np.array([[0.25, 0.5], [0.31, 0.9]])).error_y
    np.testing.assert_allclose(bars.arrayminus, [0.05, 0.1])
    np.testing.assert_allclose(bars.array, [0.01, 0.3])


def test_hover_says_the_interval() -> None:
    assert line(np.array([[0.25, np.nan], [0.31, np.nan]])).text == (" (95%: 25.0 to 31.0)", "")


def test_a_part_has_no_bars() -> None:
    assert line(None).error_y.array is None
