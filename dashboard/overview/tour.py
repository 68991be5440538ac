"""The tour: what attention is, in five steps on one short sentence of the store, with the numbers of a real head and drawings of its vectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.overview.evidence import readable_sentences
from dashboard.overview.role_cards import PAIR, RoleExample, RoleHead, example_of, heads_of_cards
from dashboard.roles.head_roles import what_a_role_does
from dashboard.statistics.heads import BEHAVIOURS, kinds_of
from dashboard.ui.glossary import TERMS, term, terms_of
from dashboard.ui.markup import Markup, Tree, heading
from dashboard.ui.small_pictures import sentence_lines
from dashboard.ui.text import decimal
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.attention import attention_logits, softmax
from store.kernels.rules import RULES
from store.phrases import many
from store.schema.model import head_name

#: Number of steps, and most tokens that are drawn: a corpus may have only long sentences.
STEPS, MOST_DRAWN = 5, 14
#: The kind of roles that is preferred: its weights go to several tokens; weights of positions are nearly 0 or 100%.
FIRST_KIND = "grammar"
#: Pixels of a row of bars: its width, the width of its title, and its height.
WIDE, TITLE, HIGH = 560, 92, 44
#: Pixels in the picture of all heads: width of a head, space between two heads, and height of a token.
CELL, GAP, LINE = 34, 8, 4
#: Pixels for the numbers of layers and heads.
MARGIN = 22
#: Least weight of a drawn line, and of a strong line.
LEAST, STRONG = 0.15, 0.5


@dataclass(frozen=True)
class TourHead:
    """The head of the tour, what it does (empty without a role or label), whether a test finds this, and its sentence and pair."""

    layer: int
    head: int
    does: str
    is_tested: bool
    example: RoleExample

    @classmethod
    def of_role(cls, of: RoleHead, example: RoleExample) -> "TourHead":
        """The head of a card; no test finds the role of a sink."""
        return cls(of.layer, of.head, what_a_role_does(of.role), of.share is None, example)


@dataclass(frozen=True)
class Tour:
    """What the tour shows.

    Attributes
    ----------
    of, text, pieces
        The head, the sentence, and its wordpieces.
    marks_ends
        Whether the tokenizer puts a token before a text.
    query, key
        Vectors of the two tokens of the pair: (channel,).
    scores
        Scores of the query with every key: (token,).
    is_biased
        Whether the model adds something to the products of queries and keys.
    weights, every
        Attention weights of the head, and of all heads: (query_token, key_token) and (layer, head, query_token, key_token).
    """

    state: LinkState
    of: TourHead
    text: str
    pieces: tuple[str, ...]
    marks_ends: bool
    query: NDArray[np.float32]
    key: NDArray[np.float32]
    scores: NDArray[np.float32]
    is_biased: bool
    weights: NDArray[np.float32]
    every: NDArray[np.float32]

    @property
    def pair(self) -> tuple[str, str]:
        """The two wordpieces, in quotation marks."""
        query, key = (f"“{self.pieces[token]}”" for token in (self.of.example.query, self.of.example.key))
        return query, key


def read_tour(corpus: Corpus, state: LinkState) -> Tour:
    """Everything that the tour shows."""
    of = tour_head(corpus)
    rows = corpus.sentence_rows(of.example.sentence)
    query, key = (
        side.variable[of.layer, of.head, rows].values.astype(np.float32) for side in (corpus.query, corpus.key)
    )
    bias = corpus.bias and corpus.bias.part(of.layer, of.head)
    scores = attention_logits(query[None], key[None], bias=bias)[0, of.example.query]
    every = corpus.weights(of.example.sentence)
    return Tour(
        state=state,
        of=of,
        text=str(corpus.sentences.text.values[of.example.sentence]),
        pieces=tuple(corpus.wordpieces(rows)),
        marks_ends=terms_of(corpus)["special"] is TERMS["special"],
        query=query[of.example.query],
        key=key[of.example.key],
        scores=scores,
        is_biased=corpus.bias is not None and corpus.bias.adds,
        weights=every[of.layer, of.head],
        every=every,
    )


@cached
def tour_head(corpus: Corpus) -> TourHead:
    """The head of a card that `choose_head` prefers; for a store without roles, the clearest head by its label."""
    of_roles = {of: example for of in heads_of_cards(corpus) if (example := example_of(corpus, of)) is not None}
    if of_roles:
        of = choose_head(of_roles, corpus.sentences.row_size.values)
        return TourHead.of_role(of, of_roles[of])
    kind = next(iter(kinds_of(corpus)), None)
    (layer, head), does = (kind.heads[0], BEHAVIOURS[kind.label].replace("attend", "attends")) if kind else ((0, 0), "")
    return TourHead(layer, head, does, False, _strongest_pair(corpus, layer, head))


def choose_head(examples: Mapping[RoleHead, RoleExample], sizes: NDArray[np.integer]) -> RoleHead:
    """The head with the longest sentence, among those with a role of grammar if there are any."""
    return max(examples, key=lambda of: (RULES[of.role].kind == FIRST_KIND, int(sizes[examples[of].sentence])))


def _strongest_pair(corpus: Corpus, layer: int, head: int) -> RoleExample:
    """The first short sentence, and its two tokens with the largest weight between them: words where it has two."""
    sentence = int(readable_sentences(corpus.sentences.row_size.values)[0])
    weights = corpus.weights(sentence, layer=layer, head=head)
    is_word = np.array([not piece.special for piece in corpus.sentence_pieces(sentence)])
    weights = weights * ~np.eye(len(weights), dtype=bool)
    between = weights * is_word[:, None] * is_word
    largest = (between if between.any() else weights).argmax()
    return RoleExample(sentence, *(int(token) for token in np.unravel_index(largest, weights.shape)))


# -- drawing ------------------------------------------------------------------------------------------


def draw_tour(shown: Tour) -> list[object]:
    """The five steps."""
    steps = (_tokens(shown), _query_and_key(shown), _weight(shown), _one_head(shown), _all_heads(shown))
    return [html.Section(step, className=f"tour-step step-{number}") for number, step in enumerate(steps)]


def _tokens(shown: Tour) -> list[Any]:
    ends: list[Any] = ["; ", term("special", "[CLS] and [SEP]"), " mark its ends"] if shown.marks_ends else []
    boxes = [html.Span(piece, className="token") for piece in shown.pieces]
    return [
        html.H3("1. Tokens"),
        html.P(
            ["The model cuts a text into ", term("token", "tokens"), ": words, parts of words and marks", *ends, "."]
        ),
        html.P(html.Q(shown.text, dir="auto"), className="tour-text"),
        html.Div(boxes, className="tour-tokens"),
    ]


def _query_and_key(shown: Tour) -> list[Any]:
    (query, key), channels = shown.pair, len(shown.query)
    added = ", and what the model adds by distance" if shown.is_biased else ""
    return [
        html.H3("2. Query and key"),
        html.P(
            [
                f"In a head, each token has two lists of {channels} numbers: a ",
                term("query"),
                ", by which it asks, and a ",
                term("key"),
                ", by which it answers.",
            ]
        ),
        html.Div(Markup(tree=[vector_rows(query, key, shown.query, shown.key)]), className="tour-picture"),
        html.P(
            [
                "Multiplied number by number and summed they give a ",
                term("score"),
                f": how much {query} asks for {key}. Here it is ",
                html.Strong(_score(shown.scores[shown.of.example.key])),
                f" (the sum, divided by √{channels}{added}).",
            ]
        ),
    ]


def _weight(shown: Tour) -> list[Any]:
    query, weights = shown.pair[0], softmax(shown.scores[None])[0]
    rows = [
        html.Tr(
            [
                html.Td(html.Bdi(piece), className="word"),
                html.Td(_score(score), className="number"),
                html.Td(html.Div(className="bar", style={"width": f"{100 * weight:.1f}%"})),
                html.Td(f"{100 * weight:.0f}%", className="number"),
            ],
            className="largest-weight" if place == shown.of.example.key else None,
        )
        for place, (piece, score, weight) in enumerate(zip(shown.pieces, shown.scores, weights, strict=True))
    ][:MOST_DRAWN]
    return [
        html.H3("3. Weight"),
        html.P(
            [
                f"{query} has a score with every key. A softmax turns its scores into shares of 100%: its ",
                term("weight", "attention weights"),
                ".",
            ]
        ),
        html.Table(
            [heading(("key", "score", "weight", ""), ("score",)), html.Tbody(rows)], className="rows tour-weights"
        ),
    ]


def _score(score: np.floating) -> str:
    """A score as text, without the minus of a rounded 0; “not seen” for a key that the query may not see."""
    return decimal(round(float(score), 1) + 0.0, 1) if np.isfinite(score) else "not seen"


def _one_head(shown: Tour) -> list[Any]:
    name, drawn = head_name(shown.of.layer, shown.of.head), shown.weights[:MOST_DRAWN, :MOST_DRAWN]
    pair = np.zeros_like(shown.weights)
    pair[shown.of.example.query, shown.of.example.key] = 1
    lines = {"of-query": drawn, PAIR: pair[:MOST_DRAWN, :MOST_DRAWN]}
    found = ", a test finds its role: " if shown.of.is_tested else " it "
    role = f" Over the whole corpus{found}{shown.of.does}." if shown.of.does else ""
    return [
        html.H3("4. A head"),
        html.P(["All tokens do this at once: that is an ", term("head"), f", here {name}.{role}"]),
        html.P("A line runs from each query, left, to the keys that it attends to, right; a darker one weighs more."),
        sentence_lines(shown.pieces[:MOST_DRAWN], lines),
    ]


def _all_heads(shown: Tour) -> list[Any]:
    layers, heads = shown.every.shape[:2]
    every = every_head(shown.every[..., :MOST_DRAWN, :MOST_DRAWN], (shown.of.layer, shown.of.head))
    href = shown.state.on("head").with_(layer=shown.of.layer, head=shown.of.head).href
    return [
        html.H3("5. All heads"),
        html.P(
            [
                f"The model has {many(layers * heads, 'head')} in {many(layers, 'layer')}. Each reads the same sentence in its own way; ",
                dcc.Link(head_name(shown.of.layer, shown.of.head), href=href),
                " is framed.",
            ]
        ),
        html.Div(Markup(tree=[every]), className="tour-picture"),
        html.P("Overview says what each of them does over the whole corpus; every other page shows the evidence."),
    ]


def vector_rows(query: str, key: str, asks: NDArray[np.floating], answers: NDArray[np.floating]) -> Tree:
    """The numbers of a query and of a key (channel,), and their products: bars above and below a line; titles name the tokens."""
    rows = (
        (f"query of {query}", asks, "query"),
        (f"key of {key}", answers, "key"),
        ("products", asks * answers, "ink"),
    )
    parts = [part for place, row in enumerate(rows) for part in _bars(place * (HIGH + 8), *row)]
    height = len(rows) * (HIGH + 8)
    named = f"Numbers of the query of {query}, of the key of {key}, and their products"
    return [
        "svg",
        {"viewBox": f"0 0 {WIDE} {height}", "className": "tour-vectors", "role": "img", "aria-label": named},
        *parts,
    ]


def _bars(top: float, title: str, numbers: NDArray[np.floating], kind: str) -> list[Tree]:
    """A row: its title, the line of zero, and a bar for each number, on the scale of the largest number."""
    middle, step = top + HIGH / 2, (WIDE - TITLE) / len(numbers)
    half = HIGH / 2 / max(float(np.abs(numbers).max()), float(np.finfo(np.float32).tiny))
    bars = [
        _rect(TITLE + place * step, middle - max(number, 0) * half, 0.75 * step, abs(number) * half, kind)
        for place, number in enumerate(numbers.tolist())
    ]
    zero = ["line", {"x1": TITLE, "y1": middle, "x2": WIDE, "y2": middle, "className": "zero"}]
    return [["text", {"x": 0, "y": middle + 4}, title], zero, *bars]


def _rect(x: float, y: float, width: float, height: float, kind: str) -> Tree:
    return [
        "rect",
        {"x": round(x, 1), "y": round(y, 1), "width": round(width, 1), "height": round(height, 1), "className": kind},
    ]


def every_head(weights: NDArray[np.floating], framed: tuple[int, int]) -> Tree:
    """The lines of every head, layers down and heads across; `weights` (layer, head, query_token, key_token)."""
    layers, heads, tokens = weights.shape[:3]
    across, down = CELL + GAP, LINE * tokens + GAP
    width, height = MARGIN + heads * across, MARGIN + layers * down
    names = [
        *(["text", {"x": 0, "y": MARGIN + (layer + 0.5) * down}, f"L{layer}"] for layer in range(layers)),
        *(["text", {"x": MARGIN + (head + 0.5) * across - GAP, "y": 12}, f"H{head}"] for head in range(heads)),
    ]
    cells = [
        _head(weights[layer, head], MARGIN + head * across, MARGIN + layer * down, (layer, head) == framed)
        for layer in range(layers)
        for head in range(heads)
    ]
    named = f"Attention of all heads in the sentence; {head_name(*framed)} is framed"
    return [
        "svg",
        {"viewBox": f"0 0 {width} {height}", "className": "tour-heads", "role": "img", "aria-label": named},
        *names,
        *cells,
    ]


def _head(weights: NDArray[np.floating], left: float, top: float, is_framed: bool) -> Tree:
    """The lines of a head as two paths, of strong and of weaker weights."""
    height = LINE * len(weights)
    box = {
        "x": -3,
        "y": -3,
        "width": CELL + 6,
        "height": height + 6,
        "rx": 3,
        "className": "framed" if is_framed else "cell",
    }
    strong = weights >= STRONG
    paths = [
        ["path", {"d": _lines(chosen), "className": kind}]
        for kind, chosen in (("weaker", (weights >= LEAST) & ~strong), ("strong", strong))
        if chosen.any()
    ]
    return ["g", {"transform": f"translate({left} {top})"}, ["rect", box], *paths]


def _lines(drawn: NDArray[np.bool_]) -> str:
    half = LINE // 2
    return "".join(
        f"M0 {LINE * row + half}L{CELL} {LINE * column + half}" for row, column in np.argwhere(drawn).tolist()
    )
