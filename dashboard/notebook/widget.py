"""The widget of a notebook: what it draws, what its reader chose, and what that selects in arrays.

Everything that is drawn is in traits that a notebook saves with its widgets: before a cell runs the picture is visible, and
only the results that Python computes (`answer`) are missing. JupyterLab draws no widget without a kernel, and nothing else of
an output with a widget: a still picture is an output of its own, which the widget hides.
"""

from base64 import b64decode
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import anywidget
import traitlets
from IPython.display import display
from pandas import DataFrame

from dashboard.notebook.modules import module, style
from dashboard.notebook.state import State
from dashboard.notebook.still import still_image
from store import StoreError

#: Text in a frontend that draws no widgets.
WITHOUT = "No widget is drawn here, at most a still picture. Run the cell in JupyterLab, Notebook 7, VS Code, marimo or Colab."


class Drawn(Protocol):
    """A sentence or points that a widget draws."""

    @property
    def title(self) -> str:
        """The title, in one line."""

    @property
    def content(self) -> dict[str, Any]:
        """The part that does not change: `kind`, and the fields that the JavaScript module of this kind reads."""

    @property
    def data(self) -> dict[str, bytes]:
        """Bytes that the JavaScript module reads, by their names."""

    @property
    def start(self) -> State:
        """The first state."""

    def checked(self, state: State) -> State:
        """A state with numbers that JSON can write; StoreError where a value is impossible."""

    def answer(self, state: State) -> dict[str, Any]:
        """The result that only Python can compute for a state; `of` says for which choice."""

    def selection(self, state: State) -> dict[str, Any]:
        """The selection as indexers of xarray."""

    def table(self, state: State) -> DataFrame:
        """The chosen tokens, one a row."""

    def still(self, state: State) -> tuple[str, str]:
        """MIME type and text of a still picture; a PNG in base64."""


class Widget(anywidget.AnyWidget):
    """A picture of a sentence or of points. `observe(..., names="state")` tells of every choice of its reader.

    Attributes
    ----------
    state
        What the reader chose; a program may set it, with the names that it has.
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
        """The selection as indexers: `widget.pattern.isel(widget.selection)`, `corpus.query.isel(widget.selection)`."""
        return self.drawn.selection(self.state)

    @property
    def selected_tokens(self) -> DataFrame:
        """The selected tokens, one a row."""
        return self.drawn.table(self.state)

    @property
    def pattern(self) -> Any:
        """Exact attention weights of a sentence (layer, head, query_token, key_token), labelled with wordpieces.

        Raises
        ------
        StoreError
            Where the widget draws points, which have no pattern.
        """
        pattern = getattr(self.drawn, "pattern", None)
        if pattern is None:
            raise StoreError("Points have no pattern. Take corpus.pattern(sentence).")
        return pattern

    def save(self, path: str) -> None:
        """Write the still picture of the widget: an SVG file of a sentence, a PNG file of points."""
        kind, still = self.drawn.still(self.state)
        is_text = kind == "image/svg+xml"
        Path(path).write_bytes(still.encode() if is_text else b64decode(still))

    @traitlets.validate("state")
    def _known(self, proposal: dict[str, Any]) -> State:
        """The first state with the proposed values in it; unknown names and impossible values are refused."""
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
        """The outputs of a cell: the widget, and its still picture."""
        (bundle, _), (kind, still) = self._repr_mimebundle_(), self.drawn.still(self.state)
        image = still_image(kind, still, name=self.still_class, title=self.drawn.title)
        return [{name: bundle[name] for name in bundle if name != kind}, {"text/html": image}]

    def _ipython_display_(self) -> None:
        for output in self.outputs():
            display(output, raw=True)

    def __repr__(self) -> str:
        return f"<Widget: {self.drawn.title}>"
