"""Figures of differences of shares are in percentage points, as the numbers beside them."""

import numpy as np
import pytest

from dashboard.compare.sentences import pattern_matrix
from dashboard.ui.charts import heat_map


@pytest.mark.parametrize(("unit", "scale"), [("points", 100), ("nats", 1)])
def test_colours_of_a_heat_map_are_in_the_unit_of_its_bar(unit: str, scale: int) -> None:
    values = np.array([[0.25, -0.5], [0.0, np.nan]])
    texts = [[""] * 2] * 2
    heat = heat_map(values, written=texts, hover=texts, unit=unit, diverging=True).data[0]
    np.testing.assert_array_equal(heat.z, scale * values)
    assert (heat.zmin, heat.zmax) == (-scale * 0.5, scale * 0.5)
    assert heat.colorbar.title.text == unit
    assert "%" not in heat.colorbar.tickformat


def test_a_difference_of_weights_is_in_points() -> None:
    less = np.array([[0.125, -0.25], [0.0, 0.0]])
    heat = pattern_matrix(less, ("a", "b"), most=0.25, diverging=True).data[0]
    np.testing.assert_array_equal(heat.z, 100 * less)
    assert (heat.zmin, heat.zmax) == (-25, 25)
    assert "points" in heat.hovertemplate
    assert "%" not in heat.colorbar.tickformat


def test_weights_are_shares() -> None:
    weights = np.array([[0.75, 0.25], [0.5, 0.5]])
    heat = pattern_matrix(weights, ("a", "b"), most=0.75).data[0]
    np.testing.assert_array_equal(heat.z, weights)
    assert heat.colorbar.tickformat == ".0%"
