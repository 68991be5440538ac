"""Plain HTML leaves the server as one component; a part that a callback names is its own component."""

import json
import re
from collections.abc import Iterator
from typing import Any

import dash_mantine_components as dmc
import pytest
from dash import dcc, html
from dash.development.base_component import Component
from plotly.utils import PlotlyJSONEncoder

from dashboard.pages import TOPICS
from dashboard.ui.controls import choice
from dashboard.ui.markup import FOLLOWED, Chart, Markup, condensed, properties_of, stacked_cells, title_of, tree
from dashboard.ui.text import naming
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore


def as_sent(children: object) -> Any:
    return json.loads(json.dumps(condensed(children, "above"), cls=PlotlyJSONEncoder))


def test_neighbours_of_plain_html_are_one_component() -> None:
    (markup,) = condensed([html.H1("Heads"), html.P(["a ", html.B("b"), 3]), None], "above")
    assert isinstance(markup, Markup)
    assert as_sent([html.H1("Heads")])[0]["props"]["tree"] == [["h1", {}, "Heads"]]


def test_texts_and_elements_keep_their_order_and_properties() -> None:
    cell = html.Td(["1 ", html.Span("of 2", title="two")], className="number", **{"aria-label": "one"})
    (sent,) = as_sent([html.Table(html.Tr(cell))])
    row = ["tr", {}, ["td", {"className": "number", "aria-label": "one"}, "1 ", ["span", {"title": "two"}, "of 2"]]]
    assert sent["props"]["tree"] == [["table", {}, row]]


def test_links_within_the_dashboard_differ_from_those_that_leave_the_page() -> None:
    links = [dcc.Link("a", href="/map"), html.A("b", href="/map", **{FOLLOWED: ""}), html.A("c", href="/data/x.csv")]
    assert [node[0] for node in as_sent(links)[0]["props"]["tree"]] == ["link", "link", "a"]


def test_the_title_is_the_text_of_the_first_heading_of_the_page() -> None:
    heading = html.H1(["What the heads of ", html.Bdi("MiniLM"), " do"])
    assert (
        title_of([html.P("1 sentence"), html.Div([html.H2("Part"), heading]), html.H1("Other")])
        == "What the heads of MiniLM do"
    )
    assert title_of([html.P("1 sentence"), None]) == ""


def test_a_component_with_an_id_stays_one_and_so_do_its_parents() -> None:
    button = html.Button("png", id={"save": "png", "chart": "x"})
    before, inside, after = as_sent([html.P("before"), html.P(["Save as ", button, "."]), html.P("after")])
    assert (before["type"], inside["type"], after["type"]) == ("Markup", "P", "Markup")
    assert [child["type"] for child in inside["props"]["children"]] == ["Markup", "Button", "Markup"]


def test_controls_and_charts_keep_their_types_and_a_chart_gets_an_id() -> None:
    select, box = as_sent([dmc.Select(id="a", value="1"), html.Div(Chart(figure={}), className="chart")])
    assert select["type"] == "Select"
    (graph,) = box["props"]["children"]
    assert (graph["type"], graph["props"]["id"]) == ("Chart", "above-0-1-0-0")


def test_the_label_of_a_control_is_markup_that_a_translator_may_change() -> None:
    (select,) = as_sent([dmc.Select(id="a", label="At least, %")])
    label = select["props"]["label"]
    assert (label["type"], label["props"]["tree"]) == ("Markup", ["At least, %"])


def test_condensing_changes_nothing_of_what_it_is_given() -> None:
    shown = html.Div([html.P("a"), dmc.Select(id="a")])
    condensed([shown], "above")
    assert [type(child).__name__ for child in shown.children] == ["P", "Select"]


@pytest.mark.parametrize(
    "element",
    [
        html.Td("x", className="number", colSpan=2, **{"aria-sort": "descending", "data-x": "1"}),
        html.Div(id="here", children=[html.Span()], style={"height": "1px"}),
        dcc.Link("open", href="/head", title="Open"),
        html.Br(),
    ],
)
def test_properties_are_those_that_dash_sends(element: Component) -> None:
    assert properties_of(element) == element.to_plotly_json()["props"]


# -- what a browser does not translate ------------------------------------------------------------------


def test_a_name_of_the_data_in_a_sentence_is_an_element_of_its_own() -> None:
    assert as_sent([html.P(naming("det of detail: 3 of det.", "det", ""))])[0]["props"]["tree"] == [
        ["p", {}, ["bdi", {}, "det"], " of detail: 3 of ", ["bdi", {}, "det"], "."]
    ]
    assert naming("All relations", "") == ["All relations"]


def test_the_options_of_a_choice_among_names_are_not_translated() -> None:
    of_data = choice("relation", "Relation", {"det": "det (12)"}, "det", 200, of_data=True)
    assert of_data.attributes == {"option": {"translate": "no"}, "pill": {"translate": "no"}}
    assert not hasattr(choice("first", "Order", {"largest": "largest first"}, "largest", 120), "attributes")


def translated(tree: Any) -> Iterator[str]:
    """Texts that a browser may translate: texts of a tree, or of sent components, in no element for data."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        props = tree.get("props", {})
        yield from translated([*props.get("tree", []), props.get("children")])
    elif isinstance(tree, list):
        is_data = tree[:1] in (["bdi"], ["code"], ["pre"])
        yield from (text for part in tree if not is_data for text in translated(part))


@pytest.mark.parametrize("page", ["overview", "compare", "store", "relations"])
def test_no_name_of_a_model_is_translated(bank_store: str, page: str) -> None:
    context = resolve(ServedStore(bank_store), page, "?since=0" if page == "store" else "")
    shown = TOPICS[page].layout(context)
    name = re.compile(rf"(?<!\w){re.escape(context.corpus.title)}(?!\w)")
    sent = as_sent([*shown.above, *shown.below])
    assert [text for text in translated(sent) if name.search(text)] == []


def test_no_name_of_a_relation_is_translated(bank_store: str) -> None:
    shown = TOPICS["relations"].layout(resolve(ServedStore(bank_store), "relations", "?relation=det"))
    assert [text for text in translated(as_sent(shown.above)) if re.search(r"\bdet\b", text)] == []


def test_cells_of_a_table_have_their_titles_for_a_narrow_window() -> None:
    table = stacked_cells(
        ("head", "accuracy "), [[html.Td("L0 H1"), html.Td(["35", "%"], className="number")]], {"accuracy "}
    )
    _, _, _, (_, _, row) = tree(table)
    assert row[2:] == [
        ["td", {"data-name": "head"}, "L0 H1"],
        ["td", {"className": "number", "data-name": "accuracy"}, ["span", {}, "35", "%"]],
    ]
