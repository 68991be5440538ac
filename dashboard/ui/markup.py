"""Plain HTML as one Dash component: Dash subscribes each of its own to every change of the page, hundreds in a table."""

from collections.abc import Iterator
from copy import copy
from itertools import groupby
from typing import Any

from dash import dcc
from dash.development.base_component import Component

from dashboard.ui.charts import Chart
from dashboard.ui.component import BrowserComponent

#: An element is [tag, properties, *children]; a text is itself. `LINK` goes to another page without leaving this one.
Tree = Any
LINK = "link"
#: Attribute of an anchor that is a link as Dash's own is, with properties that Dash's has not.
FOLLOWED = "data-followed"
HTML = "dash_html_components"
#: Attributes of a component that are not properties of its element.
_AVAILABLE = ("available_properties", "available_wildcard_properties")


class Markup(BrowserComponent):
    """Elements and texts without callbacks. Its JavaScript is in assets/web/markup.mjs.

    Parameters
    ----------
    id
        Dash id; no element has it.
    tree
        The elements and texts, one after the other.
    """

    properties = ("id", "tree")


def condensed(children: Any, place: str) -> list[Any]:
    """The same children, neighbours that are plain HTML as one Markup, also inside of those that are not.

    A chart without an id and every Markup get one from where they stand below `place`, so that the browser can change
    their properties alone (assets/web/follow.mjs). The label of a control is Markup too: a browser may translate it
    (assets/web/markup.mjs).
    """
    runs = groupby(_flat(children), key=_is_plain)
    return [item for number, (plain, run) in enumerate(runs) for item in _run(plain, list(run), f"{place}-{number}")]


def _run(plain: bool, run: list[Any], place: str) -> list[Any]:
    if plain:
        return [Markup(id=place, tree=[tree(item) for item in run])]
    return [_inside(item, f"{place}-{number}") for number, item in enumerate(run)]


def _inside(component: Component, place: str) -> Component:
    """A component that is not plain, its children condensed."""
    inner = copy(component)
    if isinstance(getattr(inner, "children", None), list | tuple | Component):
        inner.children = condensed(inner.children, place)
    if "label" in inner._children_props and isinstance(getattr(inner, "label", None), str):
        inner.label = Markup(tree=[inner.label])  # type: ignore[attr-defined]
    if isinstance(inner, Chart) and not hasattr(inner, "id"):
        inner.id = place  # type: ignore[attr-defined]
    return inner


def _flat(children: Any) -> Iterator[Any]:
    if isinstance(children, list | tuple):
        for child in children:
            yield from _flat(child)
    elif children is not None:
        yield children


def _is_plain(node: Any) -> bool:
    """Nothing but HTML, texts and links, and nothing that a callback names: its id would be a dict."""
    if not isinstance(node, Component):
        return True
    if not (node._namespace == HTML or isinstance(node, dcc.Link)) or isinstance(getattr(node, "id", None), dict):
        return False
    return all(_is_plain(child) for child in _flat(getattr(node, "children", None)))


def tree(node: Any) -> Tree:
    """Plain HTML as a tree."""
    if not isinstance(node, Component):
        return node
    properties = properties_of(node)
    children = _flat(properties.pop("children", None))
    tag = LINK if isinstance(node, dcc.Link) or FOLLOWED in properties else node._type.lower()
    return [tag, properties, *map(tree, children)]


def properties_of(node: Component) -> dict[str, Any]:
    """The properties that an element was given: `to_plotly_json` looks for all 40 that it may have, in ten times as long."""
    return {name: value for name, value in vars(node).items() if name[0] != "_" and name not in _AVAILABLE}
