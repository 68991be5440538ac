"""The same sentence in two models: the pattern of one head in each, and what differs."""

from random import randrange
from typing import Any

import numpy as np
from dash import dcc, html

from dashboard.compare.pattern import both_patterns, sentence_divergence
from dashboard.compare.pattern_matrix import named_every, pattern_matrix
from dashboard.compare.search import sentence_href
from dashboard.compare.two import Two
from dashboard.sentence.sentence import stored_sentence
from dashboard.ui.charts import chart
from dashboard.ui.controls import head_choices, number
from dashboard.ui.file_links import file_href
from dashboard.web.view import Place
from store.amounts import many
from store.schema import head_name


def patterns(place: Place, two: Two) -> list[object]:
    """The sentence and the head of the link, where both models have them."""
    address = place.address
    title = html.H2(f"The same sentence in both, {head_name(address.layer, address.head)}", id="sentence-in-both")
    if address.sentence >= two.sentences:
        missing = f"{two.names[1]} was run on the first {two.sentences:,} sentences of the corpus alone. Choose sentence 0 to {two.sentences - 1:,}."
        return [title, _choices(place, two), html.P(missing, role="status")]
    return [title, _choices(place, two), *_sentence(place, two)]


def _choices(place: Place, two: Two) -> html.Div:
    own, count = place.address.sentence, two.sentences
    steps = (
        ("←", "previous sentence", (own - 1) % count),
        ("→", "next sentence", (own + 1) % count),
        ("↻", "a random sentence", randrange(count)),
    )
    links = [
        dcc.Link(text, href=sentence_href(place, to), className="neighbour", title=title) for text, title, to in steps
    ]
    return html.Div(
        [
            *_heads(place),
            number("sentence", "Sentence", own, 0, count - 1, 1),
            html.Nav(links, className="neighbours", **{"aria-label": "Other sentences"}),
            *_pages(place, two),
        ],
        className="controls",
    )


def _heads(place: Place) -> list[object]:
    """Where the pictures are of a head it is chosen there."""
    return head_choices(place) if place.address.pictures == "point" else []


def _pages(place: Place, two: Two) -> list[dcc.Link]:
    """To the page of the sentence in each model."""
    address = place.address
    if address.sentence >= two.sentences:
        return []
    return [
        dcc.Link(f"all heads of {name}", href=address.of_sentence(address.sentence, model=one.name, other=None).href)
        for name, one in zip(two.names, (two.own, two.other), strict=True)
    ]


def _sentence(place: Place, two: Two) -> list[object]:
    address, sentence = place.address, stored_sentence(two.own, place.address.sentence)
    weights = both_patterns(two, address.sentence, address.layer, address.head)
    where = f"compare/{two.other.name}/pattern/{address.sentence}/{address.layer}/{address.head}.csv"
    drawn = [
        _matrix(weights[0], sentence.wordpieces, "this", two.names[0], float(weights.max())),
        _matrix(weights[1], sentence.wordpieces, "other", two.names[1], float(weights.max())),
        _difference(weights[1] - weights[0], sentence.wordpieces),
    ]
    return [
        html.P(sentence.text, className="sentence-text", dir="auto"),
        html.Div(drawn, className="figures"),
        html.P(
            [
                f"Sentence {address.sentence:,} of {two.sentences:,}{f', {sentence.label}' if sentence.label else ''}, "
                f"{many(len(sentence.wordpieces), 'token')}; weights recomputed from the stored queries and keys; both matrices have one colour scale. {_named(len(sentence.wordpieces))}"
                f"Mean divergence of its rows {sentence_divergence(weights):.4f} nats. ",
                html.A("All weights as csv", href=file_href(place, where), download=""),
                ".",
            ],
            className="caption",
        ),
    ]


def _named(tokens: int) -> str:
    """Where the axes have no room for all of them."""
    step = named_every(tokens)
    return "" if step == 1 else f"The axes name one token in {step}; hover names every one. "


def _matrix(weights: Any, tokens: tuple[str, ...], which: str, name: str, most: float) -> html.Div:
    return _figure(f"pattern-{which}", f"{which}: {name}", pattern_matrix(weights, tokens, most=most))


def _difference(less: Any, tokens: tuple[str, ...]) -> html.Div:
    most = float(np.abs(less).max()) or 1.0
    return _figure(
        "pattern-difference", "other - this, in points", pattern_matrix(less, tokens, most=most, diverging=True)
    )


def _figure(of: str, title: str, drawn: Any) -> html.Div:
    label = f"Queries downwards, keys across: weights of {title}"
    return html.Div(
        [html.H3(title), *chart(drawn, of=of, says="", label=label, height=325, turns=True)], className="figure"
    )
