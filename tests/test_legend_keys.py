"""Entries of the legend of a chart, which a keyboard reaches as buttons."""

from typing import Any

import plotly.graph_objects as go

from dashboard.ui.charts import chart, layout


def drawn(*traces: go.Scatter, showlegend: bool = True) -> str:
    figure = go.Figure(list(traces), layout({}, {}, showlegend=showlegend))
    return str(chart(figure, name="curves", caption="", label="Curves"))


def line(name: str, **more: Any) -> go.Scatter:
    return go.Scatter(x=[0], y=[0], name=name, **more)


def test_each_entry_of_a_legend_has_a_button_with_its_trace() -> None:
    page = drawn(line("dots", showlegend=False), line("[CLS]"), line("[SEP]"))
    assert [f"Only {name}" in page for name in ("dots", "[CLS]", "[SEP]")] == [False, True, True]
    assert [f"data-trace='{place}'" in page for place in range(3)] == [False, True, True]


def test_a_chart_without_a_legend_or_with_one_entry_has_none() -> None:
    assert "data-trace" not in drawn(line("a"), line("b"), showlegend=False)
    assert "data-trace" not in drawn(line("a"))


def test_the_buttons_stand_outside_of_the_picture() -> None:
    """What is within a picture is not read to who does not see it."""
    figure = go.Figure([line("a"), line("b")], layout({}, {}, showlegend=True))
    picture, caption = chart(figure, name="curves", caption="", label="Curves")
    assert ["data-trace" in str(part) for part in (picture, caption)] == [False, True]
