"""Figures of page Head map: the colour steps of layers, the ring of the selected head, and the names on the matrix."""

import numpy as np
import pytest

from dashboard.head_map.figures import NAMED, by_label, by_layer, divergence_matrix


def places(layers: int, heads: int) -> np.ndarray:
    return np.arange(layers * heads * 2, dtype=float).reshape(layers, heads, 2)


def hover(layers: int, heads: int) -> list[list[str]]:
    return [[""] * heads for _ in range(layers)]


def lightness(colour: str) -> float:
    red, green, blue = (int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(","))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("layers", [1, 2, 6, 24])
def test_every_layer_has_a_step_that_is_lighter_than_the_one_before(layers: int) -> None:
    scale = by_layer(places(layers, 2), hover(layers, 2), (0, 0)).data[0].marker.colorscale
    steps = [lightness(colour) for _, colour in scale[::2]]
    assert len(steps) == layers
    assert steps == sorted(set(steps))


def test_the_legend_names_the_layers() -> None:
    bar = by_layer(places(3, 2), hover(3, 2), (0, 0)).data[0].marker.colorbar
    assert bar.ticktext == ("L0", "L1", "L2")


def test_a_label_that_the_legend_shows_alone_leaves_its_heads_where_they_are() -> None:
    labels = np.array([["", "broad"], ["broad", "next"]])
    layout = by_label(places(2, 2), labels, hover(2, 2), (0, 0)).layout
    assert layout.legend.itemclick == "toggleothers"
    ends = [axis.autorangeoptions.include for axis in (layout.xaxis, layout.yaxis)]
    assert [low < least and most < high for (low, high), least, most in zip(ends, (0, 1), (6, 7), strict=True)] == [
        True,
        True,
    ]


def test_the_ring_is_around_the_selected_head() -> None:
    figure = by_layer(places(2, 2), hover(2, 2), (1, 0))
    (ring,), (name,) = figure.layout.shapes, figure.layout.annotations
    assert (ring.xanchor, ring.yanchor, name.text) == (4, 5, "<b>L1 H0</b>")


@pytest.mark.parametrize("heads", [4, 72])
def test_the_axes_of_the_matrix_name_as_many_heads_as_fit(heads: int) -> None:
    names = [f"L0 H{head}" for head in range(heads)]
    axis = divergence_matrix(np.zeros((heads, heads)), names, names[1]).layout.xaxis
    assert axis.title.text == "layer and head"
    assert min(heads, NAMED // 2) <= len(axis.tickvals) <= NAMED


def test_the_selected_head_is_framed_and_named_on_the_matrix() -> None:
    names = [f"L0 H{head}" for head in range(72)]
    figure = divergence_matrix(np.zeros((72, 72)), names, "L0 H50")
    row, column = figure.layout.shapes
    assert (row.y0, row.y1, column.x0, column.x1) == (49.5, 50.5, 49.5, 50.5)
    assert "L0 H50" in figure.layout.yaxis.tickvals
