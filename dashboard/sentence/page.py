"""Page Sentence: what every head does with one sentence, of the corpus or typed by a reader."""

from dataclasses import replace
from random import randrange
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.sentence.encoder import shown_sentence
from dashboard.sentence.finder import finder, search_of
from dashboard.sentence.mixing import sentence_mixing
from dashboard.sentence.picture import (
    neuron_url,
    options_of,
    selected_units,
    sentence_picture,
    weights_file,
    weights_name,
)
from dashboard.sentence.positions import positions
from dashboard.sentence.ranked_heads import ranking_panel
from dashboard.ui.controls import choice, explained, info, number, statistic_choice, switch
from dashboard.ui.page import Page
from dashboard.web.errors import Refusal
from dashboard.web.view import Place
from store.schema.model import RATIOS, head_name
from store.wording import many

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
MEANS = {"none": "this head", "heads": "mean of heads", "layers": "mean of layers", "both": "mean of both"}
WEIGHTS = {"attention": "attention weight", "norm": "weight x value norm ‖f(x)‖"}
_WEIGHTS = (
    "Attention weight: the softmax of q.k / sqrt(channels). Times the value norm ‖f(x)‖: how much of a key's vector is handed on "
    "(Kobayashi et al. 2020)."
)
_ROLLOUT = (
    "Attention from every token to the input tokens up to the layer: the product of the layers' mean patterns, each half "
    "residual (Abnar and Zuidema 2020)."
)
HOW = {
    "head": "Queries left, keys right. Hover a token for its weights; click to select it (Shift adds), double-click or h to hide it. Double-click a head's colour to show it alone.",
    "model": "One thumbnail per head: queries down, keys across, darker: larger weight. Click one, or use the arrow keys and Enter, to open it.",
    "matrix": "Queries down, keys across. Hover a cell, or use the arrow keys, for its weight; double-click a token's name, or press h in its row, to hide it.",
    "neuron": "Select a query: q x k channel by channel, their sum, the logit q.k / sqrt(channels), and the weight after the softmax.",
    "mixing": "Layers down, tokens across: the share of a token's vector that comes from other tokens.",
    "positions": "The head's attention weights in this sentence; beside it, their mean over the corpus by position.",
}
#: Views in which tokens can be hidden, and the most hidden tokens that are named.
HIDING = ("head", "matrix")
MOST_LISTED = 12


def own_text(place: Place) -> html.Div:
    """Text fields for a sentence, or for a pair."""
    return html.Div(
        [
            _text_input("text", "Your own sentence", "type, then Enter", place.address.text, 360),
            *(
                [_text_input("second", "Second sentence (Sentence B)", "optional", place.address.second, 260)]
                if place.address.text
                else []
            ),
        ],
        className="controls",
    )


def view_controls(place: Place) -> html.Div:
    """The view, its layer and head, and its options."""
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
    """Options of the weights; views of single vectors and of the whole corpus have none."""
    address = place.address
    if address.show == "mixing":
        titles = {name: ratio.title for name, ratio in RATIOS.items()}
        return [statistic_choice("ratio", "Ratio", titles, address.ratio, 400)]
    if address.show in ("neuron", "positions"):
        return []
    return [
        *([choice("pair", "Attention", PAIRS, address.pair, 190)] if address.second and address.text else []),
        explained(choice("weights", "Weight", WEIGHTS, address.weights, 190), info("weights", _WEIGHTS)),
        *([number("least", "minimum weight", address.least, 0, 1, 0.01)] if address.show == "head" else []),
        switch("special", "hide [CLS] and [SEP]", address.special == "0"),
        switch("renormalize", "renormalise rows", bool(address.renormalize)),
        switch("words", "whole words", bool(address.words)),
        explained(switch("rollout", "rollout", bool(address.rollout)), info("rollout", _ROLLOUT)),
    ]


def _text_input(field: str, label: str, placeholder: str, value: str | None, width: int) -> dmc.TextInput:
    return dmc.TextInput(
        id={"choose": field, "by": "own"},
        label=label,
        placeholder=placeholder,
        value=value or "",
        debounce=True,
        size="xs",
        w=width,
    )


def picture(place: Place) -> dict[str, Any] | None:
    """What the views of a sentence draw; None where a figure takes their place."""
    return None if place.address.show == "mixing" else sentence_picture(place)


def layout(place: Place) -> Page:
    """The page of a link; where a typed text cannot be encoded, the reason and the text field."""
    try:
        shown_sentence(place)
    except Refusal as refusal:
        alert = dmc.Alert(str(refusal), color="red", className="problem")
        return Page(above=[html.H1("Your own sentence"), own_text(place), alert], beside=_finder(place))
    return _of_sentence(place)


def _of_sentence(place: Place) -> Page:
    above = [
        html.Div([html.H1(_title(place)), _neighbours(place)], className="title-row"),
        html.P(_text(place), className="sentence-text", dir="auto"),
        own_text(place),
        view_controls(place),
        html.Div([_hiding(place), *_in_the_picture(place)], className="sentence-links"),
        html.P(HOW[place.address.show], className="how-to-read"),
    ]
    if place.address.show == "mixing":
        return Page(above=above, beside=_finder(place), below=sentence_mixing(place))
    beside = positions(place) if place.address.show == "positions" else ranking_panel(place)
    return Page(above=above, beside=[*beside, *_finder(place)], below=[_caption(place)])


def _finder(place: Place) -> list[object]:
    return [html.H2("Find a sentence"), *finder(place, search_of(place))]


def _title(place: Place) -> str:
    if place.address.text:
        return "Your own pair of sentences" if place.address.second else "Your own sentence"
    label = shown_sentence(place).label
    return f"Sentence {place.address.sentence:,} of {place.corpus.n_sentences:,}" + (f", {label}" if label else "")


def _text(place: Place) -> list[object]:
    sentence = shown_sentence(place)
    cut = [html.Span(" (truncated to the model's maximum length)", className="caption")] if sentence.cut else []
    parts = [sentence.text, *([html.Span(" | ", className="caption"), sentence.second] if sentence.second else [])]
    return [*parts, *cut]


def _neighbours(place: Place) -> html.Nav:
    count, own = place.corpus.n_sentences, place.address.sentence
    steps = (("←", "previous sentence", (own - 1) % count), ("→", "next sentence", (own + 1) % count))
    links = [_neighbour(place, arrow, title, sentence) for arrow, title, sentence in steps]
    return html.Nav(
        [*links, _neighbour(place, "↻", "a random sentence", randrange(count))],
        className="neighbours",
        **{"aria-label": "Other sentences"},
    )


def _neighbour(place: Place, text: str, title: str, sentence: int) -> dcc.Link:
    return dcc.Link(text, href=place.address.of_sentence(sentence).href, className="neighbour", title=title)


def _hiding(place: Place) -> html.P:
    """Links that hide the selected tokens and show hidden ones. The line is there without any, so that a click moves nothing."""
    address = place.address
    selected = {position for unit in selected_units(place) for position in unit.positions}
    hidden = [position for position in options_of(place).hide if position < len(shown_sentence(place).wordpieces)]
    hides = [_with_hidden(place, "hide the selected tokens", {*hidden, *selected})] if selected else []
    shows = [
        _with_hidden(place, f"show “{_piece(place, position)}”", {*hidden} - {position})
        for position in hidden[:MOST_LISTED]
    ]
    shows += [_with_hidden(place, f"show all {len(hidden)}", set())] if len(hidden) > 1 else []
    return html.P([part for link in [*(hides if address.show in HIDING else []), *shows] for part in (link, " ")])


def _piece(place: Place, position: int) -> str:
    return shown_sentence(place).wordpieces[position]


def _with_hidden(place: Place, text: str, positions: set[int]) -> dcc.Link:
    """A link to the page with these positions hidden and no token selected."""
    hide = ".".join(map(str, sorted(positions))) or None
    return dcc.Link(text, href=place.address.with_(hide=hide, queries=None, toward=None).href)


def _in_the_picture(place: Place) -> list[object]:
    """A link to a typed sentence's points among those of the corpus."""
    if not place.address.text or not place.corpus.views:
        return []
    name = head_name(place.address.layer, place.address.head)
    link_ = dcc.Link(
        f"Show among the corpus' queries and keys of {name}", href=place.address.on("head").with_(token=None).href
    )
    return [html.P(link_)]


def _caption(place: Place) -> html.P:
    address = place.address
    tokens = len(shown_sentence(place).wordpieces)
    content, url = _file(place)
    return html.P(
        [
            f"{many(tokens, 'token')}; weights computed from the stored queries and keys. "
            if not address.text
            else f"{many(tokens, 'token')}; encoded by the corpus' model. ",
            html.A(f"{content} as csv", href=url, download=""),
            ".",
        ],
        className="caption",
    )


def _file(place: Place) -> tuple[str, str]:
    """Name and URL of the file of what is shown; in the model view, that of the selected layer."""
    address = place.address
    if address.show == "neuron":
        steps = neuron_url(place, "csv")
        return (f"Every step of {head_name(address.layer, address.head)}", steps) if steps else _weights(place)
    return _weights(
        replace(place, address=address.with_(show="head", heads=None)) if address.show == "model" else place
    )


def _weights(place: Place) -> tuple[str, str]:
    return weights_name(place), weights_file(place)
