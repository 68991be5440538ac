"""Help: the tour, the glossary, the keys, how to cite, and the pages of `docs/`. `?` and a button in the header open it.

The tour and the glossary depend on the model of the page: the browser fetches them when a reader opens them. The server shows the
documentation itself: `/docs/statistics.md`. Formulas are MathML, so a page needs no script. A package that was installed without
its source tree has no `docs/`: its pages have no link there.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

from dash import Dash, Input, Output, dcc, html
from flask import Flask, Response, abort, render_template_string
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from dashboard.overview.tour import STEPS, draw_tour, read_tour
from dashboard.topic import Topic
from dashboard.ui.controls import tour_button
from dashboard.ui.glossary import DRAWINGS, Term, drawing, terms_of
from dashboard.ui.markup import Markup, condensed, problem
from dashboard.web.assets import FONTS
from dashboard.web.context import resolve
from dashboard.web.http import STANDING, Shown, Text, snapshot_of, validated
from dashboard.web.paths import root
from dashboard.web.served_store import ServedStore
from dashboard.web.special_names import in_names_of

_TREE = Path(__file__).parents[1]
FOLDER = _TREE / "docs"
#: Folder of the gallery's pictures, and the address of the dashboard in links of the documentation: this server replaces it.
PICTURES, SERVED = FOLDER / "gallery", "http://127.0.0.1:8050"
#: A formula in LaTeX, within a line of text (`$p_{ij}$`) or on lines of its own between two pairs of `$`.
_FORMULA = re.compile(r"\$\$(?P<block>[^$]+)\$\$|\$(?P<line>[^$\n]+)\$")
_PAGE, _STYLE = ((Path(__file__).parent / f"documentation.{kind}").read_text("utf-8") for kind in ("html", "css"))
_POLICY = "; ".join(
    [
        "default-src 'none'",
        f"style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'",
        "font-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
    ]
)
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
CITATION = _TREE / "CITATION.cff"
#: Text in the place of the tour and of the glossary until they are loaded.
_LOADING = "Loading ..."


@cache
def names(tree: Path) -> list[str]:
    """Files of `docs/` of a source tree, in alphabetical order; none without a source tree."""
    return sorted(path.name for path in (tree / "docs").glob("*.md")) if (tree / "pyproject.toml").is_file() else []


def address(docs: str, tree: Path = _TREE) -> str | None:
    """URL of a page of `docs/` on this server, with its heading (`links.md#sentence`); None where the page is missing."""
    return f"{root()}/docs/{docs}" if docs.partition("#")[0] in names(tree) else None


def as_mathml(formula: str, *, block: bool = False) -> str:
    """MathML of a formula in LaTeX. ValueError where it holds an unknown command."""
    from latex2mathml.converter import convert  # its table of symbols loads slowly, and most readers see no formula

    drawn = str(convert(formula, display="block" if block else "inline"))
    if "\\" in drawn:
        raise ValueError(f"The formula {formula} cannot be drawn. Write it with other commands of LaTeX.")
    return drawn


def heading_id(title: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", unescape(title).lower()).replace(" ", "-")


@cache
def content(name: str) -> str:
    """The HTML of a page of `docs/`."""
    tokens = _reader().parse((FOLDER / name).read_text("utf-8"))
    for heading, title in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", heading_id(title.content))
    return str(_reader().renderer.render(tokens, _reader().options, {}))


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.inline.ruler.before("escape", "formula", _read_formula)
    for place in ("block", "line"):
        reader.add_render_rule(f"formula_{place}", _write_formula)
    return reader


def _read_formula(state: StateInline, silent: bool) -> bool:
    found = _FORMULA.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push(f"formula_{found.lastgroup}", "math", 0).content = found[found.lastgroup or 0].strip()
    state.pos = found.end()
    return True


def _write_formula(
    _renderer: RendererHTML, tokens: Sequence[Token], place: int, _options: OptionsDict, _environment: EnvType
) -> str:
    return as_mathml(tokens[place].content, block=tokens[place].type == "formula_block")


def register_pages(server: Flask) -> None:
    """Add the routes of the pages of `docs/` and of the gallery's pictures."""

    @server.get("/docs/<name>")
    def documentation(name: str) -> Response:
        if name not in (listed := names(_TREE)):
            abort(404, f"There is no page {name[:40]} of the documentation. There are {', '.join(listed)}.")
        shown = content(name).replace(f'href="{SERVED}/', f'href="{root()}/')
        page = render_template_string(
            _PAGE, style=_STYLE, fonts=FONTS, root=root(), content=shown, names=listed, name=name
        )
        response = Response(page, mimetype="text/html")
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    @server.get("/docs/gallery/<name>")
    def picture(name: str) -> Response:
        if name not in {path.name for path in PICTURES.glob("*.webp")}:
            abort(404, f"There is no picture {name[:40]} in the gallery.")
        return Response((PICTURES / name).read_bytes(), mimetype="image/webp")


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


def register_help(app: Dash, served_store: ServedStore) -> None:
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
