"""Page Sentence: what every head does with one sentence, of the corpus or typed by a reader."""

from dataclasses import replace
from random import randrange
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.sentence.encoder import shown_sentence
from dashboard.sentence.finder import finder, search_of
from dashboard.sentence.mixing import sentence_mixing
from dashboard.sentence.opening import about_head
from dashboard.sentence.picture import (
    averaged_heads,
    is_mean,
    neuron_url,
    options_of,
    selected_units,
    sentence_picture,
    weights_file,
    weights_name,
)
from dashboard.sentence.positions import positions
from dashboard.sentence.ranked_heads import ranking_panel
from dashboard.sentence.tree import dependency_tree
from dashboard.ui.controls import choice, explained, info, number, statistic_choice, switch
from dashboard.ui.page import Page
from dashboard.web.context import Context
from dashboard.web.errors import Refusal
from dashboard.web.state import LinkState
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
    "aa": "A -> A",
    "ab": "A -> B",
    "ba": "B -> A",
    "bb": "B -> B",
}
MEANS = {"none": "this head", "heads": "mean of heads", "layers": "mean of layers", "both": "mean of heads and layers"}
WEIGHTS = {"attention": "attention weight", "norm": "weight x value norm ‖f(x)‖"}
_WEIGHTS = (
    "Attention weight: the softmax of q.k / sqrt(channels). Times the value norm ‖f(x)‖: how much of a key's vector is handed on "
    "(Kobayashi et al. 2020)."
)
_WEIGHTS_OF_ROLLOUT = "Off while rollout is on: a rollout is of attention weights alone."
_ROLLOUT = (
    "Attention from every token to the input tokens up to the layer: the product of the layers' mean patterns, each half "
    "residual (Abnar and Zuidema 2020)."
)
HOW = {
    "head": "Queries left, keys right. Hover a token for its weights, click to select it.",
    "model": "One thumbnail per head: queries down, keys across; more contrast: larger weight.",
    "matrix": "Queries down, keys across. Hover a cell for its weight.",
    "neuron": "Select a query: its product with every key, channel by channel, and the weight.",
    "mixing": "Layers down, tokens across: the share of a token's vector that comes from other tokens.",
    "positions": "The head's attention weights in this sentence; beside it, their mean over the corpus by position.",
}
#: What else a reader can do in a view, behind an (i).
_MORE = {
    "head": "Shift and click adds a token to the selection; double-click or h hides it. Double-click a head's colour to show it alone.",
    "model": "Click a thumbnail, or use the arrow keys and Enter, to open its head.",
    "matrix": "The arrow keys move from cell to cell. Double-click a token's name, or press h in its row, to hide it.",
    "neuron": "q x k channel by channel, their sum, the logit q.k / sqrt(channels), and the weight after the softmax.",
}
#: Views in which tokens can be hidden, and the most hidden tokens that are named.
HIDING = ("head", "matrix")
MOST_LISTED = 12


def own_text(context: Context) -> html.Div:
    """Text fields for a sentence, or for a pair."""
    return html.Div(
        [
            text_input("text", "Your own sentence", "type, then Enter", context.state.text, 360),
            *(
                [text_input("second", "Second sentence (Sentence B)", "optional", context.state.second, 260)]
                if context.state.text
                else []
            ),
            html.P("Loading the model (first sentence only) ...", className="loading", role="status"),
        ],
        className="controls own-text",
    )


def view_controls(context: Context) -> html.Div:
    """The view, its layer and head, and its options."""
    return html.Div([*_view_choices(context), *_weight_options(context)], className="controls")


def _view_choices(context: Context) -> list[Any]:
    """The view; of what, in the matrix; layer and head where they change what is drawn."""
    state = context.state
    return [
        choice("show", "View", SHOWN, state.show, 120),
        *([_mean(state)] if state.show == "matrix" else []),
        *([_layer(context)] if _is_of_one_layer(state) else []),
        *([_head(context)] if _is_of_one_head(state) else []),
    ]


def _mean(state: LinkState) -> dmc.Select:
    """A rollout already is of the mean over heads: there it matters only whether layers are averaged."""
    if not state.rollout:
        return choice("mean", "Matrix of", MEANS, state.mean, 210)
    one, every = ("heads" if state.mean == "heads" else "none"), ("both" if state.mean == "both" else "layers")
    return choice("mean", "Matrix of", {one: "this layer", every: "mean of layers"}, state.mean, 210)


def _is_of_one_layer(state: LinkState) -> bool:
    return state.show not in ("model", "mixing") and not (is_mean(state) and state.mean in ("layers", "both"))


def _is_of_one_head(state: LinkState) -> bool:
    if state.show == "matrix":
        return state.mean in ("none", "layers") and not state.rollout
    return state.show in ("neuron", "positions")


def _layer(context: Context) -> dmc.Select:
    layers = {str(layer): str(layer) for layer in range(context.corpus.layers)}
    return choice("layer", "Layer", layers, str(context.state.layer), 72)


def _head(context: Context) -> dmc.Select:
    heads = {str(head): str(head) for head in range(context.corpus.heads)}
    return choice("head", "Head", heads, str(context.state.head), 72)


def _weight_options(context: Context) -> list[Any]:
    """Options of the weights; views of single vectors and of the whole corpus have none."""
    state = context.state
    if state.show == "mixing":
        titles = {name: ratio.title for name, ratio in RATIOS.items()}
        return [statistic_choice("ratio", "Ratio", titles, state.ratio, 400)]
    if state.show in ("neuron", "positions"):
        return []
    return [
        *([choice("pair", "Attention", PAIRS, state.pair, 90)] if state.second and state.text else []),
        _weight_choice(state),
        *([number("least", "minimum weight", state.least, 0, 1, 0.01)] if state.show == "head" else []),
        switch("special", "hide [CLS] and [SEP]", state.special == "0"),
        switch("renormalize", "renormalise rows", bool(state.renormalize)),
        switch("words", "whole words", bool(state.words)),
        explained(switch("rollout", "rollout", bool(state.rollout)), info("rollout", _ROLLOUT)),
    ]


def _weight_choice(state: LinkState) -> html.Div:
    control = choice("weights", "Weight", WEIGHTS, state.weights, 190, disabled=bool(state.rollout))
    return explained(control, info("weights", _WEIGHTS_OF_ROLLOUT if state.rollout else _WEIGHTS))


def text_input(field: str, label: str, placeholder: str, value: str | None, width: int) -> dmc.TextInput:
    """A field of a typed text, taken at Enter or when it is left."""
    return dmc.TextInput(
        id={"choose": field, "by": "own"},
        label=label,
        placeholder=placeholder,
        value=value or "",
        debounce=True,
        size="xs",
        w=width,
    )


def picture(context: Context) -> dict[str, Any] | None:
    """What the views of a sentence draw; None where a figure takes their place."""
    return None if context.state.show == "mixing" else sentence_picture(context)


def layout(context: Context) -> Page:
    """The page of a link; where a typed text cannot be encoded, the reason and the text field."""
    try:
        shown_sentence(context)
    except Refusal as refusal:
        alert = dmc.Alert(str(refusal), color="red", className="problem")
        return Page(above=[html.H1("Your own sentence"), own_text(context), alert], beside=_finder(context))
    return _of_sentence(context)


def _of_sentence(context: Context) -> Page:
    above = [
        html.Div([html.H1(_title(context)), _neighbours(context)], className="title-row"),
        html.P(_text(context), className="sentence-text", dir="auto"),
        own_text(context),
        view_controls(context),
        html.Div([_hiding(context), *_in_the_picture(context)], className="sentence-links"),
        about_head(context),
        html.P(_how_to_read(context.state.show), className="how-to-read"),
    ]
    if context.state.show == "mixing":
        return Page(above=above, beside=_finder(context), below=sentence_mixing(context), notices=_notices(context))
    beside = positions(context) if context.state.show == "positions" else ranking_panel(context)
    below: list[object] = [_caption(context), *dependency_tree(context)]
    return Page(above=above, beside=[*beside, *_finder(context)], below=below, notices=_notices(context))


def _how_to_read(show: str) -> list[str | html.Button]:
    about = f"the {SHOWN[show].lower()}"
    return [HOW[show], *([info(about, _MORE[show])] if show in _MORE else [])]


def _finder(context: Context) -> list[object]:
    return [html.H2("Find a sentence"), *finder(context, search_of(context))]


def _title(context: Context) -> str:
    if context.state.text:
        return "Your own pair of sentences" if context.state.second else "Your own sentence"
    label = shown_sentence(context).label
    return f"Sentence {context.state.sentence:,} of {context.corpus.n_sentences:,}" + (f", {label}" if label else "")


def _text(context: Context) -> list[object]:
    sentence = shown_sentence(context)
    is_cut = sentence.cut and not context.state.text
    cut = [html.Span(f" (cut at {many(len(sentence.wordpieces), 'wordpiece')})", className="caption")] if is_cut else []
    parts = [sentence.text, *([html.Span(" | ", className="caption"), sentence.second] if sentence.second else [])]
    return [*parts, *cut]


def _notices(context: Context) -> tuple[str, ...]:
    """How much of a typed text is encoded where it is too long."""
    sentence = shown_sentence(context)
    if not (context.state.text and sentence.cut):
        return ()
    wordpieces = many(len(sentence.wordpieces), "wordpiece")
    return (f"The text is cut at {wordpieces}, the limit of this store. Type a shorter text, or its parts one by one.",)


def _neighbours(context: Context) -> html.Nav:
    count, own = context.corpus.n_sentences, context.state.sentence
    steps = (("←", "previous sentence", (own - 1) % count), ("→", "next sentence", (own + 1) % count))
    links = [_neighbour(context, arrow, title, sentence) for arrow, title, sentence in steps]
    return html.Nav(
        [*links, _neighbour(context, "↻", "a random sentence", randrange(count))],
        className="neighbours",
        **{"aria-label": "Other sentences"},
    )


def _neighbour(context: Context, text: str, title: str, sentence: int) -> dcc.Link:
    return dcc.Link(text, href=context.state.of_sentence(sentence).href, className="neighbour", title=title)


def _hiding(context: Context) -> html.P:
    """Links that hide the selected tokens and show hidden ones. The line is there without any, so that a click moves nothing."""
    state = context.state
    selected = {position for unit in selected_units(context) for position in unit.positions}
    hidden = [position for position in options_of(context).hide if position < len(shown_sentence(context).wordpieces)]
    hides = [_with_hidden(context, "hide the selected tokens", {*hidden, *selected})] if selected else []
    shows = [
        _with_hidden(context, f"show “{_piece(context, position)}”", {*hidden} - {position})
        for position in hidden[:MOST_LISTED]
    ]
    shows += [_with_hidden(context, f"show all {len(hidden)}", set())] if len(hidden) > 1 else []
    return html.P([part for link in [*(hides if state.show in HIDING else []), *shows] for part in (link, " ")])


def _piece(context: Context, position: int) -> str:
    return shown_sentence(context).wordpieces[position]


def _with_hidden(context: Context, text: str, positions: set[int]) -> dcc.Link:
    """A link to the page with these positions hidden and no token selected."""
    hide = ".".join(map(str, sorted(positions))) or None
    return dcc.Link(text, href=context.state.with_(hide=hide, queries=None, toward=None).href)


def _in_the_picture(context: Context) -> list[object]:
    """A link to a typed sentence's points among those of the corpus."""
    if not context.state.text or not context.corpus.views:
        return []
    name = head_name(context.state.layer, context.state.head)
    link_ = dcc.Link(
        f"Show among the corpus' queries and keys of {name}", href=context.state.on("head").with_(token=None).href
    )
    return [html.P(link_)]


def _caption(context: Context) -> html.P:
    state = context.state
    tokens = len(shown_sentence(context).wordpieces)
    content, url = _file(context)
    return html.P(
        [
            *_averaged(context),
            f"{many(tokens, 'token')}; weights computed from the stored queries and keys. "
            if not state.text
            else f"{many(tokens, 'token')}; encoded by the corpus' model. ",
            html.A(f"{content} as csv", href=url, download=""),
            ".",
        ],
        className="caption",
    )


def _averaged(context: Context) -> list[object]:
    """Which heads a mean is over, and a link to the mean over all where some were chosen in another view."""
    state = context.state
    if not is_mean(state):
        return []
    text = f"{averaged_heads(context)}. "
    if not state.heads or state.mean == "layers" or state.rollout:
        return [text]
    return [text, dcc.Link("Use all heads", href=state.with_(heads=None).href), ". "]


def _file(context: Context) -> tuple[str, str]:
    """Name and URL of the file of what is shown; in the model view, that of the selected layer."""
    state = context.state
    if state.show == "neuron":
        steps = neuron_url(context, "csv")
        return (f"Every step of {head_name(state.layer, state.head)}", steps) if steps else _weights(context)
    return _weights(replace(context, state=state.with_(show="head", heads=None)) if state.show == "model" else context)


def _weights(context: Context) -> tuple[str, str]:
    return weights_name(context), weights_file(context)
