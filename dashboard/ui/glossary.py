"""The glossary: each term of the pages with its explanation of two lines. Popovers and Help show it, with the drawing of the term."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dash import html

from dashboard.ui.term_drawings import DRAWINGS
from dashboard.ui.text import capital
from store import Corpus


@dataclass(frozen=True)
class Term:
    """A term as a list names it, what it means, and for an (i) its formula and where it is from, where it has one."""

    title: str
    meaning: str
    formula: str = ""


_FIRST_TOKEN = Term(
    "first token", "Every token can attend to the first one: a head that finds nothing else often attends there."
)
#: Terms in the order in which one needs the other.
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
    """A term within a text, as it is written there: underlined, with its explanation on click, hover and focus (assets/web/popover.mjs).

    `known`: the term as it is for the model of the page, see `terms_of`.
    """
    known = known or TERMS[name]
    explained: Any = {"data-info": known.meaning} | ({"data-drawing": name} if name in DRAWINGS else {})
    return html.Button(written or known.title, type="button", className="term", **explained)


def defined(name: str, *more: str) -> str:
    """A term as the beginning of a text behind an (i): its title, what it means, and its formula; then what is `more` to say."""
    known = TERMS[name]
    return " ".join([f"{capital(known.title)}: {known.meaning}", *filter(None, [known.formula]), *more])


def terms_of(corpus: Corpus) -> dict[str, Term]:
    """The terms as they are for a model: one whose tokenizer puts nothing before a text has a first token instead."""
    first = corpus.sentence_pieces(0)[0]
    return {**TERMS, **({} if first.special else {"special": _FIRST_TOKEN})}
