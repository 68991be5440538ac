"""The heat map of all heads: its numbers in cells and on hover."""

import numpy as np
import xarray as xr

from dashboard.statistics.data import difference_grid, ranks_grid, values_grid

VALUES = np.array([[0.5, 0.25], [np.nan, 0.125]])


def test_shares_are_written_as_per_cent() -> None:
    assert values_grid(VALUES, "to_sep", None).written == [["50", "25"], ["", "12"]]


def test_other_numbers_keep_a_digit() -> None:
    assert values_grid(VALUES, "entropy", None).written[0] == ["0.5", "0.2"]


def test_hover_says_value_and_rank() -> None:
    assert values_grid(VALUES, "to_sep", None).hover[0][1] == "25.0%, rank 2 of 4"


def test_hover_says_the_interval_where_there_is_one() -> None:
    interval = xr.DataArray(np.stack([VALUES - 0.01, VALUES + 0.01]), dims=("bound", "layer", "head"))
    assert values_grid(VALUES, "to_sep", interval).hover[0][0] == "50.0% (95%: 49.0 to 51.0), rank 1 of 4"


def test_a_head_without_such_tokens_says_so() -> None:
    assert values_grid(VALUES, "to_sep", None).hover[1][0] == "no such tokens"


def test_ranks_begin_with_the_most() -> None:
    grid = ranks_grid(VALUES, "to_sep")
    np.testing.assert_array_equal(grid.values, [[1, 2], [np.nan, 3]])
    assert grid.written == [["1", "2"], ["", "3"]]


def test_equal_heads_have_equal_ranks() -> None:
    np.testing.assert_array_equal(ranks_grid(np.array([[1.0, 2.0, 1.0]]), "entropy").values, [[2, 1, 2]])


def test_a_difference_says_both_numbers() -> None:
    grid = difference_grid(np.array([[0.5]]), np.array([[0.3]]), "to_sep", "that of another")
    np.testing.assert_allclose(grid.values, [[0.2]])
    assert (grid.written, grid.hover) == ([["+20.0"]], [["50.0% − 30.0% = +20.0"]])
    assert grid.diverging


def test_a_difference_to_a_head_without_such_tokens_says_so() -> None:
    assert difference_grid(np.array([[0.5]]), np.array([[np.nan]]), "to_sep", "that of another").hover == [
        ["no such tokens"]
    ]
