"""A typed sentence in both models: its patterns of the chosen head, or why one of the models cannot run."""

import numpy as np
from dash import dcc, html

from dashboard.compare.sentences import drawn_patterns, sentence_divergence
from dashboard.compare.two_models import ModelPair
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sentence import Sentence
from dashboard.ui.page import deferred
from dashboard.web.admission import reader_left
from dashboard.web.context import Context
from dashboard.web.errors import ReaderLeft, Refusal
from store.wording import many

COMPUTING = "Running both models on the typed sentence. The first sentence also loads them, which takes some seconds."
UNLIKE = "The models split this sentence into different tokens. Choose a sentence of the corpus."


def typed_section(context: Context, two: ModelPair) -> list[object]:
    """The patterns where both models have run, else a placeholder that they fill."""
    typed, text = context.library.get(TypedSentences), context.state.text or ""
    ready = all(typed.is_encoded(model, text) for model in (two.own, two.other))
    back = context.state.with_(text=None, second=None).href
    return [
        html.Div(deferred("typed", COMPUTING, ready, lambda: typed_patterns(context, two)), className="typed-patterns"),
        html.P(dcc.Link("Back to the sentences of the corpus", href=f"{back}#sentence-in-both"), className="caption"),
    ]


def typed_patterns(context: Context, two: ModelPair) -> list[object]:
    """The typed sentence through both models, on one scale."""
    try:
        sentences = _both(context, two)
    except ReaderLeft:
        raise
    except Refusal as refusal:
        return [html.P(str(refusal), role="status")]
    own, other = sentences
    if own.wordpieces != other.wordpieces:
        return [html.P(UNLIKE, role="status")]
    state = context.state
    weights = np.stack([sentence.layer_pattern(state.layer)[state.head] for sentence in sentences])
    cut = " It was cut to the longest that the corpus has." if own.cut else ""
    return [
        html.P(own.text, className="sentence-text", dir="auto"),
        *drawn_patterns(two, weights, own.wordpieces),
        html.P(
            f"Typed sentence, {many(len(own.wordpieces), 'token')}; one colour scale. "
            f"Mean divergence {sentence_divergence(weights):.4f} nats.{cut}",
            className="caption",
        ),
    ]


def _both(context: Context, two: ModelPair) -> tuple[Sentence, Sentence]:
    typed, text = context.library.get(TypedSentences), context.state.text or ""
    own, other = (typed.encode(model, text, "", reader_left) for model in (two.own, two.other))
    return own, other
