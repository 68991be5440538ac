"""Stills of heat maps, which replace a chart until plotly is loaded."""

import re
from urllib.parse import unquote

import numpy as np
import plotly.graph_objects as go
import pytest

from dashboard.ui.charts import MOST_CELLS, Still, heat_map, still_of


def drawn(values: np.ndarray, *, reverse: bool = False) -> go.Figure:
    texts = [[f"{value:.0f}" for value in row] for row in values]
    return heat_map(values, written=texts, hover=texts, unit="%", reverse=reverse)


def svg(still: Still | None) -> str:
    assert still
    return unquote(still.src.removeprefix("data:image/svg+xml,"))


def fills(still: Still | None) -> list[str]:
    return re.findall(r'<rect [^>]*fill="([^"]+)"', svg(still))


VALUES = np.array([[0.0, 1.0, 2.0], [3.0, np.nan, 5.0]])


def test_a_still_has_a_cell_for_every_value_and_none_where_there_is_none() -> None:
    assert [fill == "none" for fill in fills(still_of(drawn(VALUES), 116))] == [False] * 4 + [True, False]


def test_the_ends_of_a_still_have_the_ends_of_the_colours() -> None:
    colours = fills(still_of(drawn(VALUES), 116))
    assert (colours[0], colours[-1]) == ("rgb(241, 245, 249)", "rgb(0, 34, 61)")


def test_cells_that_are_all_alike_have_the_middle_colour_as_in_the_chart() -> None:
    zeros = np.zeros((1, 2))
    differences = heat_map(zeros, written=[["0", "0"]], hover=[["0", "0"]], unit="nats", diverging=True)
    assert fills(still_of(differences, 116)) == ["rgb(244, 244, 244)"] * 2


def test_reversed_colours_are_reversed_in_the_still() -> None:
    assert fills(still_of(drawn(VALUES, reverse=True), 116))[0] == "rgb(0, 34, 61)"


def test_a_still_names_the_columns_and_writes_the_values() -> None:
    assert re.findall(r">([^<>]+)</text>", svg(still_of(drawn(VALUES), 116))) == [
        "H0",
        "H1",
        "H2",
        "0",
        "1",
        "2",
        "3",
        "5",
    ]


def test_cells_are_as_high_as_the_rows_of_the_chart() -> None:
    assert re.findall(r'<rect [^>]*height="([\d.]+)"', svg(still_of(drawn(VALUES), 116)))[0] == "37.0"


def test_a_still_stands_where_the_chart_will_stand() -> None:
    margin = drawn(VALUES).layout.margin
    still = still_of(drawn(VALUES), 116)
    assert still
    assert (still.left, still.width) == (margin.l, f"calc(100% - {margin.l + margin.r}px)")


@pytest.mark.parametrize(
    "figure",
    [
        go.Figure(go.Scatter(x=[1], y=[1])),
        drawn(np.zeros((MOST_CELLS, 2))),
        drawn(np.full((2, 2), np.nan)),
        {"data": [], "layout": {}},
    ],
)
def test_other_charts_have_no_still(figure: go.Figure) -> None:
    assert still_of(figure, 116) is None
