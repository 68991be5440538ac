"""Markup of pages: their parts, messages for numbers that the store lacks, our own components, plain HTML as one component, tables.

Dash has no public way to declare a component without a build step: a class of ours in Python has a function of the same name
in assets/headscape.mjs. The class attributes that Dash reads are private; only this module sets them. Plain HTML becomes one
component, as Dash subscribes each of its own components to every change of the page, hundreds in a table.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component, ComponentMeta

from dashboard.ui.text import with_commands
from dashboard.web.errors import sentence_for, stage_line
from dashboard.web.http import for_one_reader
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress

#: The part of the id of a line that follows the ingest; `pages.py` fills it as often as a tab asks for newer snapshots.
UNDER_WAY = "under-way"
#: Value of this part of the id on page Store, whose line also says that no ingest runs.
STORE = "store"
RUN = "Run `headscape ingest`."
#: Sentence instead of `RUN` while an ingest runs, which may not make the missing part.
SHOWN_ONCE_MADE = "This part is shown once an ingest has published it."
#: An element is [tag, properties, *children]; a text is a str. The tag `LINK` goes to another page without reloading.
Tree = Any
LINK = "link"
#: Attribute of an anchor that acts like `dcc.Link`, with properties that `dcc.Link` lacks.
FOLLOWED = "data-followed"
HTML = "dash_html_components"
#: Class of links to content that a server computes: a published page leaves them out (dashboard/published/markup.py).
FURTHER = "further"
#: Attributes of a component that are not properties of its element.
_AVAILABLE = ("available_properties", "available_wildcard_properties")
_NOTHING: Mapping[str, str | None] = MappingProxyType({})


@dataclass(frozen=True)
class Page:
    """Parts of a page around the one canvas that all pages share.

    `notices` are sentences on fields of the link that could not be followed.
    """

    above: list[object] = field(default_factory=list)
    beside: list[object] = field(default_factory=list)
    below: list[object] = field(default_factory=list)
    notices: tuple[str, ...] = ()


def without_picture(running: IngestProgress | None, title: str) -> Page:
    """A page whose model has no picture yet: how to get one."""
    alert = dmc.Alert(unmade(running, "This model has no picture yet."), color="blue", variant="light")
    return Page(above=[html.H1(title), alert])


def problem(error: Exception) -> dmc.Alert:
    """Why a part of a page, or the page, cannot be shown."""
    for_one_reader()  # the next reader may get the part
    sentence, _ = sentence_for(error)
    return dmc.Alert(with_commands(sentence), color="red", title="This cannot be shown", className="problem")


def unmade(
    running: IngestProgress | None, missing: str, remedy: str = RUN, afterwards: str = SHOWN_ONCE_MADE
) -> list[object]:
    """The missing part and how to get it; the ingest under way instead, as it may make the part and no second ingest can begin.

    `afterwards` stands in place of `remedy` while an ingest runs.
    """
    if running is None:
        return [*with_commands(f"{missing} {remedy}")]
    line = html.Span(stage_line(running), id={UNDER_WAY: "line"}, role="status")
    return [*with_commands(f"{missing} "), line, *with_commands(f" {afterwards}")]


@dataclass(frozen=True)
class Unmade:
    """A part that the store lacks, how to get it, and the ingest under way, which may make it."""

    missing: str
    remedy: str
    running: IngestProgress | None

    @classmethod
    def of(cls, error: NotIngested, running: IngestProgress | None) -> "Unmade":
        """The missing part and the remedy that an error of the store names."""
        return cls(error.missing, error.remedy, running)

    @property
    def text(self) -> list[object]:
        """Why there are no numbers and what to do, as sentences; see `unmade`."""
        return unmade(self.running, self.missing, self.remedy)


def unmade_line(what: Unmade) -> html.P:
    """A paragraph below a heading: why there are no numbers and what to do."""
    line: list[Any] = what.text
    return html.P(line, className="unmade")


def ingest_state(running: IngestProgress | None) -> list[object]:
    """The running ingest with its stage, the remaining time and a bar; or a sentence that none runs."""
    if running is None:
        return [html.P("No ingest is running.")]
    share = running.share
    bar = dmc.Progress(value=100 * (share or 0), size="sm", **{"aria-label": "Progress of the stage"})
    return [html.P(stage_line(running)), bar]


def under_way(running: IngestProgress | None, place: object) -> object:
    """Content on the running ingest for the component with the id `place`."""
    return ingest_state(running) if place == {UNDER_WAY: STORE} else stage_line(running)


class BrowserComponentMeta(ComponentMeta):
    """Adds to a class the attributes that Dash reads, made from its `properties`."""

    def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> Any:
        """Make the class with the attributes that Dash expects of a generated class."""
        names = list(attributes.get("properties", ()))
        private = {
            "_namespace": "headscape",
            "_type": name,
            "_base_nodes": ["children"],
            "_children_props": [],
            "_prop_names": names,
            "_valid_wildcard_attributes": [],
            "available_properties": names,
            "available_wildcard_properties": [],
        }
        return super().__new__(cls, name, bases, private | attributes)


class BrowserComponent(Component, metaclass=BrowserComponentMeta):
    """A component whose JavaScript is `window.headscape.NAME`. A property that is None counts as not given."""

    properties: tuple[str, ...] = ()

    def __init__(self, **properties: Any) -> None:
        super().__init__(**{name: value for name, value in properties.items() if value is not None})


class Chart(BrowserComponent):
    """Dash's `dcc.Graph`, drawn once it is near the window, else when the browser rests (assets/web/chart.mjs).

    `still` is the picture in its place until then (`charts.py`).
    """

    properties = ("id", "figure", "config", "style", "still", "clickData", "selectedData")


class Markup(BrowserComponent):
    """Elements and texts without callbacks. Its JavaScript is in assets/web/markup.mjs.

    Parameters
    ----------
    id
        Dash id; no HTML element has this id.
    tree
        The elements and texts, one after the other.
    """

    properties = ("id", "tree")


def condensed(children: Any, place: str) -> list[Any]:
    """The children, with neighbours of plain HTML joined into one Markup, also inside components that are not plain.

    A chart without an id and every Markup get an id from their position below `place`, so that the browser can change
    their properties alone (assets/web/follow.mjs). The label of a control is Markup too: a browser may translate it
    (assets/web/markup.mjs).
    """
    runs = groupby(flat(children), key=_is_plain)
    return [item for number, (plain, run) in enumerate(runs) for item in _run(plain, list(run), f"{place}-{number}")]


def _run(plain: bool, run: list[Any], place: str) -> list[Any]:
    if plain:
        return [Markup(id=place, tree=[tree(item) for item in run])]
    return [_inside(item, f"{place}-{number}") for number, item in enumerate(run)]


def _inside(component: Component, place: str) -> Component:
    """A copy of a component that is not plain, with condensed children."""
    inner = copy(component)
    if isinstance(getattr(inner, "children", None), list | tuple | Component):
        inner.children = condensed(inner.children, place)
    if "label" in inner._children_props and isinstance(getattr(inner, "label", None), str):
        inner.label = Markup(tree=[inner.label])  # type: ignore[attr-defined]
    if isinstance(inner, Chart) and not hasattr(inner, "id"):
        inner.id = place  # type: ignore[attr-defined]
    return inner


def flat(children: Any) -> Iterator[Any]:
    """The children of a component one by one, however deep their lists are."""
    if isinstance(children, list | tuple):
        for child in children:
            yield from flat(child)
    elif children is not None:
        yield children


def title_of(children: Any) -> str:
    """The text of the first heading of the page in components; empty without one."""
    inner = (node for node in flat(children) if isinstance(node, Component))
    titles = (
        _written(node) if isinstance(node, html.H1) else title_of(getattr(node, "children", None)) for node in inner
    )
    return next(filter(None, titles), "")


def _written(node: Any) -> str:
    """The text of a component; the text of a `Markup`, which the picture fills, is left out."""
    if not isinstance(node, Component):
        return str(node)
    return "".join(map(_written, flat(getattr(node, "children", None))))


def _is_plain(node: Any) -> bool:
    """Whether a node holds only HTML, texts and links, and no component of a callback, whose id would be a dict."""
    if not isinstance(node, Component):
        return True
    if not (node._namespace == HTML or isinstance(node, dcc.Link)) or isinstance(getattr(node, "id", None), dict):
        return False
    return all(_is_plain(child) for child in flat(getattr(node, "children", None)))


def tree(node: Any) -> Tree:
    """Plain HTML as a tree."""
    if not isinstance(node, Component):
        return node
    properties = properties_of(node)
    children = flat(properties.pop("children", None))
    tag = LINK if isinstance(node, dcc.Link) or FOLLOWED in properties else node._type.lower()
    return [tag, properties, *map(tree, children)]


def properties_of(node: Component) -> dict[str, Any]:
    """The given properties of an element. `to_plotly_json` looks for all 40 possible properties and takes ten times as long."""
    return {name: value for name, value in vars(node).items() if name[0] != "_" and name not in _AVAILABLE}


def further(*content: Any) -> html.Span:
    """A part of a text with links to content that a server computes."""
    return html.Span(list(content), className=FURTHER)


def heading(titles: Sequence[str], numbers: Collection[str] = ()) -> html.Thead:
    """The heading of a table: a row of titles; titles in `numbers` are aligned as numbers."""
    return html.Thead(html.Tr([html.Th(title, className="number" if title in numbers else None) for title in titles]))


def scrolling(content: Component, label: str, kind: str = "scroll") -> html.Div:
    """A box for content larger than the page, which a keyboard scrolls and a screen reader names."""
    named: Any = {"aria-label": label}
    return html.Div(content, className=kind, tabIndex=0, role="region", **named)


def file_links(files: str, what: str, path: str, query: Mapping[str, str | None] = _NOTHING) -> html.P:
    """Links to `what` as CSV and as Parquet; `files` begins the URLs of a corpus, `path` is the route without its ending."""
    csv, parquet = (
        html.A(form, href=file_href(files, f"{path}.{form}", query), download="") for form in ("csv", "parquet")
    )
    return html.P([f"{what} as ", csv, " or ", parquet, "."], className="caption")


def file_href(files: str, path: str, query: Mapping[str, str | None] = _NOTHING) -> str:
    """The URL of a file from `files` (`http.data_link`) and the route `path`; parameters that are None or empty are left out."""
    written = urlencode({name: value for name, value in query.items() if value})
    return f"{files}/{path}" + (f"?{written}" if written else "")


def stacked_table(titles: Sequence[str], rows: Sequence[Sequence[object]], numbers: Collection[str] = ()) -> html.Table:
    """A table that a narrow window shows as lists; columns named in `numbers` are aligned as numbers."""
    body = html.Tbody([html.Tr(_cells(titles, row, numbers)) for row in rows])
    return html.Table([heading(titles, numbers), body], className="rows stacked")


def stacked_cells(titles: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Collection[str] = ()) -> html.Table:
    """A table of finished cells; a narrow window shows a row as a list of cells, each with its title."""
    body = html.Tbody([titled_row(titles, row) for row in rows])
    return html.Table([heading(titles, numbers), body], className="rows stacked")


def titled_row(titles: Sequence[str], cells: Sequence[Any]) -> html.Tr:
    """A row of a stacked table, each cell with its title in a narrow window, which may differ from the heading."""
    return html.Tr([_titled(*cell) for cell in zip(titles, cells, strict=True)])


def _titled(title: str, cell: Any) -> Any:
    """The cell with its title beside it in a narrow window, where a content of several parts is one element."""
    setattr(cell, "data-name", title.strip())
    content = getattr(cell, "children", None)
    if isinstance(content, list):
        cell.children = html.Span(content)
    return cell


def _cells(titles: Sequence[str], row: Sequence[object], numbers: Collection[str]) -> list[html.Td]:
    return [_cell(title, content, title in numbers) for title, content in zip(titles, row, strict=True)]


def _cell(title: str, content: Any, is_number: bool) -> html.Td:
    named: dict[str, Any] = {"data-name": title}
    # In a narrow window title and content stand at the two sides: a content of several parts is one element.
    whole = html.Span(content) if isinstance(content, list) else content
    return html.Td(whole, className="number" if is_number else None, **named)
