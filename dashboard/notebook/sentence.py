"""A sentence as a widget draws it: all weights of all heads, and the channels of a query on demand."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from pandas import DataFrame

from dashboard.notebook.state import Choice, State, checked
from dashboard.notebook.still import sentence_svg
from dashboard.notebook.weights import PackedWeights, pack_weights, window_pattern
from dashboard.notebook.widget import Widget
from dashboard.sentence.routes import neuron
from dashboard.sentence.sentence import Floats, PatternOptions, Sentence, Unit, unhidden_units
from dashboard.ui.theme import PALETTE, head_colours
from dashboard.web.state import MATRIX_SCALES, PAIRS
from store import StoreError
from store.repository.errors import is_integer
from store.schema.model import ROLES, head_name
from store.text import Window

#: The views, as on page Sentence.
SHOWN = ("head", "model", "matrix", "neuron")


def start_of(show: str, layer: int, heads: Sequence[int]) -> State:
    """The first state of a view of these heads of a layer: all tokens are shown, none is selected."""
    return {
        "show": show,
        "layer": layer,
        "head": heads[0],
        "heads": list(heads),
        "pair": PAIRS[0],
        "special": True,
        "hidden": [],
        "least": 0.05,
        "scale": MATRIX_SCALES[0],
        "side": "query",
        "tokens": [],
        "toward": None,
    }


@dataclass(frozen=True, eq=False)
class DrawnSentence:
    """A sentence of a model, and the view that is shown first.

    Attributes
    ----------
    name
        Name of the model.
    show
        A view of `SHOWN`.
    heads
        Heads of the layer whose lines are drawn.
    first
        First shown token of a long sentence.
    """

    name: str
    sentence: Sentence
    show: str
    layer: int
    heads: Sequence[int]
    first: int = 0

    @property
    def title(self) -> str:
        """The title: model and text."""
        return f"Attention of {self.name} in “{self.sentence.text}”"

    @property
    def window(self) -> Window:
        """The shown tokens."""
        return Window.at(self.first, len(self.sentence.wordpieces))

    @cached_property
    def _pattern(self) -> Floats:
        return window_pattern(self.sentence, self.window)

    @cached_property
    def _weights(self) -> PackedWeights:
        return pack_weights(self._pattern)

    @property
    def _source(self) -> str:
        """A note on how exact the weights in the picture are, and on which tokens of a long sentence are shown."""
        exact = (
            f"{self.name}; weights in the picture are within {self._weights.error:.1g}, widget.pattern has them exactly"
        )
        if self.window.is_whole:
            return exact
        outside = 100 * (1 - float(self._pattern.sum(axis=-1).mean()))
        return f"{exact}; {self.window.name}, {outside:.0f}% of their attention goes outside"

    @cached_property
    def pattern(self) -> xr.DataArray:
        """Attention weights (layer, head, query_token, key_token) of the shown tokens, labelled with wordpieces."""
        weights, pieces = self._pattern, list(self.window.of(self.sentence.wordpieces))
        labels: dict[str, Any] = {"layer": np.arange(len(weights)), "head": np.arange(weights.shape[1])}
        labels |= {f"{side}_wordpiece": (f"{side}_token", pieces) for side in ("query", "key")}
        return xr.DataArray(weights, labels, ("layer", "head", "query_token", "key_token"), name="pattern")

    @property
    def content(self) -> dict[str, Any]:
        """See `SentenceContent` of assets/types/notebook.d.ts."""
        layers, heads, tokens = self._pattern.shape[:3]
        units, first = self._within(unhidden_units(self.sentence, PatternOptions())[0]), self.window.first
        packed = self._weights
        return {
            "kind": "sentence",
            "name": self.name,
            "units": list(map(asdict, units)),
            "weights": {"layers": layers, "heads": heads, "first": first, "tokens": tokens, "levels": packed.levels},
            "colours": head_colours(heads),
            "palette": PALETTE,
            "source": self._source,
            "stem": self.name,
        }

    @property
    def data(self) -> dict[str, bytes]:
        """The packed weights."""
        return {"weights": self._weights.packed}

    @property
    def start(self) -> State:
        """The first state: all tokens are shown, none is selected."""
        return start_of(self.show, self.layer, self.heads)

    def checked(self, state: State) -> State:
        """A state of layers and heads of the model, shown tokens, and choices of the controls; StoreError otherwise."""
        (layers, heads), window = self.sentence.query.shape[:2], self.window
        shown = range(window.first, window.stop)
        choices = {
            "show": Choice(SHOWN),
            "layer": Choice(range(layers)),
            "head": Choice(range(heads)),
            "heads": Choice(range(heads), several=True),
            "pair": Choice(PAIRS),
            "hidden": Choice(range(window.tokens), several=True),
            "scale": Choice(MATRIX_SCALES),
            "side": Choice(ROLES),
            "tokens": Choice(shown, several=True),
            "toward": Choice(shown, optional=True),
        }
        return checked(state, choices)

    def answer(self, state: State) -> dict[str, Any]:
        """The steps to the weights of the selected query, in the neuron view."""
        if state["show"] != "neuron" or state["side"] != "query" or not state["tokens"]:
            return {"of": None}
        layer, head, query = state["layer"], state["head"], state["tokens"][0]
        keys = slice(self.window.first, self.window.stop)
        return {"of": f"/neuron/{layer}/{head}/{query}", "neuron": neuron(self.sentence, layer, head, query, keys)}

    def selection(self, state: State) -> dict[str, Any]:
        """Layer and heads, and the selected queries and keys where there are some."""
        heads = state["heads"] if state["show"] == "head" else [state["head"]]
        chosen: dict[str, Any] = {"layer": state["layer"], "head": list(heads)}
        if state["tokens"]:
            chosen[f"{state['side']}_token"] = [position - self.window.first for position in state["tokens"]]
        if state["toward"] is not None:
            chosen["key_token"] = [state["toward"] - self.window.first]
        return chosen

    def table(self, state: State) -> DataFrame:
        """Role, position, wordpiece and sentence (0, or 1 for the second) of the selected tokens."""
        chosen = [(state["side"], position) for position in state["tokens"]]
        chosen += [("key", state["toward"])] if state["toward"] is not None else []
        pieces, segments = self.sentence.wordpieces, self.sentence.segment
        rows = [(role, position, pieces[position], int(segments[position])) for role, position in chosen]
        return DataFrame(rows, columns=["role", "position", "wordpiece", "sentence"])

    def still(self, state: State) -> tuple[str, str]:
        """A still picture: the lines of the shown layer."""
        hidden = PatternOptions(pair=state["pair"], special=state["special"], hide=tuple(state["hidden"]))
        units, keys = (self._within(column) for column in unhidden_units(self.sentence, hidden))
        pattern = self._pattern[state["layer"]]
        rows, columns = ([unit.positions[0] - self.window.first for unit in column] for column in (units, keys))
        shown = pattern[:, rows][:, :, columns]
        title = f"Layer {state['layer']} of {self.name}"
        return "image/svg+xml", sentence_svg(title, units, keys, shown, state["heads"])

    def _within(self, units: Sequence[Unit]) -> list[Unit]:
        return [unit for unit in units if unit.positions[0] in self.window]


def sentence_widget(
    name: str,
    sentence: Sentence,
    *,
    show: str = "head",
    layer: int = 0,
    heads: Sequence[int] | None = None,
    first: int = 0,
) -> Widget:
    """The widget of a sentence; see `headscape.sentence`.

    Raises
    ------
    StoreError
        Where there is no such view, layer or head.
    """
    layers, every = sentence.query.shape[:2]
    given = range(every) if heads is None else heads
    chosen = list(given) if isinstance(given, Iterable) else []
    if show not in SHOWN:
        raise StoreError(f"There is no view {show!r}. Choose one of {', '.join(SHOWN)}.")
    if not chosen or not (_has(layer, layers) and all(_has(head, every) for head in chosen)):
        last = head_name(layers - 1, every - 1)
        raise StoreError(f"{name} has the heads L0 H0 to {last}. Choose a layer, and one or more heads of it.")
    if not is_integer(first):
        raise StoreError(f"The first shown token is a whole number, not {first!r}. Give a number from 0.")
    return Widget(DrawnSentence(name, sentence, show, int(layer), list(map(int, chosen)), int(first)))


def _has(number: object, count: int) -> bool:
    """Whether `number` is a whole number from 0 to `count` - 1."""
    return is_integer(number) and number in range(count)
