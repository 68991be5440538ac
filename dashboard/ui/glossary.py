"""The glossary: each term of the pages with its explanation of two lines and its small drawing. Popovers and Help show it.

Drawings are SVG in trees of `Markup`: their words are examples, their numbers are made up.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dash import html

from dashboard.ui.markup import Tree
from dashboard.ui.text import capital
from store import Corpus

#: Width and height in pixels of a drawing.
WIDTH, HEIGHT = 168, 44
#: Heights of queries (above) and keys (below) in drawings of attention.
_ABOVE, _BELOW = 8, 36


@dataclass(frozen=True)
class Term:
    """A term: its title in a list, its meaning, and for an (i) its formula and source, where it has them."""

    title: str
    meaning: str
    formula: str = ""


_FIRST_TOKEN = Term(
    "first token", "Every token can attend to the first one: a head that finds nothing else often attends there."
)
#: Terms in an order in which each needs only earlier terms.
TERMS: Mapping[str, Term] = {
    "token": Term("token", "A piece of the text that the model reads: a word, a part of a word, or a mark."),
    "wordpiece": Term("wordpiece", "A rare word is cut into several pieces that occur often. Each piece is a token."),
    "special": Term(
        "[CLS], [SEP]", "[CLS] stands before every text, [SEP] after it. A head that finds nothing often attends there."
    ),
    "layer": Term("layer", "A step of the model: it works on what the layer before found. L0 is the first."),
    "head": Term(
        "attention head", "Decides how much each token takes from every other one. L0 H2 is head 2 of layer 0."
    ),
    "weight": Term(
        "attention weight",
        "The share that a token takes from another one. The shares of a token sum to 100%.",
        "The softmax of its scores.",
    ),
    "query": Term("query", "The numbers by which a token asks: it attends to tokens whose keys fit them."),
    "key": Term("key", "The numbers by which a token answers the queries of all tokens."),
    "score": Term(
        "score",
        "How well a query fits a key: the sum of the products of their d numbers, over √d.",
        "q·k/√d, and what some models add by distance; also called logit.",
    ),
    "norm": Term(
        "value norm",
        "How much a token hands over when it is attended to. Where that is small, little arrives.",
        "‖f(x)‖ of Kobayashi et al. (2020).",
    ),
    "reach": Term(
        "reach",
        "How much of a vector comes from a token, over an even share: 1 where each token gives as much.",
        "Its share of the vector after the layer, by GlobEnc through the layers, times the tokens of the sentence.",
    ),
    "picture": Term(
        "picture of a head", "Each dot is a query or a key of a token. A query attends to the keys near it."
    ),
    "role": Term("role", "A rule of the text that a head follows, such as: attend to the previous token."),
    "sink": Term("sink", "A token that most others attend to whatever the text says; usually one that is no word."),
    "offset": Term("offset", "Where a token stands as seen from another one: the next has the offset +1."),
    "entropy": Term("entropy", "How evenly a token spreads its attention: 0 on one token, largest on all alike."),
    "divergence": Term(
        "divergence",
        "How differently two heads attend: 0 where all their weights are the same.",
        "Jensen-Shannon divergence of their weights in nats, at most ln 2 = 0.693; mean over queries.",
    ),
    "governor": Term("governor", "The word that another one depends on by grammar: “car” governs “red” in “red car”."),
    "uas": Term("UAS", "Unlabelled attachment score: the share of the words whose governor is found."),
    "silver": Term("silver or gold", "Grammar is silver where a program annotated it, and gold where people did."),
    "rank": Term(
        "rank correlation",
        "1 where two lists of numbers have the same order, −1 where they have opposite ones.",
        "Spearman's.",
    ),
    "trustworthiness": Term(
        "trustworthiness",
        "Whether neighbours in a picture are neighbours among the vectors, too: 1 would be perfect.",
        "Venna and Kaski (2001).",
    ),
}


def term(name: str, written: str = "", known: Term | None = None) -> html.Button:
    """A term within a text, spelt as `written`: underlined, with its explanation on click, hover and focus (assets/web/popover.mjs).

    `known`: the definition for the model of the page, see `terms_of`.
    """
    known = known or TERMS[name]
    explained: Any = {"data-info": known.meaning} | ({"data-drawing": name} if name in DRAWINGS else {})
    return html.Button(written or known.title, type="button", className="term", **explained)


def defined(name: str, *more: str) -> str:
    """The text behind an (i): title, meaning and formula of a term, then the sentences `more`."""
    known = TERMS[name]
    return " ".join([f"{capital(known.title)}: {known.meaning}", *filter(None, [known.formula]), *more])


def terms_of(corpus: Corpus) -> dict[str, Term]:
    """The terms for a model; where its tokenizer puts no token before a text, the first token replaces special tokens."""
    first = corpus.sentence_pieces(0)[0]
    return {**TERMS, **({} if first.special else {"special": _FIRST_TOKEN})}


def _box(x: float, y: float, width: float, height: float, kind: str) -> Tree:
    return ["rect", {"x": x, "y": y, "width": width, "height": height, "rx": 2, "className": kind}]


def _dot(x: float, y: float, kind: str) -> Tree:
    return ["circle", {"cx": x, "cy": y, "r": 4, "className": kind}]


def _line(x1: float, y1: float, x2: float, y2: float, kind: str, width: float = 2) -> Tree:
    return ["line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "className": kind, "strokeWidth": width}]


def _word(x: float, y: float, text: str) -> Tree:
    return ["text", {"x": x, "y": y, "textAnchor": "middle"}, text]


def _words(texts: Sequence[str], y: float, kinds: Sequence[str] | None = None) -> list[Tree]:
    """Words in boxes, side by side over the whole width."""
    wide = WIDTH / len(texts)
    kinds = kinds or ["outline"] * len(texts)
    boxes = [_box(place * wide + 2, y, wide - 4, 18, kind) for place, kind in enumerate(kinds)]
    return [*boxes, *(_word((place + 0.5) * wide, y + 13, text) for place, text in enumerate(texts) if text)]


def _cells(x: float, y: float, shades: Iterable[int], kind: str) -> list[Tree]:
    """The numbers of a vector as cells, each filled to a level of 0 to 3."""
    return [
        part
        for place, shade in enumerate(shades)
        for part in (
            _box(x + 13 * place, y, 12, 12, "outline"),
            _box(x + 13 * place, y, 12, 12, f"{kind} full-{shade}"),
        )
    ]


def _bars(x: float, heights: Iterable[int]) -> list[Tree]:
    return [_box(x + 14 * place, 40 - height, 10, height, "ink") for place, height in enumerate(heights)]


def _attention(weights: Mapping[tuple[int, int], float], keys: int = 6) -> list[Tree]:
    """Queries above keys, with a line for each (query, key), as wide as its weight."""
    places = [14 + 28 * place for place in range(keys)]
    lines = [_line(places[query], _ABOVE, places[key], _BELOW, "ink", width) for (query, key), width in weights.items()]
    queries = [_dot(places[query], _ABOVE, "query") for query in sorted({query for query, _ in weights})]
    return [*lines, *queries, *(_dot(place, _BELOW, "key") for place in places)]


def _arc(start: float, stop: float, text: str) -> list[Tree]:
    """An arc from one word to another, with a number at its top."""
    middle = (start + stop) / 2
    curve = f"M{start} 30Q{middle} 6 {stop} 30"
    return [["path", {"d": curve, "className": "ink hollow"}], _word(middle, 11, text)]


_PIECES = ("un", "watch", "able")
_ROW = (20, 62, 104, 146)

#: Term -> its drawing; other terms have none.
DRAWINGS: Mapping[str, Sequence[Tree]] = {
    "token": _words(("the", "film", "was", "fine", "."), 13),
    "wordpiece": [_word(84, 14, "unwatchable"), *_words(_PIECES, 22)],
    "special": _words(("", "the", "film", ".", ""), 13, ["special", "outline", "outline", "outline", "special"]),
    "layer": [
        *(_box(20, y, 128, 10, kind) for y, kind in ((30, "outline"), (17, "query full-1"), (4, "query"))),
        *(_line(84, y, 84, y - 4, "ink") for y in (31, 18)),
    ],
    "head": _attention({(1, 0): 4, (2, 1): 4, (3, 2): 3, (4, 3): 4, (5, 4): 3}),
    "weight": _attention({(3, 0): 1, (3, 2): 6, (3, 3): 1.5, (3, 5): 0.7}),
    "query": [*_cells(40, 15, (3, 1, 0, 2, 3, 0, 1), "query")],
    "key": [*_cells(40, 15, (2, 0, 1, 3, 2, 0, 0), "key")],
    "score": [*_cells(18, 5, (3, 1, 0, 2), "query"), *_cells(18, 27, (2, 0, 1, 3), "key"), _word(118, 27, "= 4.1")],
    "norm": [
        _word(40, 15, "large"),
        _line(66, 11, 156, 11, "ink", 5),
        _word(40, 37, "small"),
        _line(66, 33, 84, 33, "ink", 5),
    ],
    "picture": [
        *(_dot(x, y, "query") for x, y in ((40, 12), (52, 20), (46, 30), (60, 10))),
        *(_dot(x, y, "key") for x, y in ((58, 30), (70, 20), (120, 14), (130, 26), (112, 30))),
    ],
    "role": _attention({(0, 1): 4, (1, 2): 4, (2, 3): 4, (3, 4): 4, (4, 5): 4}),
    "sink": _attention({(query, 0): 3 for query in range(6)}),
    "offset": [*(_dot(x, 34, "ink") for x in _ROW), *_arc(62, 20, "−1"), *_arc(62, 104, "+1")],
    "entropy": [*_bars(12, (2, 34, 2, 2, 2)), *_bars(92, (11, 11, 11, 11, 11))],
    "divergence": [*_bars(12, (4, 30, 4, 10, 4)), *_bars(92, (26, 4, 12, 4, 14))],
    "governor": [*_arc(52, 116, ""), _word(52, 42, "red"), _word(116, 42, "car")],
}


def symbols() -> Tree:
    """All drawings as symbols of one SVG; `drawing` refers to them."""
    box = f"0 0 {WIDTH} {HEIGHT}"
    every = [["symbol", {"id": drawing_id(name), "viewBox": box}, *parts] for name, parts in DRAWINGS.items()]
    return ["svg", {"width": 0, "height": 0, "aria-hidden": "true", "className": "term-drawings"}, *every]


def drawing_id(name: str) -> str:
    """The id of the drawing of a term in a page."""
    return f"drawing-{name}"


def drawing(name: str) -> Tree:
    """The drawing of a term, where the page has `symbols`."""
    size = {"width": WIDTH, "height": HEIGHT, "className": "term-drawing", "aria-hidden": "true"}
    return ["svg", size, ["use", {"href": f"#{drawing_id(name)}"}]]
