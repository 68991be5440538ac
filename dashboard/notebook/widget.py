"""The widget of a notebook: what it draws, what its reader chose, the still picture in its place, and the JavaScript that it keeps.

Everything that is drawn is in traits that a notebook saves with its widgets: before a cell runs the picture is there, and
only what Python computes of a choice (`answer`) is missing. JupyterLab draws no widget without a kernel, and nothing else of
an output with a widget: a still picture is an output of its own, which the widget hides.

No bundler: as in `bundle` of assets/sentence/picture.mjs each JavaScript module becomes a function that returns its exports, so
that no names meet. Comments are left out, as every cell keeps its own copy.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import anywidget
import numpy as np
import traitlets
from IPython.display import display
from numpy.typing import NDArray
from pandas import DataFrame

from dashboard.sentence.sentence import Unit
from dashboard.ui.theme import PALETTE, head_colours
from store import StoreError
from store.repository.errors import is_integer

#: What a frontend says that draws no widgets.
WITHOUT = "No widget is drawn here, at most a still picture. Run the cell in JupyterLab, Notebook 7, VS Code, marimo or Colab."
#: Lines that are drawn at most, the strongest.
LINES = 200
#: Pixels of a row, between the columns, of a letter (about), and around the picture.
ROW, APART, LETTER, MARGIN = 22, 260, 8.5, 16
INK, GROUND = PALETTE["light"]["ink"], PALETTE["light"]["background"]
State = dict[str, Any]
ASSETS = Path(__file__).parents[1] / "assets"
#: What draws each kind of widget, and the sheets that it needs.
WIDGET = "notebook/widget.mjs"
KINDS = {
    "sentence": ("notebook/sentence.mjs", ("style.css", "sentence.css", "notebook.css")),
    "points": ("notebook/points.mjs", ("style.css", "points.css", "window.css", "notebook.css")),
}
#: Forms of the modules; `tests/test_assets.py` has no others.
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?:(?!\*/)[\s\S])*\*/)\n", re.MULTILINE)
#: A sheet that styles a page styles the root of a widget instead.
ROOTS = (
    (re.compile(r':root\[data-mantine-color-scheme="dark"\]'), ':host([data-mantine-color-scheme="dark"])'),
    (
        re.compile(r':root:not\(\[data-mantine-color-scheme="dark"\]\)'),
        ':host(:not([data-mantine-color-scheme="dark"]))',
    ),
    (re.compile(r":root\b"), ":host"),
)


class Drawn(Protocol):
    """What a widget draws."""

    @property
    def title(self) -> str:
        """What it is, in one line."""

    @property
    def content(self) -> dict[str, Any]:
        """What stays: `kind`, and what the JavaScript module of this kind reads."""

    @property
    def data(self) -> dict[str, bytes]:
        """Its bytes by their names."""

    @property
    def start(self) -> State:
        """What is chosen at first."""

    def checked(self, state: State) -> State:
        """A state with numbers as JSON has them; StoreError where it names what is not there."""

    def answer(self, state: State) -> dict[str, Any]:
        """What only Python computes of a choice; `of` says of which."""

    def selection(self, state: State) -> dict[str, Any]:
        """The choice as indexers of xarray."""

    def table(self, state: State) -> DataFrame:
        """The chosen tokens, one a row."""

    def still(self, state: State) -> tuple[str, str]:
        """MIME type and text of a still picture; a PNG in base64."""


class Widget(anywidget.AnyWidget):
    """A picture of a sentence or of points. `observe(..., names="state")` tells of every choice of its reader.

    Attributes
    ----------
    state
        What is chosen: may be set, with the names that it has.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    sheet = traitlets.Unicode().tag(sync=True)
    content = traitlets.Dict().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    still_class = traitlets.Unicode().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        content, start = drawn.content, drawn.start
        looks = {"_esm": module(content["kind"]), "sheet": style(content["kind"])}
        looks["still_class"] = f"headscape-{uuid4().hex}"
        super().__init__(**looks, content=content, data=drawn.data, state=start, answer=drawn.answer(start))

    @property
    def selection(self) -> dict[str, Any]:
        """What is selected, as indexers: `widget.pattern.isel(widget.selection)`, `corpus.query.isel(widget.selection)`."""
        return self.drawn.selection(self.state)

    @property
    def selected_tokens(self) -> DataFrame:
        """The selected tokens, one a row."""
        return self.drawn.table(self.state)

    @property
    def pattern(self) -> Any:
        """Of a sentence: exact attention weights (layer, head, query_token, key_token), labelled with wordpieces.

        Raises
        ------
        StoreError
            Of points, which have none.
        """
        pattern = getattr(self.drawn, "pattern", None)
        if pattern is None:
            raise StoreError("Points have no pattern. Take corpus.pattern(sentence).")
        return pattern

    def save(self, path: str) -> None:
        """Write the still picture of what is shown: of a sentence an SVG file, of points a PNG file."""
        kind, still = self.drawn.still(self.state)
        is_text = kind == "image/svg+xml"
        Path(path).write_bytes(still.encode() if is_text else b64decode(still))

    @traitlets.validate("state")
    def _known(self, proposal: dict[str, Any]) -> State:
        """The start with what is chosen of it; other names, and what is not there, are refused."""
        start = self.drawn.start
        if unknown := sorted(set(proposal["value"]) - set(start)):
            raise StoreError(f"A state has no {', '.join(unknown)}. Choose of {', '.join(start)}.")
        return self.drawn.checked(start | proposal["value"])

    @traitlets.observe("state")
    def _answer(self, _change: object) -> None:
        answer = self.drawn.answer(self.state)
        if answer.get("of") != self.answer.get("of"):
            self.answer = answer

    def _repr_mimebundle_(self, **_options: object) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget; for frontends without widgets a still picture and a sentence."""
        bundle = super()._repr_mimebundle_() or ({}, {})
        kind, still = self.drawn.still(self.state)
        return {**bundle[0], kind: still, "text/plain": f"{self.drawn.title}. {WITHOUT}"}, bundle[1]

    def outputs(self) -> list[dict[str, Any]]:
        """What a cell shows: the widget, and its still picture."""
        (bundle, _), (kind, still) = self._repr_mimebundle_(), self.drawn.still(self.state)
        image = still_image(kind, still, name=self.still_class, title=self.drawn.title)
        return [{name: bundle[name] for name in bundle if name != kind}, {"text/html": image}]

    def _ipython_display_(self) -> None:
        for output in self.outputs():
            display(output, raw=True)

    def __repr__(self) -> str:
        return f"<Widget: {self.drawn.title}>"


def sentence_svg(
    title: str, units: Sequence[Unit], keys: Sequence[Unit], pattern: NDArray[np.float32], heads: Sequence[int]
) -> str:
    """An SVG of weights (head, query, key) between two columns of tokens. Their names are text, whatever they are."""
    left = MARGIN + LETTER * max([4, *(len(unit.name) for unit in units)])
    width = left + APART + LETTER * max([4, *(len(key.name) for key in keys)]) + MARGIN
    height = 2 * ROW + ROW * max(len(units), len(keys)) + MARGIN
    parts = [
        _text(MARGIN, ROW, "start", title),
        *_lines(pattern, heads, left + 6, left + APART - 6),
        *(_text(left, _middle(row), "end", unit.name) for row, unit in enumerate(units)),
        *(_text(left + APART, _middle(row), "start", key.name) for row, key in enumerate(keys)),
    ]
    size = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    ground = f'<rect width="100%" height="100%" fill="{GROUND}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">{ground}{"".join(parts)}</svg>'


def still_image(kind: str, still: str, *, name: str, title: str) -> str:
    """A still picture as HTML that no frontend refuses: an image of class `name`; `kind` is its MIME type, a PNG is in base64."""
    data = still if kind == "image/png" else b64encode(still.encode()).decode()
    return f'<img class="{name}" alt="{escape(title)}" src="data:{kind};base64,{data}">'


def _middle(row: int) -> float:
    return 2 * ROW + ROW * (row + 0.5)


def _text(x: float, y: float, anchor: str, text: str) -> str:
    """Control characters are no XML, whatever a tokenizer makes of a text."""
    shown = escape("".join(letter if letter.isprintable() else "\ufffd" for letter in text))
    at = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" dominant-baseline="central"'
    return f'<text {at} fill="{INK}" xml:space="preserve">{shown}</text>'


def _lines(pattern: NDArray[np.float32], heads: Sequence[int], left: float, right: float) -> list[str]:
    """The strongest weights of these heads, the weakest of them first."""
    colours = head_colours(len(pattern))["light"]
    chosen = pattern[list(heads)]
    strongest = np.argsort(chosen, axis=None, kind="stable")[-LINES:]
    heads_of, queries, keys = np.unravel_index(strongest, chosen.shape)
    return [
        f'<line x1="{left:.0f}" y1="{_middle(query):.0f}" x2="{right:.0f}" y2="{_middle(key):.0f}" stroke="{colours[heads[head]]}" '
        f'stroke-width="2" stroke-opacity="{chosen[head, query, key]:.2f}"/>'
        for head, query, key in zip(heads_of, queries, keys, strict=True)
    ]


@dataclass(frozen=True)
class Choice:
    """What a part of a state may be: a number of a range or one of some texts.

    Attributes
    ----------
    several
        Whether it is a list of such.
    optional
        Whether it may be None.
    """

    of: range | Sequence[str]
    several: bool = False
    optional: bool = False

    def checked(self, name: str, value: Any) -> Any:
        """The value, its numbers as JSON has them; StoreError where it is not one of these."""
        if value is None and self.optional:
            return None
        is_list = isinstance(value, Iterable) and not isinstance(value, str)
        each = list(value) if is_list else [value]
        plain = [int(one) if isinstance(self.of, range) and is_integer(one) else one for one in each]
        if is_list != self.several or not all(map(self._has, plain)):
            raise StoreError(f"A state cannot have {name} = {value!r:.60}. Choose {self._offer}.")
        return plain if self.several else plain[0]

    def _has(self, one: object) -> bool:
        return isinstance(one, int if isinstance(self.of, range) else str) and one in self.of

    @property
    def _offer(self) -> str:
        many = "some of " if self.several else ""
        if isinstance(self.of, range):
            offer = f"{many or 'one of '}the numbers {self.of.start} to {self.of.stop - 1}"
        else:
            offer = f"one of {', '.join(self.of)}"
        return f"{offer}, or None" if self.optional else offer


def checked(state: State, choices: Mapping[str, Choice]) -> State:
    """The state with each of these parts as it may be; StoreError where one is not."""
    return state | {name: choice.checked(name, state[name]) for name, choice in choices.items()}


@cache
def module(kind: str) -> str:
    """A kind of widget as one ES module, which anywidget imports."""
    shown = ASSETS / KINDS[kind][0]
    parts, names = _functions(shown, ASSETS / WIDGET)
    return "\n".join([*parts, f"export default {{ render: {names[ASSETS / WIDGET]}.widgetOf({names[shown]}.mount) }};"])


@cache
def script(entry: str) -> str:
    """A module and all that it imports as one script, which starts it in a page without a server of ours."""
    parts, names = _functions(ASSETS / entry)
    return "\n".join(['"use strict";', "(() => {", *parts, f"{names[ASSETS / entry]}.start();", "})();", ""])


def _functions(*entries: Path) -> tuple[list[str], dict[Path, str]]:
    """The modules and those that they import as constants, each after those that it imports, and their names."""
    sources: dict[Path, str] = {}
    for entry in entries:
        _collected(entry, sources)
    names = {path: f"module{number}" for number, path in enumerate(sources)}
    return [f"const {names[path]} = {_as_function(path, text, names)};" for path, text in sources.items()], names


@cache
def style(kind: str) -> str:
    """The style sheets of a kind of widget, for its root."""
    text = "\n".join((ASSETS / sheet).read_text("utf-8") for sheet in KINDS[kind][1])
    for root, own in ROOTS:
        text = root.sub(own, text)
    return re.sub(r"/\*[\s\S]*?\*/\n?", "", text)


def _collected(path: Path, sources: dict[Path, str]) -> dict[Path, str]:
    """Text of each module by its file, each after those that it imports."""
    text = path.read_text("utf-8")
    for found in IMPORT.finditer(text):
        imported = (path.parent / found[2]).resolve()
        if imported not in sources:
            _collected(imported, sources)
    sources[path] = text
    return sources


def _as_function(path: Path, text: str, names: dict[Path, str]) -> str:
    exported = ", ".join(found[1] for found in EXPORT.finditer(text))
    body = COMMENT.sub("", EXPORT.sub("", IMPORT.sub(lambda found: _constants(path, found, names), text)))
    return f"(() => {{\n{body}return {{ {exported} }};\n}})()"


def _constants(path: Path, found: re.Match[str], names: dict[Path, str]) -> str:
    imported = (path.parent / found[2]).resolve()
    return f"const {{{found[1].replace(' as ', ': ')}}} = {names[imported]};"
