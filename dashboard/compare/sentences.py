"""A sentence of the corpus, or a typed one, in two models, and the search for sentences in which a head differs.

A head's patterns in both models are matrices and head views on one scale, their difference, and a table. In a head view queries are left
and keys right, with a line for each weight.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.compare.data import head_divergence, head_sample
from dashboard.compare.two_models import LETTERS, MINUS, ModelPair, lettered, marked, sample_caption
from dashboard.sentence.checkpoint import longest_typed
from dashboard.sentence.controls import draw_ruler_of_both, draw_text
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.finder import RANKINGS, Ranking, Search, ranking_by
from dashboard.sentence.sentence import Sentence, stored_sentence
from dashboard.ui.charts import DIVERGING, NOTE, RAMP, Layout, chart, colour_bar, every, layout, square
from dashboard.ui.controls import head_choices, info, number, other_sentences, text_input
from dashboard.ui.files import Table
from dashboard.ui.markup import file_href
from dashboard.ui.text import has_part, significant
from dashboard.web.admission import reader_left
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.state import ORDER, LinkState
from store.kernels.heads import row_divergence
from store.phrases import as_label, many
from store.schema.model import head_name
from store.text import Window

Floats = NDArray[np.float32]
#: Most tokens of a head view: of a longer sentence only the matrices are legible.
MOST_TOKENS = 64
#: Pixels of a token, and around the tokens.
LINE, AROUND = 17, 20
#: Steps of a line's opacity and width; lines below the first step are not drawn.
STEPS = 8
#: Colours of A and B, as in compare.css.
COLOURS = ("#009E73", "#AA6BE0")
_WIDTHS = "The width and opacity of a line grow with the weight, up to the largest weight of both models; weights below {:.1%} have none."
#: Most tokens named on an axis, whose names do not touch in a narrow window; of more, every second, third ... is named.
NAMED = 18
#: Largest weight below which the colour bar has a decimal.
FINE = 0.05
#: Pixels for the colour bar: the same for differences and weights, so that all matrices have one size.
BESIDE = 78
#: The ranking by divergence of the head's patterns: the default of this page, so links omit it.
DIVERGENCE = "divergence"
UNLIKE = "The models split this sentence into different tokens. Choose a sentence of the corpus."


def head_views(two: ModelPair, weights: Floats, tokens: Sequence[str]) -> list[object]:
    """The lines of both models for weights (2, query, key); a note instead for a long sentence."""
    title = html.H3(["Head views on one scale", info("the head views", _WIDTHS.format(least(weights)))])
    if len(tokens) > MOST_TOKENS:
        note = f"Lines are drawn for at most {MOST_TOKENS} tokens. Choose a shorter sentence, or read the matrices."
        return [title, html.P(note, className="caption")]
    figures = [_view(two, place, weights, tokens) for place in (0, 1)]
    return [title, html.Div(figures, className="figures halves")]


def least(weights: Floats) -> float:
    """The smallest weight that has a line."""
    return float(weights.max()) / STEPS


def _view(two: ModelPair, place: int, weights: Floats, tokens: Sequence[str]) -> html.Div:
    figure = head_lines(weights[place], tokens, most=float(weights.max()), colour=COLOURS[place])
    drawn: Any = chart(
        figure,
        name=f"lines-{LETTERS[place].lower()}",
        caption="",
        label=f"Lines from queries, left, to keys, right: weights of {lettered(two)[place]}",
        height=AROUND + 2 * LINE + LINE * len(tokens),
    )
    return html.Div([html.H3(marked(two, place)), *drawn], className="figure")


def head_lines(weights: Floats, tokens: Sequence[str], *, most: float, colour: str) -> go.Figure:
    """Lines from each query to the keys it attends to (query, key); `most` is the weight of the strongest line."""
    lines = [_lines_of_step(queries, keys, step, colour) for step, queries, keys in _steps(weights, most)]
    return go.Figure(lines, _axes_of_lines(tokens))


def _steps(weights: Floats, most: float) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Queries and keys of each step of weights, 1 to `STEPS`, the strongest last."""
    steps = np.minimum((STEPS * weights / (most or 1)).astype(int), STEPS)
    for step in range(1, STEPS + 1):
        queries, keys = np.nonzero(steps == step)
        yield step, queries, keys


def _lines_of_step(queries: NDArray[np.intp], keys: NDArray[np.intp], step: int, colour: str) -> go.Scatter:
    """The lines of one step as one trace, with a gap between lines."""
    gap = np.full(len(queries), np.nan)
    share = step / STEPS
    return go.Scatter(
        x=np.tile([0, 1, np.nan], len(queries)),
        y=np.stack([queries, keys, gap], axis=1).ravel(),
        mode="lines",
        line={"color": colour, "width": 0.75 + 2.25 * share},
        opacity=0.15 + 0.85 * share,
        hoverinfo="skip",
    )


def _axes_of_lines(tokens: Sequence[str]) -> Layout:
    """Queries as ticks on the left, keys as texts on the right."""
    labels, places = list(map(as_label, tokens)), list(range(len(tokens)))
    down = {
        "tickvals": places,
        "ticktext": labels,
        "range": [len(tokens) - 0.5, -1.2],
        "tickfont": {"size": NOTE},
    }
    across = {"range": [0, 1], "showticklabels": False}
    text: Layout = {"xref": "x", "yref": "y", "showarrow": False, "font": {"size": NOTE}}
    keys = [
        text | {"x": 1, "y": place, "text": label, "xanchor": "left", "xshift": 4}
        for place, label in zip(places, labels, strict=True)
    ]
    heads = [
        text | {"x": 0, "y": -0.9, "text": "query", "xanchor": "right", "xshift": -4},
        text | {"x": 1, "y": -0.9, "text": "key", "xanchor": "left", "xshift": 4},
    ]
    return layout(across, down, margin={"l": 92, "r": 92, "t": 4, "b": 16}, annotations=[*keys, *heads])


def both_patterns(two: ModelPair, sentence: int, layer: int, head: int, first: int = 0) -> Floats:
    """The weights of a head in both models, this one first: (2, query_token, key_token), the queries of the window at `first`."""
    own, other = (stored_sentence(model, sentence) for model in (two.own, two.other))
    return typed_weights((own, other), layer, head, first)


def sentence_divergence(patterns: Floats) -> float:
    """Mean over rows of the Jensen-Shannon divergence, in nats."""
    return float(row_divergence(patterns[0], patterns[1]).mean())


def patterns_table(wordpieces: Sequence[str], weights: Floats, first: int = 0) -> Table:
    """A row for each query and key of weights (2, query_token, key_token): in A (`a`), in B (`b`), and B - A.

    A long sentence has rows for the window at `first` alone.
    """
    window = Window.at(first, len(wordpieces))
    pieces, positions = np.array(window.of(wordpieces), object), window.positions
    own, other = window.of(weights.swapaxes(0, 2)).swapaxes(0, 2).reshape(2, -1)
    return {
        "query": np.repeat(pieces, len(pieces)),
        "query_position": np.repeat(positions, len(pieces)),
        "key": np.tile(pieces, len(pieces)),
        "key_position": np.tile(positions, len(pieces)),
        "a": np.array(significant(own.tolist())),
        "b": np.array(significant(other.tolist())),
        "difference": np.array(significant((other - own).tolist())),
    }


def pattern_matrix(
    weights: NDArray[np.floating], tokens: Sequence[str], *, most: float, diverging: bool = False, first: int = 0
) -> go.Figure:
    """A heat map of weights (query, key) with colours up to `most`, or of differences in points, centred at 0.

    `first` is the position of the first token.
    """
    labels = list(map(as_label, tokens))
    names = [f"{label} ({position})" for position, label in enumerate(labels, first)]
    # d3's sign format writes +0.0 too.
    number, scale = ("%{z:.1f} points", 100) if diverging else ("%{z:.1%}", 1)
    heat: Any = go.Heatmap(
        z=scale * weights,
        x=names,
        y=names,
        zmin=-scale * most if diverging else 0,
        zmax=scale * most,
        colorscale=DIVERGING if diverging else RAMP,
        colorbar=_bar(most, diverging),
        hovertemplate=f"from %{{y}} to %{{x}}: {number}<extra></extra>",
    )
    figure = square(go.Figure(heat, _axes(names, labels)))
    return figure.update_yaxes(constraintoward="top").update_xaxes(constraintoward="left")


def _axes(names: list[str], tokens: Sequence[str]) -> Layout:
    """Axes with keys across and queries down."""
    step = named_every(len(tokens))
    named = {
        "type": "category",
        "tickvals": names[::step],
        "ticktext": list(tokens[::step]),
        "tickfont": {"size": NOTE},
    }
    across, down = named | {"tickangle": 90, "title": "key"}, named | {"autorange": "reversed", "title": "query"}
    return layout(across, down, margin={"l": 78, "r": BESIDE, "t": 8, "b": 78})


def named_every(tokens: int) -> int:
    """The step of the tokens named on the axes: 1 names every token, 2 every second."""
    return every(tokens, NAMED)


def _bar(most: float, diverging: bool) -> Layout:
    """The colour bar; with a decimal for small weights."""
    if diverging:
        return colour_bar("points")
    return colour_bar("%") | {"tickformat": f".{'1' if most < FINE else '0'}%"}


def drawn_patterns(two: ModelPair, weights: Floats, tokens: tuple[str, ...], first: int = 0) -> list[object]:
    """Weights (2, query, key) of A and of B on one scale, their difference, and their head views."""
    drawn = [*(_matrix(two, place, weights, tokens, first) for place in (0, 1)), _difference(weights, tokens, first)]
    return [html.Div(drawn, className="figures"), *head_views(two, weights, tokens)]


def _matrix(two: ModelPair, place: int, weights: Floats, tokens: tuple[str, ...], first: int) -> html.Div:
    """The weights of one of the models, on the scale of both."""
    drawn = pattern_matrix(weights[place], tokens, most=float(weights.max()), first=first)
    return _figure(f"pattern-{LETTERS[place].lower()}", marked(two, place), lettered(two)[place], drawn)


def _difference(weights: Floats, tokens: tuple[str, ...], first: int) -> html.Div:
    change = weights[1] - weights[0]
    most = float(np.abs(change).max()) or 1.0
    return _figure(
        "pattern-difference",
        html.Span(f"{MINUS}, in points"),
        f"{MINUS}, in points",
        pattern_matrix(change, tokens, most=most, diverging=True, first=first),
    )


def _figure(name: str, title: html.Span, text: str, drawn: Any) -> html.Div:
    label = f"Queries downwards, keys across: weights of {text}"
    shown: Any = chart(drawn, name=name, caption="", label=label, height=325, turns=True)
    return html.Div([html.H3(title), *shown], className="figure")


def ranked_by(state: LinkState, two: ModelPair) -> str:
    """Name of the ranking, by default divergence where heads have counterparts."""
    return state.by or standard_ranking(two)


def standard_ranking(two: ModelPair) -> str:
    """Name of the default ranking."""
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
        ranking, among = _name_ranking(ranking_by(two.own, by, state.layer, state.head)), two.sentences
    note, head = _search_note(two, by), state.head
    return Search(own | names, by, ranking, among, lambda sentence: sentence_href(state, sentence), note, head)


def sentence_href(state: LinkState, sentence: int) -> str:
    """A link to the page with a sentence, scrolled to its patterns; marks and the camera are of the pictures above."""
    shown = state.of_sentence(sentence, marks=state.marks).with_(page=state.page, at=state.at)
    return f"{shown.href}#sentence-in-both"


def _divergence_ranking(state: LinkState, two: ModelPair) -> Ranking:
    values = head_divergence(two, state.layer, state.head)
    return Ranking("divergence, nats", values, "{:.4f}".format)


def _name_ranking(ranking: Ranking | None) -> Ranking | None:
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
    window = _window(sentence, state.window)
    weights = both_patterns(two, state.sentence, state.layer, state.head, window.first)
    where = f"compare/{two.other.name}/pattern/{state.sentence}/{state.layer}/{state.head}.csv"
    return [
        draw_text(sentence, sentence.text),
        *_drawn(two, state, weights, sentence),
        html.P(
            [
                f"Sentence {state.sentence:,} of {two.sentences:,} (counted from 0), ",
                *([html.Bdi(sentence.label), ", "] if sentence.label else []),
                f"{many(len(sentence.wordpieces), 'token')}; one colour scale. {_mean_divergence(weights, window)} ",
                html.A(_all(window), href=file_href(data_link(two.own), where, _first(window)), download=""),
                ".",
                *about_axes(window.stop - window.first),
            ],
            className="caption",
        ),
    ]


def about_axes(tokens: int) -> list[html.Button]:
    """An (i) where the axes do not name every token."""
    step = named_every(tokens)
    return [] if step == 1 else [info("the axes", f"The axes name one token in {step}.")]


def typed_patterns(state: LinkState, two: ModelPair, sentences: tuple[Sentence, Sentence]) -> list[object]:
    """The typed sentence through both models, on one scale."""
    own, other = sentences
    if own.wordpieces != other.wordpieces:
        return [html.P(UNLIKE, role="status")]
    window = _window(own, state.window)
    weights = typed_weights(sentences, state.layer, state.head, window.first)
    return [
        draw_text(own, own.text),
        *_drawn(two, state, weights, own),
        html.P(
            [
                f"Typed sentence, {many(len(own.wordpieces), 'token')}{', cut at what the models and this server read' if own.cut else ''}; "
                f"one colour scale. {_mean_divergence(weights, window)} ",
                html.A(_all(window), href=_typed_file(state, two, _first(window)), download=""),
                ".",
            ],
            className="caption",
        ),
    ]


def _drawn(two: ModelPair, state: LinkState, weights: Floats, sentence: Sentence) -> list[object]:
    """The patterns of the window for weights (2, query, key) with every key, and the ruler of a long sentence."""
    window = _window(sentence, state.window)
    shown = weights[..., window.first : window.stop]
    ruler = draw_ruler_of_both(state, window, list(weights), LETTERS)
    return [*ruler, *drawn_patterns(two, shown, window.of(sentence.wordpieces), window.first)]


def _mean_divergence(weights: Floats, window: Window) -> str:
    part = "" if window.is_whole else " of these tokens"
    return f"Mean divergence{part} {sentence_divergence(weights):.4f} nats."


def _all(window: Window) -> str:
    return "All weights as csv" if window.is_whole else "Weights of these tokens as csv"


def _first(window: Window) -> dict[str, str | None]:
    return {"window": str(window.first) if window.first else None}


def _typed_file(state: LinkState, two: ModelPair, of_window: dict[str, str | None]) -> str:
    return file_href(
        data_link(two.own),
        f"compare/{two.other.name}/typed/{state.layer}/{state.head}.csv",
        {"text": state.text, **of_window},
    )


def most_read(two: ModelPair) -> int:
    """Most wordpieces of a typed text that this server reads in both models."""
    return min(map(longest_typed, (two.own, two.other)))


def typed_sentences(served_store: ServedStore, two: ModelPair, text: str) -> tuple[Sentence, Sentence]:
    """A text through both models. Raises `Refusal` where a model cannot run it."""
    typed, most = served_store.service(TypedSentences), most_read(two)
    own, other = (typed.encode(model, text, "", reader_left, most=most) for model in (two.own, two.other))
    if (read := min(len(own.wordpieces), len(other.wordpieces))) < max(len(own.wordpieces), len(other.wordpieces)):
        own, other = (typed.encode(model, text, "", reader_left, most=read) for model in (two.own, two.other))
    return own, other


def typed_weights(sentences: tuple[Sentence, Sentence], layer: int, head: int, first: int = 0) -> Floats:
    """The weights of a head in both models: (2, query_token, key_token), the queries of the window at `first`."""
    return np.stack([each.rows(layer, _window(each, first).positions)[head] for each in sentences])


def _window(sentence: Sentence, first: int | None) -> Window:
    return Window.at(first or 0, len(sentence.wordpieces))
