"""The heat map of all relations by all heads: filled cells are clear gains, all others are quiet, and the axis names heads."""

import numpy as np
import plotly.graph_objects as go
import pytest

from dashboard.relations.accuracies import FILLED, relations_by_heads

GAIN = np.array([[0.0, 0.25, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0]])


@pytest.fixture
def figure() -> go.Figure:
    return relations_by_heads(["det", "dobj"], GAIN, [["hover"] * 4] * 2, heads=2)


def test_only_clear_gains_are_filled(figure: go.Figure) -> None:
    filled = np.array(figure.data[1].z, float)
    assert np.argwhere(~np.isnan(filled)).tolist() == [[0, 1], [1, 0]]
    assert filled[0, 1] == 25


def test_every_other_cell_is_quiet_without_a_colour_of_the_scale(figure: go.Figure) -> None:
    quiet = figure.data[0]
    assert np.shape(quiet.z) == GAIN.shape
    assert not {colour for _, colour in quiet.colorscale} & {colour for _, colour in FILLED}


def test_a_quiet_cell_has_its_numbers_on_hover(figure: go.Figure) -> None:
    assert (figure.data[0].hoverinfo, figure.data[1].hovertext[0][0]) == ("skip", "hover")
    assert figure.data[1].hoverongaps is not False


def test_the_axis_names_heads(figure: go.Figure) -> None:
    assert list(figure.data[1].x) == ["L0 H0", "L0 H1", "L1 H0", "L1 H1"]
    assert figure.layout.xaxis.tickvals is None  # plotly chooses as many as fit


def test_a_line_stands_between_two_layers(figure: go.Figure) -> None:
    (line,) = figure.layout.shapes
    assert line.x0 == 1.5
