"""The controls of the page of a sentence: your own text, which view, and what of the attention is shown."""

from typing import Any

import dash_mantine_components as dmc
from dash import html

from dashboard.ui.controls import choice, number, switch
from dashboard.web.view import Place
from store.schema import RATIOS

SHOWN = {
    "head": "Head view",
    "model": "Model view",
    "matrix": "Matrix view",
    "neuron": "Neuron view",
    "positions": "By position",
    "mixing": "Mixing",
}
PAIRS = {
    "all": "All",
    "aa": "Sentence A -> Sentence A",
    "ab": "Sentence A -> Sentence B",
    "ba": "Sentence B -> Sentence A",
    "bb": "Sentence B -> Sentence B",
}
MEANS = {"none": "this head", "heads": "mean over the heads", "layers": "mean over layers", "both": "mean over both"}
WEIGHTS = {"attention": "attention", "norm": "attention x length of the value"}


def own_text(place: Place) -> html.Div:
    """What a reader types: a sentence, or a pair."""
    return html.Div(
        [
            _text("text", "Your own sentence", "type, then Enter", place.address.text, 360),
            *(
                [_text("second", "and a second one (Sentence B)", "optional", place.address.second, 260)]
                if place.address.text
                else []
            ),
        ],
        className="controls",
    )


def view_controls(place: Place) -> html.Div:
    """Which view, of which layer and head, and what of it."""
    return html.Div([*_where(place), *_what(place)], className="controls")


def _where(place: Place) -> list[Any]:
    address = place.address
    return [
        choice("show", "View", SHOWN, address.show, 120),
        *([] if address.show == "mixing" else [_layer(place)]),
        *([choice("mean", "of", MEANS, address.mean, 150)] if address.show == "matrix" else []),
        *([_head(place)] if address.show in ("matrix", "neuron", "positions") else []),
    ]


def _layer(place: Place) -> dmc.Select:
    layers = {str(layer): str(layer) for layer in range(place.corpus.layers)}
    return choice("layer", "Layer", layers, str(place.address.layer), 72)


def _head(place: Place) -> dmc.Select:
    heads = {str(head): str(head) for head in range(place.corpus.heads)}
    return choice("head", "Head", heads, str(place.address.head), 72)


def _what(place: Place) -> list[Any]:
    """What of the weights; the views of single vectors and of the whole corpus have nothing to choose."""
    address = place.address
    if address.show == "mixing":
        return [choice("ratio", "Ratio", {name: one.title for name, one in RATIOS.items()}, address.ratio, 400)]
    if address.show in ("neuron", "positions"):
        return []
    return [
        *([choice("pair", "Attention", PAIRS, address.pair, 190)] if address.second and address.text else []),
        choice("weights", "Weight", WEIGHTS, address.weights, 190),
        *([number("least", "lines from", address.least, 0, 1, 0.01)] if address.show == "head" else []),
        switch("special", "hide [CLS] and [SEP]", address.special == "0"),
        switch("renormalize", "rows sum to 1 again", bool(address.renormalize)),
        switch("words", "words", bool(address.words)),
        switch("rollout", "rollout", bool(address.rollout)),
    ]


def _text(field: str, label: str, placeholder: str, value: str | None, width: int) -> dmc.TextInput:
    return dmc.TextInput(
        id={"choose": field, "by": "own"},
        label=label,
        placeholder=placeholder,
        value=value or "",
        debounce=True,
        size="xs",
        w=width,
    )
