"""Help: the tour, the glossary, the keys, the documentation and how to cite. `?` and a button in the header open it.

The tour and the glossary are of the model that the page shows: they are asked for when a reader opens them.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dash import Dash, Input, Output, dcc, html

from dashboard.documentation import address, names
from dashboard.overview.tour import STEPS, draw_tour, read_tour
from dashboard.topic import Topic
from dashboard.ui.controls import tour_button
from dashboard.ui.glossary import Term, terms_of
from dashboard.ui.markup import Markup, condensed, problem
from dashboard.ui.term_drawings import DRAWINGS, drawing
from dashboard.web.context import resolve
from dashboard.web.http import STANDING, Shown, Text, snapshot_of, validated
from dashboard.web.served_store import ServedStore
from dashboard.web.special_names import in_names_of

#: Keys of every page -> what they do (assets/web/keyboard.mjs, undo.mjs); on a Mac with Cmd.
PAGE_KEYS = {"?": "Help", "/": "search", "c": "copy the link", "Ctrl + Z": "undo", "Ctrl + Shift + Z": "redo"}
#: Keys of a picture -> what they do.
PICTURE_KEYS = {
    "arrow keys": "next head",
    "Enter": "open the head",
    "+  -  0": "zoom, reset",
    "p, then Shift + arrow keys": "step through points",
    "Escape": "back",
}
#: Keys of the views of a sentence -> what they do.
SENTENCE_KEYS = {
    "arrow keys": "next token or cell",
    "Enter": "select, then a key: the pair",
    "m": "mark the pair in a colour",
    "h": "hide a token",
    "[  ]": "previous layer, next layer",
}
_TREE = Path(__file__).parents[1]
CITATION = _TREE / "CITATION.cff"
#: What is in the place of the tour and of the glossary until they are there.
_LOADING = "Loading ..."


def dialogs(topics: Iterable[Topic[Any]]) -> list[object]:
    """Help and the tour, closed, and the store by which the browser asks for their content (assets/web/keyboard.mjs)."""
    return [dcc.Store(id="asked-help"), _help(topics), _tour()]


def _help(topics: Iterable[Topic[Any]]) -> html.Dialog:
    pages = {f"g {topic.letter}": topic.title for topic in topics}
    named: Any = {"aria-labelledby": "help-title"}
    keys = [
        _keys("Everywhere", PAGE_KEYS | pages),
        _keys("In a picture (Tab to it first)", PICTURE_KEYS),
        _keys("In a sentence (Tab to its tokens first)", SENTENCE_KEYS),
    ]
    title = html.Div([html.H2("Help", id="help-title"), _close("help", "Close")], className="dialog-title")
    shortcuts = _part("Keyboard shortcuts", [html.Div(keys, className="key-lists")], is_open=True)
    return html.Dialog(
        [
            *condensed([title, html.P(tour_button("New to attention? Five steps on one sentence"))], "help-above"),
            _part("Glossary", [html.Div(_LOADING, id="glossary")]),
            *condensed([shortcuts, *_documentation(), *_citation()], "help-below"),
        ],
        id="help",
        className="dialog",
        **named,
    )


def _close(dialog: str, written: str) -> html.Button:
    closes: Any = {"data-close": dialog}
    return html.Button(written, type="button", className="plain", **closes)


def _part(title: str, content: list[Any], *, is_open: bool = False) -> html.Details:
    return html.Details([html.Summary(title), *content], open=is_open, className="help-part")


def _keys(title: str, keys: Mapping[str, str]) -> html.Section:
    rows = [html.Div([html.Dt(html.Kbd(key)), html.Dd(action)]) for key, action in keys.items()]
    return html.Section([html.H3(title), html.Dl(rows)])


def _documentation() -> list[html.Details]:
    """Links to the pages of `docs/`; nothing where the documentation is not there."""
    links = [
        html.Li(html.A(name.removesuffix(".md").capitalize(), href=address(name), target="_blank"))
        for name in names(_TREE)
    ]
    return [_part("Documentation", [html.Ul(links, className="docs-list")])] if links else []


def _citation() -> list[html.Details]:
    """The text of CITATION.cff; nothing where the package was installed without its source tree."""
    if not CITATION.is_file():
        return []
    scrolls: Any = {"tabIndex": 0, "aria-label": "CITATION.cff", "role": "region"}
    return [_part("How to cite", [html.Pre(CITATION.read_text("utf-8"), className="citation", **scrolls)])]


def _tour() -> html.Dialog:
    named: Any = {"aria-labelledby": "tour-title", "data-steps": STEPS, "data-step": 0}
    back: Any = {"data-turn": -1}
    ahead: Any = {"data-turn": 1}
    live: Any = {"aria-live": "polite"}
    title = [html.H2("Attention in five steps", id="tour-title"), _close("tour", "Skip")]
    end = [
        html.Button("Back", type="button", className="plain", **back),
        html.Span(className="tour-place"),
        html.Button("Next", type="button", className="plain", **ahead),
    ]
    return html.Dialog(
        [
            *condensed(html.Div(title, className="dialog-title"), "tour-title-bar"),
            html.Div(_LOADING, id="tour-steps", **live),
            *condensed(html.Div(end, className="tour-end"), "tour-buttons"),
        ],
        id="tour",
        className="dialog",
        **named,
    )


def glossary(terms: Mapping[str, Term]) -> html.Dl:
    """Every term with its explanation and its drawing."""
    rows = [
        html.Div([html.Dt(of.title), html.Dd([*_drawn(name), html.Span(of.meaning)])]) for name, of in terms.items()
    ]
    return html.Dl(rows, className="glossary")


def _drawn(name: str) -> list[Any]:
    return [Markup(tree=[drawing(name)])] if name in DRAWINGS else []


def register(app: Dash, served_store: ServedStore) -> None:
    """Add the callback that fills the tour and the glossary."""

    @app.callback(
        Output("tour-steps", "children"),
        Output("glossary", "children"),
        Input("asked-help", "data"),
        *STANDING,
        prevent_initial_call=True,
    )
    @validated
    def fill(
        _asked: int | None, pathname: Text | None, search: Text | None, shown: Shown | None
    ) -> tuple[list[object], list[object]]:
        try:
            context = resolve(served_store, pathname, search, snapshot_of(shown))
            parts = draw_tour(read_tour(context.corpus, context.state)), [glossary(terms_of(context.corpus))]
        except Exception as error:
            return [problem(error)], [problem(error)]
        tour, listed = (
            in_names_of(context.corpus, condensed(part, name))
            for part, name in zip(parts, ("tour", "glossary"), strict=True)
        )
        return tour, listed
