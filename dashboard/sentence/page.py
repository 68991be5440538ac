"""Page Sentence: what every head does with one sentence, of the corpus or typed by a reader."""

from dataclasses import replace
from random import randrange
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.sentence.finder import finder, search_of
from dashboard.sentence.mixing import sentence_mixing
from dashboard.sentence.picture import chosen_units, neuron_url, sentence_picture, showing_of, weights_file, what
from dashboard.sentence.positions import positions
from dashboard.sentence.ranked_heads import ranking_panel
from dashboard.ui.controls import choice, number, switch
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
MEANS = {"none": "this head", "heads": "mean over the heads", "layers": "mean over layers", "both": "mean over both"}
WEIGHTS = {"attention": "attention", "norm": "attention x length of the value"}
HOW = {
    "head": "Queries left, keys right. Point at a token for its weights, click it to keep them, Shift adds another, double-click or h hides it; double-click a head's colour for it alone.",
    "model": "A thumbnail for every head: queries downwards, keys across, darker is more. Click one, or arrow keys and Enter, to open it.",
    "matrix": "Queries downwards, keys across. Point at a cell, or use the arrow keys, for its weight; double-click a token's name, or h in its row, hides it.",
    "neuron": "Choose a query: its vector times each key's, channel by channel, summed, scaled by 1 / sqrt(channels), softmax.",
    "mixing": "Layers downwards, tokens across: how much of a token's vector comes from other tokens, the residual and the layer norm counted or not.",
    "positions": "The head's attention weights in this sentence, and beside it their mean over the corpus by position.",
}
#: Views in which tokens can be hidden, and hidden tokens that are named.
HIDING = ("head", "matrix")
MOST_LISTED = 12


def own_text(place: Place) -> html.Div:
    """What a reader types: a sentence, or a pair."""
    return html.Div(
        [
            _text_input("text", "Your own sentence", "type, then Enter", place.address.text, 360),
            *(
                [_text_input("second", "and a second one (Sentence B)", "optional", place.address.second, 260)]
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
    """What the views of a sentence show; None where a figure takes their place."""
    return None if place.address.show == "mixing" else sentence_picture(place)


def layout(place: Place) -> Page:
    """The page at a place; where a typed text cannot be read it says so, and can be typed again."""
    try:
        place.sentence  # noqa: B018 (everything below needs it)
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
    label = place.sentence.label
    return f"Sentence {place.address.sentence:,} of {place.corpus.n_sentences:,}" + (f", {label}" if label else "")


def _text(place: Place) -> list[object]:
    sentence = place.sentence
    cut = [html.Span(" (cut: the model reads no more)", className="caption")] if sentence.cut else []
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
    """Hide the chosen tokens, show hidden ones again. Its room is there before there is anything to hide: a click moves nothing."""
    address = place.address
    chosen = {position for unit in chosen_units(place) for position in unit.positions}
    hidden = [position for position in showing_of(place).hide if position < len(place.sentence.wordpieces)]
    hides = [_with_hidden(place, "hide the chosen tokens", {*hidden, *chosen})] if chosen else []
    shows = [_with_hidden(place, f"show “{_piece(place, one)}”", {*hidden} - {one}) for one in hidden[:MOST_LISTED]]
    shows += [_with_hidden(place, f"show all {len(hidden)}", set())] if len(hidden) > 1 else []
    return html.P([part for one in [*(hides if address.show in HIDING else []), *shows] for part in (one, " ")])


def _piece(place: Place, position: int) -> str:
    return place.sentence.wordpieces[position]


def _with_hidden(place: Place, says: str, positions: set[int]) -> dcc.Link:
    """A link to the same with these positions hidden: the others are counted anew, and none of them is chosen."""
    hide = ".".join(map(str, sorted(positions))) or None
    return dcc.Link(says, href=place.address.with_(hide=hide, queries=None, toward=None).href)


def _in_the_picture(place: Place) -> list[object]:
    """To a typed sentence's points among those of the corpus."""
    if not place.address.text or not place.corpus.views:
        return []
    name = head_name(place.address.layer, place.address.head)
    link_ = dcc.Link(
        f"Show it among the corpus' queries and keys of {name}", href=place.address.on("head").with_(token=None).href
    )
    return [html.P(link_)]


def _caption(place: Place) -> html.P:
    address = place.address
    tokens = len(place.sentence.wordpieces)
    said, url = _file(place)
    return html.P(
        [
            f"{many(tokens, 'token')}; weights recomputed from the stored queries and keys. "
            if not address.text
            else f"{many(tokens, 'token')}, run through the model now. ",
            html.A(f"{said} as csv", href=url, download=""),
            ".",
        ],
        className="caption",
    )


def _file(place: Place) -> tuple[str, str]:
    """What can be had as a file, and where: one of the model view has the layer that is chosen."""
    address = place.address
    if address.show == "neuron":
        steps = neuron_url(place, "csv")
        return (f"Every step of {head_name(address.layer, address.head)}", steps) if steps else _weights(place)
    return _weights(
        replace(place, address=address.with_(show="head", heads=None)) if address.show == "model" else place
    )


def _weights(place: Place) -> tuple[str, str]:
    return what(place), weights_file(place)
