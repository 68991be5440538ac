"""The same sentence in two models, one of the corpus or a typed one, and the search for sentences in which a head differs."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.compare.data import head_divergence, head_sample
from dashboard.compare.patterns import both_patterns, drawn_patterns, named_every, sentence_divergence
from dashboard.compare.two_models import LETTERS, ModelPair, sample_caption
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.finder import RANKINGS, Ranking, Search, ranking_by
from dashboard.sentence.sentence import Sentence, stored_sentence
from dashboard.ui.controls import head_choices, info, number, other_sentences, text_input
from dashboard.ui.markup import file_href
from dashboard.ui.text import has_part
from dashboard.web.admission import reader_left
from dashboard.web.http import data_link
from dashboard.web.library import Library
from dashboard.web.state import ORDER, LinkState
from store.phrases import many
from store.schema.model import head_name

Floats = NDArray[np.float32]
#: The ranking by divergence of the head's patterns: the default of this page, so links omit it.
DIVERGENCE = "divergence"


def ranked_by(state: LinkState, two: ModelPair) -> str:
    """Name of the ranking, by default divergence where heads have counterparts."""
    return state.by or standard_ranking(two)


def standard_ranking(two: ModelPair) -> str:
    """The default ranking."""
    return DIVERGENCE if two.same_heads else ORDER


def search_in_both(state: LinkState, two: ModelPair) -> Search:
    """The search on page Compare; its links stay on the page."""
    by = ranked_by(state, two)
    names = {name: title if name == ORDER else f"{title} in A" for name, title in RANKINGS.items()}
    own = {DIVERGENCE: "divergence"} if two.same_heads else {}
    if by == DIVERGENCE:
        ranking: Ranking | None = _divergence_ranking(state, two)
        among = head_sample(two).sentences
    else:
        ranking, among = _of_this(ranking_by(two.own, by, state.layer, state.head)), two.sentences
    note, head = _search_note(two, by), state.head
    return Search(own | names, by, ranking, among, lambda sentence: sentence_href(state, sentence), note, head)


def sentence_href(state: LinkState, sentence: int) -> str:
    """A link to the page with another sentence, scrolled to its patterns."""
    return f"{state.with_(sentence=sentence, text=None, second=None).href}#sentence-in-both"


def _divergence_ranking(state: LinkState, two: ModelPair) -> Ranking:
    values = head_divergence(two, state.layer, state.head)
    return Ranking("divergence, nats", values, "{:.4f}".format)


def _of_this(ranking: Ranking | None) -> Ranking | None:
    return ranking and replace(ranking, title=f"{ranking.title} in A")


def _search_note(two: ModelPair, by: str) -> str:
    """A note on the searched sentences, where these are not all."""
    if by == DIVERGENCE:
        return f"Searched: {sample_caption(two, head_sample(two))}."
    every = two.own.n_sentences
    return (
        ""
        if two.sentences == every
        else f"Searched: the first {two.sentences:,} of {every:,} sentences, which both models have."
    )


def patterns(state: LinkState, two: ModelPair) -> list[object]:
    """The patterns of the link's sentence and head, where both models have them."""
    title = sentence_title(state)
    if state.sentence >= two.sentences:
        vectors = "vectors of " if has_part(two.other) else ""
        missing = f"{two.names[1]} has {vectors}only the first {two.sentences:,} sentences. Choose sentence 0 to {two.sentences - 1:,}."
        return [title, _choices(state, two), html.P(missing, role="status")]
    return [title, _choices(state, two), *_sentence(state, two)]


def sentence_title(state: LinkState) -> html.H2:
    """The heading of the patterns in both models."""
    name = head_name(state.layer, state.head)
    return html.H2(f"The same sentence in both models, {name}", id="sentence-in-both")


def typed_choices(state: LinkState, two: ModelPair) -> list[Any]:
    """The head, and the field of a sentence that a reader types: both models run on it."""
    return [*_heads(state, two), text_input("text", "Your own sentence", "type, then Enter", state.text, 300)]


def _choices(state: LinkState, two: ModelPair) -> html.Div:
    own, count = state.sentence, two.sentences
    return html.Div(
        [
            *typed_choices(state, two),
            number("sentence", "Sentence", own, 0, count - 1, 1),
            other_sentences(own, count, partial(sentence_href, state)),
            *_pages(state, two),
        ],
        className="controls",
    )


def _heads(state: LinkState, two: ModelPair) -> list[object]:
    """Choices of the head, unless the controls of the pictures have them."""
    return head_choices(state, two.own.layers, two.own.heads) if state.pictures == "point" else []


def _pages(state: LinkState, two: ModelPair) -> list[dcc.Link]:
    """Links to the page of the sentence in each model."""
    if state.sentence >= two.sentences:
        return []
    return [
        dcc.Link(f"all heads of {name}", href=state.of_sentence(state.sentence, model=model.name, other=None).href)
        for name, model in zip(LETTERS, (two.own, two.other), strict=True)
    ]


def _sentence(state: LinkState, two: ModelPair) -> list[object]:
    sentence = stored_sentence(two.own, state.sentence)
    weights = both_patterns(two, state.sentence, state.layer, state.head)
    where = f"compare/{two.other.name}/pattern/{state.sentence}/{state.layer}/{state.head}.csv"
    return [
        html.P(sentence.text, className="sentence-text", dir="auto"),
        *drawn_patterns(two, weights, sentence.wordpieces),
        html.P(
            [
                f"Sentence {state.sentence:,} of {two.sentences:,}, ",
                *([html.Bdi(sentence.label), ", "] if sentence.label else []),
                f"{many(len(sentence.wordpieces), 'token')}; one colour scale. "
                f"Mean divergence {sentence_divergence(weights):.4f} nats. ",
                html.A("All weights as csv", href=file_href(data_link(two.own), where), download=""),
                ".",
                *_named(len(sentence.wordpieces)),
            ],
            className="caption",
        ),
    ]


def _named(tokens: int) -> list[html.Button]:
    """An (i) where the axes do not name every token."""
    step = named_every(tokens)
    return [] if step == 1 else [info("the axes", f"The axes name one token in {step}.")]


UNLIKE = "The models split this sentence into different tokens. Choose a sentence of the corpus."


def typed_patterns(state: LinkState, two: ModelPair, sentences: tuple[Sentence, Sentence]) -> list[object]:
    """The typed sentence through both models, on one scale."""
    own, other = sentences
    if own.wordpieces != other.wordpieces:
        return [html.P(UNLIKE, role="status")]
    weights = typed_weights(sentences, state.layer, state.head)
    return [
        html.P(own.text, className="sentence-text", dir="auto"),
        *drawn_patterns(two, weights, own.wordpieces),
        html.P(
            [
                f"Typed sentence, {many(len(own.wordpieces), 'token')}{', cut to the longest of the corpus' if own.cut else ''}; "
                f"one colour scale. Mean divergence {sentence_divergence(weights):.4f} nats. ",
                html.A("All weights as csv", href=_typed_file(state, two), download=""),
                ".",
            ],
            className="caption",
        ),
    ]


def _typed_file(state: LinkState, two: ModelPair) -> str:
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
