"""The same sentence in two models: the pattern of one head in each, and what differs."""

from random import randrange
from typing import Any

import numpy as np
from dash import dcc, html

from dashboard.charts import chart
from dashboard.compare.divergence import divergence_sample
from dashboard.compare.pattern import both_patterns, most_different, sentence_divergence
from dashboard.compare.sample import said_of
from dashboard.compare.two import Two
from dashboard.controls import head_choices, number
from dashboard.figures.pattern_matrix import pattern_matrix
from dashboard.file_links import file_href
from dashboard.place import Place
from dashboard.sentence.sentence import stored_sentence
from store.schema import head_name

#: Sentences that are listed.
LISTED = 8


def patterns(place: Place, two: Two) -> list[object]:
    """The sentence of the link, where both models have it."""
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
        dcc.Link(text, href=place.address.with_(sentence=to).href, className="neighbour", title=title)
        for text, title, to in steps
    ]
    return html.Div(
        [
            *(head_choices(place) if place.address.pictures == "point" else []),
            number("sentence", "Sentence", own, 0, count - 1, 1),
            html.Nav(links, className="neighbours", **{"aria-label": "Other sentences"}),
            *_pages(place, two),
        ],
        className="controls",
    )


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
                f"{len(sentence.wordpieces)} tokens; weights recomputed from the stored queries and keys, in one scale of colours. "
                f"Mean divergence of its rows {sentence_divergence(weights):.4f} nats. ",
                html.A("All weights as csv", href=file_href(place, where), download=""),
                ".",
            ],
            className="caption",
        ),
    ]


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
        [html.H3(title), *chart(drawn, of=of, says="", label=label, height=400, turns=True)], className="figure"
    )


def different_sentences(place: Place, two: Two) -> list[object]:
    """Where the head's attention differs most, each a link to show it here."""
    address = place.address
    found = most_different(two, address.layer, address.head, LISTED)
    head = html.Thead(html.Tr([html.Th("sentence"), html.Th("divergence, nats", className="number"), html.Th("text")]))
    rows = [_row(place, two, *one) for one in found]
    return [
        html.H3(f"Sentences in which {head_name(address.layer, address.head)} differs most"),
        html.Table([head, html.Tbody(rows)], className="rows"),
        html.P(
            f"Mean divergence of a sentence's rows, of {said_of(two, divergence_sample(two))}.", className="caption"
        ),
    ]


def _row(place: Place, two: Two, sentence: int, value: float) -> html.Tr:
    link = dcc.Link(f"{sentence:,}", href=place.address.with_(sentence=sentence).href)
    text = str(two.own.sentences.text.values[sentence])
    return html.Tr([html.Td(link), html.Td(f"{value:.4f}", className="number"), html.Td(text, dir="auto")])
