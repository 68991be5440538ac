"""Our own Dash components: the attributes that Dash reads, which are private to Dash."""

import pytest
from dash.development.base_component import Component, ComponentRegistry

from dashboard.canvas.spec import PointPanels
from dashboard.sentence.picture import SentenceViews
from dashboard.ui.markup import BrowserComponent, Chart, Markup

COMPONENTS: list[type[BrowserComponent]] = [Markup, Chart, PointPanels, SentenceViews]


@pytest.mark.parametrize("component", COMPONENTS)
def test_dash_sends_a_component_by_its_name_with_its_properties(component: type[BrowserComponent]) -> None:
    own = component.properties[1]
    sent = component(id="a", **{own: [1]}).to_plotly_json()
    assert sent == {"namespace": "headscape", "type": component.__name__, "props": {"id": "a", own: [1]}}


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_property_that_a_component_has_not_is_refused(component: type[BrowserComponent]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        component(id="a", colour="red")


def test_a_property_that_is_not_given_is_not_sent() -> None:
    assert PointPanels(id="a", picture=None).to_plotly_json()["props"] == {"id": "a"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_dash_looks_for_no_other_components_in_its_properties(component: type[BrowserComponent]) -> None:
    assert ComponentRegistry.children_props["headscape"][component.__name__] == []


def test_dash_reads_of_a_component_what_we_declare() -> None:
    declared = {"_namespace", "_type", "_prop_names", "_valid_wildcard_attributes", "available_wildcard_properties"}
    assert declared <= set(Component.__annotations__)
