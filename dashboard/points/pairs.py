"""Pairs of a query and a key: the tab Top pairs with the highest-scoring pairs of a head; and the worked example of page Heads."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.canvas.spec import grid_tokens
from dashboard.points.head_tokens import HeadTokens
from dashboard.points.shown import ShownPoints
from dashboard.points.similar import excerpt
from dashboard.ui.controls import info
from dashboard.ui.glossary import defined
from dashboard.ui.markup import Unmade, file_links, heading
from dashboard.ui.text import decimal, first_of
from dashboard.web.http import data_link
from dashboard.web.results import cached
from store import Corpus
from store.repository.errors import NotIngested
from store.schema.model import head_name
from store.text import Piece

SHOWN = 40
_RANKING = defined(
    "score",
    "Listed are the query-key pairs of one sentence with the largest scores, each pair of wordpieces once, without [CLS], [SEP] and "
    "self-attention.",
)
_ADDED = " Logits include what this model adds by the distance of two tokens."
#: Labels of the heads that are tried first: an example of these needs no grammar.
CLEAR = ("previous", "next")
#: Heads and sentences that are tried.
HEADS, SENTENCES = 6, 24
#: Tokens of a sentence at most: an example is read at a glance.
LONGEST = 128
#: Wordpieces of the sentence on each side of the pair; pixels of the panel's image.
AROUND, SIDE = 9, 190
Places = NDArray[np.float32]


@dataclass(frozen=True)
class Pair:
    """A query and a key of one sentence: token numbers in the corpus and positions in the sentence."""

    rank: int
    query_token: int
    key_token: int
    query_piece: str
    key_piece: str
    query_position: int
    key_position: int
    sentence: int
    logit: float
    weight: float


def stored_pairs(corpus: Corpus, layer: int, head: int, *, limit: int = 100) -> list[Pair]:
    """The highest-scoring pairs of a head that the store has, in order. Raises a StoreError where the store has none yet."""
    stored = corpus.pairs.isel(layer=layer, head=head, rank=slice(0, limit))
    present = stored.query_token.values >= 0
    query, key = (stored[name].values[present] for name in ("query_token", "key_token"))
    tokens, query_of, key_of = corpus.tokens, query.tolist(), key.tolist()
    position, sentence = tokens.position.values, tokens.sentence_index.values
    number = dict(zip([*query_of, *key_of], np.searchsorted(corpus.rows, [*query_of, *key_of]).tolist(), strict=True))
    pieces = corpus.wordpieces(query), corpus.wordpieces(key)
    strengths = stored.logit.values[present].tolist(), stored.weight.values[present].tolist()
    return [
        Pair(
            rank=rank + 1,
            query_token=number[q],
            key_token=number[k],
            query_piece=pieces[0][rank],
            key_piece=pieces[1][rank],
            query_position=int(position[q]),
            key_position=int(position[k]),
            sentence=int(sentence[q]),
            logit=strengths[0][rank],
            weight=strengths[1][rank],
        )
        for rank, (q, k) in enumerate(zip(query_of, key_of, strict=True))
    ]


def panel(shown: ShownPoints) -> list[object]:
    """The tab Top pairs."""
    title = html.H2(
        [
            "Highest-scoring pairs in the corpus",
            info("highest-scoring pairs", _RANKING + (_ADDED if shown.corpus.bias else "")),
        ]
    )
    try:
        pairs = stored_pairs(shown.corpus, shown.state.layer, shown.state.head)
    except NotIngested as error:
        return [title, html.P(Unmade.of(error, shown.ingest).text)]
    head = heading(("query", "key", "score", "weight", "show", "sentence"), {"score", "weight", "sentence"})
    rows = [_row(shown, pair) for pair in pairs[:SHOWN]]
    return [
        title,
        html.Table([head, html.Tbody(rows)], className="rows"),
        html.P(
            f"The first {len(rows)} of {len(pairs)}, over {first_of(shown.corpus, 'sentence')}.",
            className="caption",
        ),
        file_links(data_link(shown.corpus), "All of them", f"pairs/{shown.state.layer}/{shown.state.head}"),
    ]


def _row(shown: ShownPoints, pair: Pair) -> html.Tr:
    """A row of the table: links show the pair in the picture and open its sentence."""
    marks = f"{pair.query_position}-{pair.key_position}"
    state = shown.state.with_(token=pair.query_token, role="query", marks=marks, tab="point", lines="sentence", at=None)
    return html.Tr(
        [
            html.Td(html.Bdi(pair.query_piece)),
            html.Td(html.Bdi(pair.key_piece)),
            html.Td(decimal(pair.logit), className="number"),
            html.Td(f"{100 * pair.weight:.0f}%", className="number"),
            html.Td(dcc.Link("show", href=state.href, title="Show the pair in the picture")),
            html.Td(_sentence(shown, pair), className="number"),
        ]
    )


def _sentence(shown: ShownPoints, pair: Pair) -> dcc.Link:
    state = shown.state.of_sentence(
        pair.sentence,
        queries=str(pair.query_position),
        role="query",
        toward=pair.key_position,
        heads=str(shown.state.head),
    )
    return dcc.Link(f"{pair.sentence:,}", href=state.href, title="Open the sentence with the pair selected")


@dataclass(frozen=True)
class Criteria:
    """Criteria of a pair that makes a good example.

    Attributes
    ----------
    weight, near
        Least attention weight, and largest share of all keys that are nearer to the query than its key.
    apart, together, border
        Smallest and largest distance of the two dots, and their least distance from the border, as shares of the panel's side.
    """

    weight: float = 0.3
    near: float = 0.1
    apart: float = 0.14
    together: float = 0.3
    border: float = 0.06


#: Criteria of the worked example on page Heads.
CRITERIA = Criteria()


@dataclass(frozen=True)
class WorkedExample:
    """A query and a key of one sentence in a head, and their places in the picture: x and y, 0 to 1, y up."""

    layer: int
    head: int
    label: str
    #: Number of the query's token in the corpus.
    token: int
    pieces: tuple[Piece, ...]
    query: int
    key: int
    #: Rounded to a hundredth.
    weight: float
    query_place: tuple[float, float]
    key_place: tuple[float, float]


@cached
def worked_example(corpus: Corpus, view: str, criteria: Criteria = CRITERIA) -> WorkedExample | None:
    """The pair with the largest weight that meets the criteria, in the first head with such a pair; None without any."""
    return next(
        (found for head in _clear_heads(corpus) if (found := _example_of_head(corpus, view, *head, criteria))), None
    )


def _clear_heads(corpus: Corpus) -> list[tuple[int, int]]:
    """The heads to try: those that attend to a neighbouring token, then those with the largest weights."""
    labels = corpus.head_labels.values
    largest = corpus.head_statistic.sel(source="all", statistic="confidence").values
    order = sorted(np.ndindex(labels.shape), key=lambda head: (labels[head] not in CLEAR, -largest[head]))
    return [(int(layer), int(head)) for layer, head in order[:HEADS]]


def _example_of_head(corpus: Corpus, view: str, layer: int, head: int, criteria: Criteria) -> WorkedExample | None:
    tokens = grid_tokens(corpus)
    places = HeadTokens(corpus, tokens, layer, head).places(view)[0, ..., :2]
    pairs = [
        pair
        for first, sentence in _sentences(corpus, tokens)
        for pair in _pairs(corpus, layer, head, sentence, first, places, criteria)
    ]
    if not pairs:
        return None
    weight, _, first, sentence, query, key = max(pairs)
    return WorkedExample(
        layer=layer,
        head=head,
        label=str(corpus.head_labels.values[layer, head]),
        token=first + query,
        pieces=tuple(corpus.sentence_pieces(sentence)),
        query=query,
        key=key,
        weight=weight / 100,
        query_place=_pair_of(places[first + query, 0]),
        key_place=_pair_of(places[first + key, 1]),
    )


def _pair_of(place: Places) -> tuple[float, float]:
    return float(place[0]), float(place[1])


def _sentences(corpus: Corpus, tokens: int) -> Iterator[tuple[int, int]]:
    """The first sentences whose tokens are all drawn: number of the first token, and number of the sentence."""
    first = 0
    for sentence in range(min(SENTENCES, corpus.n_sentences)):
        length = int(corpus.sentences.row_size.values[sentence])
        if first + length > tokens:
            return
        yield first, sentence
        first += length


def _pairs(
    corpus: Corpus, layer: int, head: int, sentence: int, first: int, places: Places, criteria: Criteria
) -> Iterator[tuple[int, float, int, int, int, int]]:
    """Pairs of words in a sentence that meet the criteria.

    Each is the weight in per cent, minus the distance, the first token, the sentence, and the positions of query and key.
    """
    if corpus.sentences.row_size.values[sentence] > LONGEST:
        return
    weights = corpus.weights(sentence, layer=layer, head=head)
    words = np.array([piece.text.isalpha() and not piece.continues for piece in corpus.sentence_pieces(sentence)])
    large = (weights >= criteria.weight) & words[:, None] & words[None, :] & ~np.eye(len(words), dtype=bool)
    for query, key in np.argwhere(large).tolist():
        pair = np.stack([places[first + query, 0], places[first + key, 1]])
        if _are_near(pair, places[:, 1], criteria):
            yield round(100 * float(weights[query, key])), -_apart(pair), first, sentence, query, key


def _apart(pair: Places) -> float:
    return float(np.linalg.norm(pair[1] - pair[0]))


def _are_near(pair: Places, keys: Places, criteria: Criteria) -> bool:
    """Whether few keys are nearer to the query than its key, and both dots stand apart and well within the panel."""
    nearer = np.linalg.norm(keys - pair[0], axis=-1) < _apart(pair)
    inside = bool(((pair > criteria.border) & (pair < 1 - criteria.border)).all())
    return inside and criteria.apart <= _apart(pair) <= criteria.together and float(nearer.mean()) <= criteria.near


def example_button() -> html.Button:
    """The button that shows the worked example again."""
    shows: Any = {"data-example": "show"}
    return html.Button("How to read this", type="button", className="link", **shows)


def example_card(shown: ShownPoints, example: WorkedExample) -> html.Div:
    """The worked example beside or below the picture: nothing moves when a reader shows or hides it (assets/web/room.mjs)."""
    named: Any = {"aria-label": "How to read a panel"}
    leaves: Any = {"data-example": "hide"}
    card = html.Section(
        [
            html.H2("How to read a panel"),
            _panel(shown, example),
            _steps(example),
            _sentence_of_example(example),
            html.Div(
                [html.Button("Got it", type="button", **leaves), _head_link(shown, example)], className="example-end"
            ),
        ],
        className="example",
        **named,
    )
    return html.Div(card, className="example-place")


def _steps(example: WorkedExample) -> html.Ol:
    query, key = (f"“{example.pieces[position].text}”" for position in (example.query, example.key))
    return html.Ol(
        [
            html.Li(["This dot is a ", html.B("query", className="query"), f", {query}."]),
            html.Li(["This dot is a ", html.B("key", className="key"), f", {key}."]),
            html.Li(f"They are near because the query's attention goes to that key (weight {example.weight:.2f})."),
        ]
    )


def _sentence_of_example(example: WorkedExample) -> html.P:
    words: Any = excerpt(example.pieces, {example.query: "query", example.key: "key"}, around=AROUND)
    return html.P(words, className="example-sentence")


def _head_link(shown: ShownPoints, example: WorkedExample) -> dcc.Link:
    state = shown.state.on("head").with_(layer=example.layer, head=example.head, token=example.token, role="query")
    label = f", labelled {example.label}" if example.label else ""
    return dcc.Link(f"Open it in {head_name(example.layer, example.head)}{label}", href=state.href)


def _panel(shown: ShownPoints, example: WorkedExample) -> html.Div:
    """The head's points, faint, with both dots, their numbers and the line between them."""
    path = f"raster/{shown.view}/{example.layer}/{example.head}.png"
    query = f"tokens={grid_tokens(shown.corpus)}&side={SIDE}"
    images = [
        html.Div(
            className=f"of-{scheme}",
            style={"backgroundImage": f"url({data_link(shown.corpus)}/{path}?{query}&scheme={scheme})"},
        )
        for scheme in ("light", "dark")
    ]
    dots = [
        html.Span(number, className=f"dot {role}", style=_at(*place))
        for number, role, place in (("1", "query", example.query_place), ("2", "key", example.key_place))
    ]
    hidden: Any = {"aria-hidden": "true"}
    return html.Div([*images, _line(example), *dots], className="example-panel", **hidden)


def _at(x: float, y: float) -> dict[str, str]:
    return {"left": f"{100 * x:.2f}%", "top": f"{100 * (1 - y):.2f}%"}


def _line(example: WorkedExample) -> html.Span:
    """The line from the query to its key, turned by the angle between them."""
    across, up = (key - query for query, key in zip(example.query_place, example.key_place, strict=True))
    long, turn = np.hypot(across, up), np.degrees(np.arctan2(-up, across))
    turned = {"width": f"{100 * long:.2f}%", "transform": f"rotate({turn:.1f}deg)"}
    return html.Span(className="line", style=_at(*example.query_place) | turned)
