"""A sentence as a widget draws it: all weights of all heads, and the channels of a query on demand."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from pandas import DataFrame

from dashboard.notebook.still import sentence_svg
from dashboard.notebook.weights import PackedWeights, pack_weights
from dashboard.notebook.widget import State, Widget
from dashboard.sentence.routes import neuron
from dashboard.sentence.sentence import PatternOptions, Sentence, Unit, shown_units
from dashboard.ui.theme import PALETTE, head_colours
from dashboard.web.state import MATRIX_SCALES, PAIRS
from store import StoreError
from store.schema.model import head_name

#: The views, as page Sentence has them.
SHOWN = ("head", "model", "matrix", "neuron")


@dataclass(frozen=True, eq=False)
class DrawnSentence:
    """A sentence of a model, and what is shown of it at first.

    Attributes
    ----------
    name
        Of the model.
    show
        A view of `SHOWN`.
    heads
        Heads of the layer whose lines are drawn.
    """

    name: str
    sentence: Sentence
    show: str
    layer: int
    heads: Sequence[int]

    @property
    def title(self) -> str:
        """Model and text."""
        return f"Attention of {self.name} in “{self.sentence.text}”"

    @cached_property
    def _weights(self) -> PackedWeights:
        return pack_weights(self.sentence)

    @cached_property
    def pattern(self) -> xr.DataArray:
        """Attention weights (layer, head, query_token, key_token), labelled with wordpieces."""
        weights, pieces = self.sentence.pattern, list(self.sentence.wordpieces)
        labels: dict[str, Any] = {"layer": np.arange(len(weights)), "head": np.arange(weights.shape[1])}
        labels |= {f"{side}_wordpiece": (f"{side}_token", pieces) for side in ("query", "key")}
        return xr.DataArray(weights, labels, ("layer", "head", "query_token", "key_token"), name="pattern")

    @property
    def content(self) -> dict[str, Any]:
        """See `SentenceContent` of assets/types/notebook.d.ts."""
        layers, heads, tokens = self.sentence.query.shape[:3]
        units, _ = shown_units(self.sentence, PatternOptions())
        packed = self._weights
        return {
            "kind": "sentence",
            "name": self.name,
            "units": list(map(asdict, units)),
            "weights": {"layers": layers, "heads": heads, "tokens": tokens, "levels": packed.levels},
            "colours": head_colours(heads),
            "palette": PALETTE,
            "source": f"{self.name}; weights in the picture are within {packed.error:.1g}, widget.pattern has them exactly",
            "stem": self.name,
        }

    @property
    def data(self) -> dict[str, bytes]:
        """The packed weights."""
        return {"weights": self._weights.packed}

    @property
    def start(self) -> State:
        """All tokens, none of them selected."""
        return {
            "show": self.show,
            "layer": self.layer,
            "head": self.heads[0],
            "heads": list(self.heads),
            "pair": PAIRS[0],
            "special": True,
            "hidden": [],
            "least": 0.05,
            "scale": MATRIX_SCALES[0],
            "side": "query",
            "tokens": [],
            "toward": None,
        }

    def answer(self, state: State) -> dict[str, Any]:
        """The steps to the weights of the selected query, in the neuron view."""
        if state["show"] != "neuron" or state["side"] != "query" or not state["tokens"]:
            return {"of": None}
        layer, head, query = state["layer"], state["head"], state["tokens"][0]
        return {"of": f"/neuron/{layer}/{head}/{query}", "neuron": neuron(self.sentence, layer, head, query)}

    def selection(self, state: State) -> dict[str, Any]:
        """Layer and heads, and the selected queries and keys where there are some."""
        heads = state["heads"] if state["show"] == "head" else [state["head"]]
        chosen: dict[str, Any] = {"layer": state["layer"], "head": list(heads)}
        if state["tokens"]:
            chosen[f"{state['side']}_token"] = list(state["tokens"])
        if state["toward"] is not None:
            chosen["key_token"] = [state["toward"]]
        return chosen

    def table(self, state: State) -> DataFrame:
        """Role, position, wordpiece and sentence (0, or 1 for the second) of the selected tokens."""
        chosen = [(state["side"], position) for position in state["tokens"]]
        chosen += [("key", state["toward"])] if state["toward"] is not None else []
        pieces, segments = self.sentence.wordpieces, self.sentence.segment
        rows = [(role, position, pieces[position], int(segments[position])) for role, position in chosen]
        return DataFrame(rows, columns=["role", "position", "wordpiece", "sentence"])

    def still(self, state: State) -> tuple[str, str]:
        """The lines of the shown layer."""
        hidden = PatternOptions(pair=state["pair"], special=state["special"], hide=tuple(state["hidden"]))
        units, keys = shown_units(self.sentence, hidden)
        pattern = self.sentence.layer_pattern(state["layer"])
        shown = pattern[:, _places(units)][:, :, _places(keys)]
        title = f"Layer {state['layer']} of {self.name}"
        return "image/svg+xml", sentence_svg(title, units, keys, shown, state["heads"])


def _places(units: Sequence[Unit]) -> list[int]:
    return [unit.positions[0] for unit in units]


def sentence_widget(
    name: str, sentence: Sentence, *, show: str = "head", layer: int = 0, heads: Sequence[int] | None = None
) -> Widget:
    """The widget of a sentence; see `headscape.sentence`.

    Raises
    ------
    StoreError
        Where there is no such view, layer or head.
    """
    layers, every = sentence.query.shape[:2]
    chosen = list(range(every)) if heads is None else list(heads)
    if show not in SHOWN:
        raise StoreError(f"There is no view {show!r}. Choose one of {', '.join(SHOWN)}.")
    if not chosen or not all(0 <= layer < layers and 0 <= head < every for head in chosen):
        last = head_name(layers - 1, every - 1)
        raise StoreError(f"{name} has the heads L0 H0 to {last}. Choose a layer, and one or more heads of it.")
    return Widget(DrawnSentence(name, sentence, show, layer, chosen))
