"""Page Sentence: what every head does with one sentence, of the corpus or typed by a reader."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.notes.panel import note_panel
from dashboard.notes.target import SentenceTarget, TokenTarget
from dashboard.sentence.controls import SHOWN, filter_group, input_group, view_group
from dashboard.sentence.encoder import shown_sentence, waits_for_model
from dashboard.sentence.finder import finder, search_of
from dashboard.sentence.mixing import sentence_mixing
from dashboard.sentence.opening import about_head
from dashboard.sentence.picture import (
    averaged_heads,
    is_mean,
    selected_units,
    sentence_picture,
)
from dashboard.sentence.positions import positions
from dashboard.sentence.ranked_heads import ranking_panel
from dashboard.sentence.tree import dependency_tree
from dashboard.ui.controls import info
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.page import Page
from dashboard.ui.text import all_of, first_of, has_part, with_commands
from dashboard.web.context import Context
from dashboard.web.errors import Refusal
from dashboard.web.responses import for_one_reader
from dashboard.web.state import ORDER
from store.phrases import many
from store.schema.model import head_name

HOW = {
    "head": "Queries left, keys right. Click a token for its lines alone, a line to rank the heads by its two tokens.",
    "model": "One thumbnail per head: queries down, keys across; more contrast: larger weight.",
    "matrix": "Queries down, keys across. Click a cell to rank the heads by its two tokens.",
    "neuron": "Select a query: its product with every key, channel by channel, and the weight.",
    "mixing": "Layers down, tokens across: the share of a token's vector that comes from other tokens.",
    "positions": "The head's attention weights in this sentence; beside it, their mean over the corpus by position.",
}
#: What else a reader can do in a view, behind an (i).
_MORE = {
    "head": "Hover a token or a line for its weights. Shift and click adds a token to the selection; double-click or h hides it. With a query selected, Enter on a key selects the pair; Escape or a second click clears it. Double-click a head's colour to show it alone.",
    "model": "Click a thumbnail, or use the arrow keys and Enter, to open its head.",
    "matrix": "Hover a cell for its weight; the arrow keys move from cell to cell, Enter selects its pair, Escape or a second click clears it. Double-click a token's name, or press h in its row, to hide it.",
    "neuron": "q x k channel by channel, their sum, the logit q.k / sqrt(channels), and the weight after the softmax.",
}


def picture(context: Context) -> dict[str, Any] | None:
    """What the views of a sentence draw; None where a figure takes their place, or until the model is loaded."""
    return None if context.state.show == "mixing" or waits_for_model(context) else sentence_picture(context)


def layout(context: Context) -> Page:
    """The page of a link; where a typed text cannot be encoded, the reason and the text field."""
    if waits_for_model(context):
        return _before_model(context)
    try:
        shown_sentence(context)
    except Refusal as refusal:
        for_one_reader()  # the next one may get it
        alert = dmc.Alert(with_commands(str(refusal)), color="red", className="problem")
        above = [html.H1(_title(context)), *_plain_text(context), _groups(input_group(context)), alert]
        return Page(above=above, beside=_finder(context))
    return _of_sentence(context)


def _before_model(context: Context) -> Page:
    """The page of the first encoded sentence of a model, where everything has its place."""
    above = [
        html.H1(_title(context)),
        *_plain_text(context),
        _groups(input_group(context), view_group(context)),
        html.P(_how_to_read(context.state.show), className="how-to-read"),
    ]
    return Page(above=above, beside=_finder(context))


def _plain_text(context: Context) -> list[html.P]:
    """The text of a sentence that is not encoded."""
    state = context.state
    text = state.text or (context.corpus.counted_text(state.sentence) if context.has_no_vectors else "")
    return [html.P([text, *([" | ", state.second] if state.second else [])], className="sentence-text", dir="auto")]


def before_views(context: Context) -> list[object]:
    """What takes the place of the views until the model is loaded; nothing afterwards."""
    return [deferred(context, TYPED, ready=False)] if waits_for_model(context) else []


def _of_sentence(context: Context) -> Page:
    above = [
        html.H1(_title(context)),
        html.P(_text(context), className="sentence-text", dir="auto"),
        *_encoded_now(context),
        _groups(input_group(context), view_group(context), *filter_group(context)),
        *about_head(context),
        html.P(_how_to_read(context.state.show), className="how-to-read"),
    ]
    if context.state.show == "mixing":
        below = [*sentence_mixing(context), *_notes(context)]
        return Page(above=above, beside=_finder(context), below=below, notices=_notices(context))
    beside = positions(context) if context.state.show == "positions" else ranking_panel(context)
    below = [_caption(context), *_notes(context), *dependency_tree(context)]
    return Page(above=above, beside=[*beside, *_finder(context)], below=below, notices=_notices(context))


def _encoded_now(context: Context) -> list[html.P]:
    """Of a sentence without stored vectors: where its numbers are from, and what needs stored ones."""
    if not context.has_no_vectors:
        return []
    corpus = context.corpus
    remark = (
        f"Encoded now by the store's model in {corpus.attributes['dtype']}, as the store is: vectors are stored of "
        f"{first_of(corpus, 'sentence')}. Notes and the dependency tree are of sentences with vectors."
    )
    return [html.P(remark, className="caption")]


def _groups(*groups: html.Fieldset) -> html.Div:
    return html.Div(list(groups), className="control-groups")


def _how_to_read(show: str) -> list[str | html.Button]:
    about = f"the {SHOWN[show].lower()}"
    return [HOW[show], *([info(about, _MORE[show])] if show in _MORE else [])]


def _finder(context: Context) -> list[object]:
    ready = None if context.state.by and context.state.by != ORDER else True
    return [html.H2("Find a sentence"), deferred(context, FOUND, ready=ready)]


def _run(context: Context) -> list[object]:
    """Encode the sentence; the page is fetched again when it is there."""
    shown_sentence(context)
    return []


TYPED = DeferredPart(
    "own-text",
    "this sentence, once the model is loaded",
    _run,
    ("text", "second", "sentence"),
    560,
    shape="box",
    reloads=True,
)
FOUND = DeferredPart(
    "found",
    "the statistic in every sentence",
    lambda context: finder(context, search_of(context)),
    ("by", "layer", "head", "heads", "first", "find", "labelled", "fewest", "most"),
    704,
)


def _title(context: Context) -> list[object]:
    if context.state.text:
        return ["Your own pair of sentences" if context.state.second else "Your own sentence"]
    corpus = context.corpus
    label = corpus.label_name(context.state.sentence)
    among = first_of(corpus, "sentence") if has_part(corpus) else f"{corpus.n_sentences:,}"
    if context.has_no_vectors:
        among = all_of(corpus, "sentence")
    return [f"Sentence {context.state.sentence:,} of {among}", *([", ", html.Bdi(label)] if label else [])]


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


def _caption(context: Context) -> html.P:
    tokens = many(len(shown_sentence(context).wordpieces), "token")
    encoded = context.state.text or context.has_no_vectors
    origin = "encoded by the corpus' model" if encoded else "weights computed from the stored queries and keys"
    return html.P([*_averaged(context), f"{tokens}; {origin}. ", *_among_points(context)], className="caption")


def _among_points(context: Context) -> list[object]:
    """A link to a typed sentence's points among those of the corpus."""
    if not context.state.text or not context.corpus.views:
        return []
    name = head_name(context.state.layer, context.state.head)
    href = context.state.on("head").with_(token=None).href
    return [dcc.Link(f"Show among the corpus' queries and keys of {name}", href=href), "."]


def _notes(context: Context) -> list[object]:
    """Notes on the sentence, and on the token that is selected alone; a typed sentence is in no corpus.

    A note finds its sentence again among those with vectors.
    """
    corpus, sentence = context.corpus, context.state.sentence
    if context.state.text or context.has_no_vectors:
        return []
    panels = [note_panel("sentence", SentenceTarget.of(corpus, sentence), "Notes on this sentence")]
    match [unit.positions for unit in selected_units(context)]:
        case [[position]]:
            target = TokenTarget.at(corpus, sentence, position)
            panels.append(note_panel("token", target, f"Notes on “{target.wordpiece}”, position {position}"))
    return [html.Div(panels, className="note-panels")]


def _averaged(context: Context) -> list[object]:
    """Which heads a mean is over, and a link to the mean over all where some were chosen in another view."""
    state = context.state
    if not is_mean(state):
        return []
    text = f"{averaged_heads(context)}. "
    if not state.heads or state.mean == "layers" or state.rollout:
        return [text]
    return [text, dcc.Link("Use all heads", href=state.with_(heads=None).href), ". "]
