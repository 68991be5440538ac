"""Entries of the legend of a chart, which a keyboard reaches as buttons."""

import json
import re
from typing import Any

import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from dashboard.ui.charts import chart, layout
from dashboard.web.special_names import renamed


def drawn(*traces: go.Scatter, showlegend: bool = True) -> str:
    figure = go.Figure(list(traces), layout({}, {}, showlegend=showlegend))
    return str(chart(figure, name="curves", caption="", label="Curves"))


def line(name: str, **more: Any) -> go.Scatter:
    return go.Scatter(x=[0], y=[0], name=name, **more)


def test_each_entry_of_a_legend_has_a_button_with_the_name_of_its_trace() -> None:
    page = drawn(line("dots", showlegend=False), line("[CLS]"), line("[SEP]"))
    assert [f"Only {name}" in page for name in ("dots", "[CLS]", "[SEP]")] == [False, True, True]
    assert re.findall(r"data-name='(.*?)'", page) == ["[CLS]", "[SEP]"]


def test_a_button_has_the_name_under_which_its_trace_is_sent() -> None:
    """Traces are renamed for a model with another first token, and for a model without a token after the text."""
    figure = go.Figure([line("[CLS]"), line("[SEP]"), line("comma")], layout({}, {}, showlegend=True))
    sent = renamed(json.loads(to_json_plotly(chart(figure, name="curves", caption="", label="Curves"))), (None, None))
    traces = [trace["name"] for trace in sent[0]["props"]["children"]["props"]["figure"]["data"]]
    assert re.findall(r"'data-name': '(.*?)'", str(sent[1])) == traces


def test_a_button_says_a_name_in_plain_text() -> None:
    page = drawn(line("&lt;3 stars"), line("R&amp;D &#36;5&#36;"))
    assert "Only <3 stars" in page
    assert "data-name='R&D $5$'" in page


def test_a_chart_without_a_legend_or_with_one_entry_has_none() -> None:
    assert "data-name" not in drawn(line("a"), line("b"), showlegend=False)
    assert "data-name" not in drawn(line("a"))


def test_the_buttons_stand_outside_of_the_picture() -> None:
    """Screen readers do not read the content of a picture."""
    figure = go.Figure([line("a"), line("b")], layout({}, {}, showlegend=True))
    picture, caption = chart(figure, name="curves", caption="", label="Curves")
    assert ["data-name" in str(part) for part in (picture, caption)] == [False, True]
