"""A clicked point: its card, the positions of its sentence, its strongest weights and highest-scoring keys, and the tab Point."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.notes.listing import note_panel
from dashboard.notes.target import TokenTarget
from dashboard.points.picture import NEAR, marks
from dashboard.points.shown import ShownPoints
from dashboard.points.similar import SEARCHED, FoundToken, Point, groups_table, highest_scores, linked_pieces, logits
from dashboard.ui.controls import number
from dashboard.ui.markup import heading
from dashboard.ui.text import decimal
from dashboard.web.results import cached
from dashboard.web.state import MOST_TOP, Lines, LinkState
from store import Corpus
from store.kernels.statistics import entropy
from store.schema.model import ROLES

#: Most attended keys of a query, or queries of a key, in the card.
PARTNERS = 5
#: Tokens of the same wordpiece among the highest-scoring keys.
OF_ONE_PIECE = 3
#: Candidate scores for each listed token: candidates of a wordpiece that is already listed often enough are dropped.
CANDIDATES = 32
#: Queries whose weights are computed at once.
AT_ONCE = 1_024
Floats = NDArray[np.floating]
#: A function from positions of queries to their attention weights (query_token, key_token) over all keys.
WeightsOf = Callable[[NDArray[np.integer]], Floats]
EMPTY = "Click a point in the picture (or press p, then Enter) for its sentence, strongest weights and highest-scoring keys."


@dataclass(frozen=True)
class Partner:
    """A token of the same sentence, and the attention between it and the point."""

    wordpiece: str
    position: int
    weight: float


@dataclass(frozen=True)
class PointCard:
    """A token of a head, as a query or as a key."""

    role: str
    wordpiece: str
    position: int
    sentence: int
    label: str
    wordpieces: list[str]
    #: The text that each wordpiece adds to the sentence, with its space.
    texts: list[str]
    received: float
    entropy: float
    partners: list[Partner]


def point_card(corpus: Corpus, *, layer: int, head: int, role: str, token: int) -> PointCard:
    """The card of the `token`-th token of the corpus (padding not counted); its weights are recomputed."""
    row = int(corpus.rows[token])
    sentence = int(corpus.tokens.sentence_index.values[row])
    position = int(corpus.tokens.position.values[row])
    weights_of = partial(corpus.weights, sentence, layer=layer, head=head)
    pieces = corpus.sentence_pieces(sentence)
    wordpieces = [piece.name for piece in pieces]
    own = weights_of(queries=np.array([position]))
    column = np.concatenate(
        [block[:, position] for block in _blocks(lambda rows: weights_of(queries=rows), len(pieces))]
    )
    weights = own[0] if role == "query" else column
    return PointCard(
        role=role,
        wordpiece=wordpieces[position],
        position=position,
        sentence=sentence,
        label=corpus.label_name(sentence),
        wordpieces=wordpieces,
        texts=[piece.spaced for piece in pieces],
        received=round(float(column.sum()), 3),
        entropy=round(float(entropy(own)[0]), 3),
        partners=_partners(weights, wordpieces),
    )


def _partners(weights: NDArray[np.float32], wordpieces: list[str]) -> list[Partner]:
    strongest = _strongest(weights, PARTNERS, 0)
    return [Partner(wordpieces[position], position, round(weight, 4)) for position, weight in strongest]


@dataclass(frozen=True)
class Near:
    """A token whose key has one of the largest logits with the point's query; of a point that is a key, a token by its query.

    `score` is the logit q.k / sqrt(channels).
    """

    token: int
    piece: str
    position: int
    sentence: int
    score: float
    place: list[float]
    same_sentence: bool


def focus(
    corpus: Corpus, view: str, point: Point, *, top: int, least: float, lines: Lines, near: int, most: int = SEARCHED
) -> dict[str, object]:
    """JSON-ready: the point's position, the overlay of its sentence, and the `near` highest-scoring tokens of the corpus."""
    row = int(corpus.rows[point.token])
    sentence = int(corpus.tokens.sentence_index.values[row])
    rows = corpus.sentence_rows(sentence)
    position = row - rows.start
    places = corpus.places(view, np.arange(rows.start, rows.stop), layer=point.layer, head=point.head)
    overlay_lines = sentence_lines(
        corpus, (sentence, position), (point.layer, point.head), role=point.role, lines=lines, top=top, least=least
    )
    searched = min(corpus.n_tokens, most)
    return {
        **sentence_overlay(position, corpus.wordpieces(rows), places, overlay_lines),
        "near": [vars(token) for token in nearest(corpus, view, point, searched=searched, count=near)],
        "searched": searched,
        "tokens": corpus.counted_tokens,
    }


def sentence_overlay(
    position: int, pieces: Sequence[str], places: Floats, lines: list[tuple[int, int, float]]
) -> dict[str, object]:
    """JSON-ready: a token's position, and the wordpieces, the places in the picture and the lines of its sentence.

    `places` are (token, role, component).
    """
    return {
        "position": position,
        "pieces": pieces,
        "places": np.round(places.astype(np.float64), 5).tolist(),
        "lines": [[query, key, round(weight, 4)] for query, key, weight in lines],
    }


def sentence_lines(
    corpus: Corpus,
    place: tuple[int, int],
    of_head: tuple[int, int],
    *,
    role: str,
    lines: Lines,
    top: int,
    least: float,
) -> list[tuple[int, int, float]]:
    """`strongest_lines` of a head (layer, head) for a token (sentence, position) of the corpus."""
    (sentence, position), (layer, head) = place, of_head
    span = corpus.sentence_rows(sentence)
    return strongest_lines(
        lambda queries: corpus.weights(sentence, layer=layer, head=head, queries=queries),
        span.stop - span.start,
        position,
        role=role,
        lines=lines,
        top=top,
        least=least,
    )


def strongest_lines(
    weights_of: WeightsOf, tokens: int, position: int, *, role: str, lines: Lines, top: int, least: float
) -> list[tuple[int, int, float]]:
    """Query, key and weight of the lines drawn in a sentence of `tokens` tokens, the strongest line of a token first.

    For a query its `top` keys, for a key its `top` queries, for the sentence the `top` keys of every query; no weight below
    `least`. The weights of a long sentence are never all in memory at once.
    """
    if lines == "sentence":
        rows = (row for block in _blocks(weights_of, tokens) for row in block)
        return [(query, *line) for query, row in enumerate(rows) for line in _strongest(row, top, least)]
    if role == "query":
        return [(position, *line) for line in _strongest(weights_of(np.array([position]))[0], top, least)]
    column = np.concatenate([block[:, position] for block in _blocks(weights_of, tokens)])
    return [(query, position, weight) for query, weight in _strongest(column, top, least)]


def _blocks(weights_of: WeightsOf, tokens: int) -> Iterator[Floats]:
    """The weights of all queries (query_token, key_token), some at a time."""
    for first in range(0, tokens, AT_ONCE):
        yield weights_of(np.arange(first, min(first + AT_ONCE, tokens)))


@cached
def nearest(corpus: Corpus, view: str, point: Point, *, searched: int, count: int) -> list[Near]:
    """Tokens among the first `searched` with the largest logits with the point, the largest first."""
    scores = logits(corpus, point, searched)
    pieces = corpus.tokens.token_id.values[corpus.rows[:searched]]
    tokens = _best(scores, pieces, count)
    if not len(tokens):
        return []
    ascending, place = np.unique(tokens, return_inverse=True)
    places = corpus.places(view, corpus.rows[ascending], layer=point.layer, head=point.head)[place]
    other = 1 - ROLES.index(point.role)
    sentence = int(corpus.tokens.sentence_index.values[corpus.rows[point.token]])
    return [
        _near(corpus, int(token), float(scores[token]), place[other], sentence)
        for token, place in zip(tokens, places, strict=True)
    ]


def _strongest(weights: Floats, top: int, least: float) -> list[tuple[int, float]]:
    """Positions and weights, the largest first; without weights of 0, which keys have that a query does not see."""
    strongest = np.argsort(-weights, kind="stable")[:top]
    seen = strongest[weights[strongest] > 0]
    return [(int(position), float(weights[position])) for position in seen if weights[position] >= least]


def _best(scores: Floats, pieces: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """Tokens with the largest scores, the largest first; at most `OF_ONE_PIECE` tokens of one wordpiece."""
    looked = CANDIDATES * max(1, count)
    while True:
        order = highest_scores(scores, looked)
        best = order[_earlier(pieces[order]) < OF_ONE_PIECE][:count]
        if len(best) == count or looked >= len(scores):
            return best
        looked *= CANDIDATES


def _earlier(pieces: NDArray[np.integer]) -> NDArray[np.int64]:
    """How often each piece stands earlier in the list."""
    order = np.argsort(pieces, kind="stable")
    first = np.searchsorted(pieces[order], pieces[order])
    earlier = np.empty(len(pieces), np.int64)
    earlier[order] = np.arange(len(pieces)) - first
    return earlier


def _near(corpus: Corpus, token: int, score: float, place: Floats, own: int) -> Near:
    row = corpus.rows[[token]]
    sentence = int(corpus.tokens.sentence_index.values[row[0]])
    return Near(
        token=token,
        piece=corpus.wordpieces(row)[0],
        position=int(corpus.tokens.position.values[row[0]]),
        sentence=sentence,
        score=round(score, 6),
        place=np.round(place.astype(np.float64), 5).tolist(),
        same_sentence=sentence == own,
    )


def panel(shown: ShownPoints) -> list[object]:
    """The tab Point."""
    state = shown.state
    if state.token is None:
        return [html.H2("Point"), html.P(EMPTY)]
    point = Point(state.layer, state.head, state.role, state.token)
    point_focus: Any = focus(
        shown.corpus, shown.view, point, top=state.top, least=state.least, lines=state.lines, near=NEAR
    )
    return [
        html.H2(
            [
                "The ",
                html.Span(state.role, className=f"mark {state.role}"),
                f" of “{point_focus['pieces'][point_focus['position']]}”",
            ]
        ),
        _sentence(shown.state, point_focus),
        _controls(shown),
        note_panel("token", TokenTarget.of(shown.corpus, state.token), "Notes on this token, in any head"),
        _lines_table(shown, point_focus),
        *_near_table(shown, point_focus),
    ]


def _sentence(state: LinkState, point_focus: dict[str, Any]) -> html.P:
    """The wordpieces of the point's sentence, each a link to that token in the same role."""
    first = (state.token or 0) - point_focus["position"]
    links = [state.with_(token=first + position, marks=None).href for position in range(len(point_focus["pieces"]))]
    return linked_pieces(point_focus["pieces"], links, point_focus["position"], state.role)


def _controls(shown: ShownPoints) -> html.Div:
    state = shown.state
    other = "key" if state.role == "query" else "query"
    return html.Div(
        [
            number("top", "lines per token", state.top, 1, MOST_TOP, 1),
            number("least", "minimum weight", state.least, 0, 1, 0.01),
            dmc.SegmentedControl(
                id={"choose": "lines", "by": "point"},
                data=[{"value": "point", "label": "this token"}, {"value": "sentence", "label": "whole sentence"}],
                value=state.lines,
                size="xs",
            ),
            dcc.Link("open sentence", href=_sentence_link(shown)),
            dcc.Link(f"show as {other}", href=state.with_(role=other).href),
            dcc.Link("clear", href=state.with_(token=None, marks=None, lines="point").href),
        ],
        className="controls",
    )


def _sentence_link(shown: ShownPoints) -> str:
    """The link to page Sentence with the point's sentence and the point selected."""
    corpus, state = shown.corpus, shown.state
    row = corpus.rows[state.token or 0]
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    return state.of_sentence(sentence, queries=str(position), heads=str(state.head), marks=state.marks).href


def _lines_table(shown: ShownPoints, point_focus: dict[str, Any]) -> html.Div:
    marked = [tuple(pair) for pair in marks(shown.state.marks)]
    rows = [_line_row(shown, point_focus, marked, *line) for line in point_focus["lines"]]
    if not rows:
        return html.Div(html.P(f"No weight in this sentence reaches {shown.state.least:g}. Lower the minimum weight."))
    head = heading(("query", "key", "weight", "show"), {"weight"})
    all_queries = ", all queries" if shown.state.lines == "sentence" else ""
    title = f"Strongest weights in its sentence{all_queries}"
    return html.Div([html.H3(title), html.Table([head, html.Tbody(rows)], className="rows")])


def _line_row(
    shown: ShownPoints, point_focus: dict[str, Any], marked: list[tuple[int, ...]], query: int, key: int, weight: float
) -> html.Tr:
    """A query, a key and their weight, with a link that shows or hides the pair in the picture."""
    pair = (query, key)
    others = [other for other in marked if other != pair]
    marks_of_link = others if pair in marked else [*marked, pair]
    text = ".".join("-".join(map(str, other)) for other in marks_of_link)
    mark = dcc.Link("hide" if pair in marked else "show", href=shown.state.with_(marks=text or None).href)
    pieces = (f"{position}:{point_focus['pieces'][position]}" for position in pair)
    return html.Tr(
        [
            *[html.Td(html.Bdi(piece)) for piece in pieces],
            html.Td(f"{100 * weight:.1f}%", className="number"),
            html.Td(mark),
        ]
    )


def _near_table(shown: ShownPoints, point_focus: dict[str, Any]) -> list[object]:
    """The keys of a query, or the queries of a key, with the largest logits in the corpus."""
    role = "query" if shown.state.role == "key" else "key"
    names = {"key": "keys", "query": "queries"}
    found = [FoundToken(near["token"], role, decimal(near["score"])) for near in point_focus["near"]]
    searched = (
        "all" if point_focus["searched"] == point_focus["tokens"] else f"the first {point_focus['searched']:,} of"
    )
    return [
        html.H3(f"Highest-scoring {names[role]} in the corpus"),
        groups_table(shown.corpus, shown.state, found, (role, "score")),
        html.P(
            f"By q.k / sqrt(channels), over {searched} {point_focus['tokens']:,} tokens; each wordpiece at most three times.",
            className="caption",
        ),
    ]
