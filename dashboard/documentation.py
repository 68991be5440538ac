"""The pages of `docs/` as this server shows them: `/docs/statistics.md`. Formulas are MathML, so a page needs no script.

A package that was installed without its source tree has no `docs/`: its pages have no link there.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from html import unescape
from itertools import pairwise
from pathlib import Path

from flask import Flask, Response, abort, render_template_string
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from dashboard.web.assets import FONTS
from dashboard.web.paths import root

_TREE = Path(__file__).parents[1]
FOLDER = _TREE / "docs"
#: Pictures of the gallery, and where the documentation supposes the dashboard that its links open: here, it is this server.
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


@cache
def names(tree: Path) -> list[str]:
    """Files of `docs/` of a source tree, in the order of the alphabet; none where the tree is not there."""
    return sorted(path.name for path in (tree / "docs").glob("*.md")) if (tree / "pyproject.toml").is_file() else []


def address(docs: str, tree: Path = _TREE) -> str | None:
    """Where this server shows a page of `docs/`, named with its heading (`links.md#sentence`); None where it has none."""
    return f"{root()}/docs/{docs}" if docs.partition("#")[0] in names(tree) else None


def as_mathml(formula: str, *, block: bool = False) -> str:
    """MathML of a formula in LaTeX. ValueError where it holds a command that is unknown."""
    from latex2mathml.converter import convert  # its table of symbols takes a moment, and most readers see no formula

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


def register(server: Flask) -> None:
    """Add the route of the pages."""

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
