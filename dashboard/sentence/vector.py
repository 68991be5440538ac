"""Signed shares of words in the vector of a sentence, and in the logit of a classifier, by DecompX: a part of page Sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import html
from flask import Flask, Response
from numpy.typing import NDArray

from dashboard.sentence.arrival import decomposed, requested_sentence
from dashboard.sentence.methods import DECOMPX, MODEL_METHODS
from dashboard.sentence.picture import data_url, query_string, read_shown
from dashboard.sentence.sentence import PatternOptions, Sentence, Unit, unhidden_units
from dashboard.ui.controls import action, choice, info
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.small_pictures import signed_bar
from dashboard.ui.text import decimal, signed, significant, with_commands
from dashboard.web.context import Context
from dashboard.web.http import BASE, corpus_of, data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store.phrases import many

Numbers = NDArray[np.float64]
#: Number of first words that the text above the table adds up, and pixels of the part.
NAMED, HEIGHT = 5, 420
#: Id of the section, for links.
WHOSE_WORDS = "whose-words"
#: Opacity of the colour of the word that adds most, in per cent.
DEEPEST = 55
_ABOUT = (
    "The pooled vector e is the mean of the last layer's output over all tokens, as embedding models pool it. DecompX "
    f"({MODEL_METHODS[DECOMPX].paper}) carries a sum over input tokens through all layers, so that e is a sum of a part for each. The share "
    "of a token is its part along e: the product of the two, over the length of e. Shares sum to that length, and are negative where "
    "a part points away from e. Parts of the wordpieces of a word are added."
)
_ABOUT_ANSWER = (
    "The parts go on through the linear layers of the classifier. An activation is a factor for each unit, its bias is shared out in proportion "
    "to |bias . part| (DecompX). The numbers sum to the output before the softmax: exact, but another way to share out a bias gives other numbers."
)
_EMPTY = "See how much of the sentence's pooled vector comes from each word, with its sign."
ORDERS = {"text": "in the order of the text", "share": "largest share first"}


@dataclass(frozen=True, eq=False)
class VectorShares:
    """Shares of the words of a sentence.

    Attributes
    ----------
    words
        Every word and special token.
    shares
        Signed share of each word in the length of the pooled vector (word,); shares sum to the length.
    length
        Length of the model's pooled vector.
    error
        The largest difference between a number of the pooled vector and the sum of its parts.
    answers, logits, of_answers
        Labels of a classifier, their logits (label,), and what each word adds to them (word, label); none for other models.
    """

    words: tuple[Unit, ...]
    shares: Numbers
    length: float
    error: float
    answers: tuple[str, ...] = ()
    logits: Numbers | None = None
    of_answers: Numbers | None = None


def words_of(sentence: Sentence) -> tuple[Unit, ...]:
    """Every word and special token of a sentence."""
    return unhidden_units(sentence, PatternOptions(words=True))[0]


def by_word(words: Sequence[Unit], numbers: Numbers) -> Numbers:
    """Sums over the wordpieces of each word: (word, ...) from (token, ...)."""
    return np.stack([numbers[list(word.positions)].sum(axis=0) for word in words])


def pooled_parts(sentence: Sentence) -> tuple[Numbers, Numbers]:
    """The model's pooled vector (feature,), and what each token adds to it (token, feature)."""
    assert sentence.last is not None, "the model has encoded it"
    assert sentence.decomposed is not None, "with DecompX"
    assert sentence.decomposed.parts is not None
    return sentence.last.astype(np.float64).mean(axis=0), sentence.decomposed.parts.astype(np.float64)


def vector_shares(sentence: Sentence) -> VectorShares:
    """Shares of the words of a sentence that DecompX has run on."""
    pooled, parts = pooled_parts(sentence)
    length, words = float(np.linalg.norm(pooled)), words_of(sentence)
    shares, error = by_word(words, parts @ pooled / length), float(np.abs(parts.sum(axis=0) - pooled).max())
    if sentence.decomposed is None or sentence.decomposed.answer_parts is None or sentence.answer is None:
        return VectorShares(words, shares, length, error)
    of_answers = by_word(words, sentence.decomposed.answer_parts.astype(np.float64))
    return VectorShares(words, shares, length, error, sentence.answers, sentence.answer.astype(np.float64), of_answers)


def vector_table(shown: VectorShares) -> Table:
    """A row for each word, a column for each number."""
    table: dict[str, NDArray[Any]] = {
        "word": np.array([word.name for word in shown.words], object),
        "position": np.array([word.positions[0] for word in shown.words]),
        "share": np.array(significant(shown.shares.tolist())),
        "share_of_length": np.array(significant((shown.shares / shown.length).tolist())),
    }
    for name, added in zip(shown.answers, [] if shown.of_answers is None else shown.of_answers.T, strict=False):
        table[f"logit {name}"] = np.array(significant(added.tolist()))
    return table


def vector_panel(state: LinkState, reason: str, computed: html.Div | None) -> list[object]:
    """The section: a button that splits the vector, or the shares, computed after the page; or the `reason` why not."""
    title = html.H2(["Whose words make its vector", info("the shares of words", _ABOUT)], id=WHOSE_WORDS)
    if reason:
        return [title, html.P(with_commands(reason), className="caption")]
    if computed is None:
        button = action("Split the vector over words", state.with_(pooled="text").href)
        return [title, html.P(_EMPTY, className="caption"), html.P(button, className="over-corpus")]
    return [title, computed]


def compute_vector(context: Context) -> list[object]:
    """Run DecompX on the sentence of a link, and draw its shares."""
    state = context.state
    if state.pooled is None:
        return []
    sentence = read_shown(context).sentence
    found = vector_shares(decomposed(context.served_store, context.corpus, sentence, DECOMPX))
    url = f"{data_url(state, data_link(context.corpus))}/vector.csv{query_string(state, {})}"
    return draw_vector(found, state, url)


VECTOR = DeferredPart(
    "vector",
    "the shares of words",
    compute_vector,
    ("sentence", "text", "second", "pooled", "answer"),
    HEIGHT,
)


def draw_vector(shown: VectorShares, state: LinkState, csv: str) -> list[object]:
    """A sentence on the words that add most, the text in colours, and a table of bars."""
    answer = chosen_answer(shown, state)
    return [
        _said(shown, answer),
        _coloured(shown),
        _choices(shown, state, answer),
        scrolling(_table(shown, state, answer), "Shares of words"),
        html.P(
            [
                f"The shares of the {len(shown.words)} words, marks and special tokens sum to the length of the vector, "
                f"{decimal(shown.shares.sum(), 3)}: exact, the largest error of a number of the vector is {shown.error:.0e}. ",
                html.A("CSV", href=csv, download="", title="Save the numbers as CSV"),
            ],
            className="caption",
        ),
    ]


def chosen_answer(shown: VectorShares, state: LinkState) -> int | None:
    """Index of the label whose logit is shown: that of the link, else the likeliest; None for a model without a classifier."""
    if shown.logits is None or shown.of_answers is None:
        return None
    asked = state.answer
    return asked if asked is not None and asked < len(shown.answers) else int(shown.logits.argmax())


def _said(shown: VectorShares, answer: int | None) -> html.P:
    """A sentence on the word that adds most to the vector and the share of the first few; and on the word that adds most to the logit."""
    shares = shown.shares / shown.length
    order = np.argsort(-shares, kind="stable")
    few = order[:NAMED]
    against = int((shares < 0).sum())
    text: list[Any] = [
        html.Strong(["“", html.Bdi(shown.words[order[0]].name), f"” adds most: {shares[order[0]]:.0%}"]),
        f" of the vector's length; the first {len(few)} of {len(shares)} words and marks together {shares[few].sum():.0%}.",
        f" {many(against, 'word')} {'takes' if against == 1 else 'take'} from it." if against else "",
    ]
    if answer is not None and shown.of_answers is not None and shown.logits is not None:
        added = shown.of_answers[:, answer]
        most = int(added.argmax())
        text += [
            f" Of the classifier's output for {shown.answers[answer]}, {decimal(shown.logits[answer], 3)}, “",
            html.Bdi(shown.words[most].name),
            f"” adds most: {signed(added[most], 3)}.",
            info("the shares of an output", _ABOUT_ANSWER),
        ]
    return html.P(text, role="status")


def _coloured(shown: VectorShares) -> html.P:
    """The words as a text: blue where a word adds, vermillion and underlined where it takes away."""
    widest = float(np.abs(shown.shares).max()) or 1.0
    spans: list[Any] = [
        part
        for word, share in zip(shown.words, shown.shares, strict=True)
        for part in (_word(word, share / shown.length, share / widest), " ")
    ]
    return html.P(spans, className="shares-of-words", dir="auto")


def _word(word: Unit, share: float, depth: float) -> html.Span:
    side = "lifts" if share >= 0 else "lowers"
    style = {"--depth": f"{DEEPEST * abs(depth):.0f}%"}
    return html.Span(html.Bdi(word.name), className=side, style=style, title=f"{signed(100 * share, 1)}%")


def _choices(shown: VectorShares, state: LinkState, answer: int | None) -> html.Div:
    """The choices of the words' order and, for a classifier, of the label."""
    controls = [choice("pooled", "Words", ORDERS, state.pooled or "text", 190)]
    if answer is not None:
        labels = {str(number): name for number, name in enumerate(shown.answers)}
        controls.append(choice("answer", "Output for", labels, str(answer), 150, of_data=True))
    return html.Div(controls, className="controls")


def _table(shown: VectorShares, state: LinkState, answer: int | None) -> html.Table:
    added = None if answer is None or shown.of_answers is None else shown.of_answers[:, answer]
    order = np.argsort(-shown.shares, kind="stable") if state.pooled == "share" else np.arange(len(shown.words))
    columns = ["word", "of its length", "", *([] if added is None else ["of the output", " "])]
    widest = [float(np.abs(each).max()) or 1.0 for each in (shown.shares, shown.shares if added is None else added)]
    rows = [
        html.Tr(
            [
                html.Th(html.Bdi(shown.words[place].name), scope="row"),
                html.Td(f"{signed(100 * shown.shares[place] / shown.length, 1)}%", className="number"),
                html.Td(signed_bar(shown.shares[place] / widest[0])),
                *(
                    []
                    if added is None
                    else [
                        html.Td(signed(added[place], 3), className="number"),
                        html.Td(signed_bar(added[place] / widest[1])),
                    ]
                ),
            ]
        )
        for place in order.tolist()
    ]
    return html.Table(
        [heading(columns, ("of its length", "of the output")), html.Tbody(rows)], className="rows of-words"
    )


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes of the file."""

    def answer(snapshot: str, model: str, form: str, index: int | None = None) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        sentence = decomposed(served_store, corpus, requested_sentence(served_store, corpus, index), DECOMPX)
        return file(iter([vector_table(vector_shares(sentence))]), "vector", form)

    server.add_url_rule(f"{BASE}/sentence/<int:index>/vector.{FORM}", "vector of a sentence", answer)
    server.add_url_rule(f"{BASE}/typed/vector.{FORM}", "vector of a typed sentence", answer)
