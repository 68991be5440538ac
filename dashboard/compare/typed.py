"""A typed sentence in both models: its patterns of the chosen head, or why one of the models cannot run."""

import numpy as np
from dash import dcc, html

from dashboard.compare.sentences import Floats, drawn_patterns, sentence_divergence
from dashboard.compare.two_models import ModelPair, pair_of
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sentence import Sentence
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.markup import file_href
from dashboard.web.admission import reader_left
from dashboard.web.context import Context
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.http import data_link
from dashboard.web.library import Library
from dashboard.web.state import LinkState
from store.phrases import many

UNLIKE = "The models split this sentence into different tokens. Choose a sentence of the corpus."


def typed_section(context: Context, two: ModelPair) -> list[object]:
    """The patterns where both models have run, else a placeholder that they fill."""
    typed, text = context.library.get(TypedSentences), context.state.text or ""
    ready = all(typed.is_encoded(model, text) for model in (two.own, two.other))
    back = context.state.with_(text=None, second=None).href
    return [
        deferred(context, TYPED, ready=ready),
        html.P(dcc.Link("Back to the sentences of the corpus", href=f"{back}#sentence-in-both"), className="caption"),
    ]


def typed_patterns(context: Context, two: ModelPair) -> list[object]:
    """The typed sentence through both models, on one scale."""
    try:
        sentences = typed_sentences(context.library, two, context.state.text or "")
    except ReaderLeft:
        raise
    except Refusal as refusal:
        return [html.P(str(refusal), role="status")]
    own, other = sentences
    if own.wordpieces != other.wordpieces:
        return [html.P(UNLIKE, role="status")]
    weights = typed_weights(sentences, context.state.layer, context.state.head)
    return [
        html.P(own.text, className="sentence-text", dir="auto"),
        *drawn_patterns(two, weights, own.wordpieces),
        html.P(
            [
                f"Typed sentence, {many(len(own.wordpieces), 'token')}{', cut to the longest of the corpus' if own.cut else ''}; "
                f"one colour scale. Mean divergence {sentence_divergence(weights):.4f} nats. ",
                html.A("All weights as csv", href=_file(context.state, two), download=""),
                ".",
            ],
            className="caption",
        ),
    ]


def deferred_typed(context: Context) -> list[object]:
    """The typed sentence in both models."""
    two = pair_of(context)
    return typed_patterns(context, two) if two and two.same_heads and context.state.text else []


TYPED = DeferredPart("typed", "this sentence, once both models are loaded", deferred_typed, ("text",), 760, shape="box")


def _file(state: LinkState, two: ModelPair) -> str:
    return file_href(
        data_link(two.own),
        f"compare/{two.other.name}/typed/{state.layer}/{state.head}.csv",
        {"text": state.text},
    )


def typed_sentences(library: Library, two: ModelPair, text: str) -> tuple[Sentence, Sentence]:
    """A text through both models. Raises `Refusal` where one of them cannot run it."""
    typed = library.get(TypedSentences)
    own, other = (typed.encode(model, text, "", reader_left) for model in (two.own, two.other))
    return own, other


def typed_weights(sentences: tuple[Sentence, Sentence], layer: int, head: int) -> Floats:
    """The weights of a head in both models: (2, query_token, key_token)."""
    return np.stack([sentence.layer_pattern(layer)[head] for sentence in sentences])
