"""The review around a sentence of the corpus: the review's sentences in order, each a link to its page Sentence.

A store knows the number of a sentence's review, but does not have the review. Where the server has the data of the corpus, a process
reads the review and splits it as the ingest does. Elsewhere the page shows the sentences of the review that the store has.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html

from dashboard.sentence.review_reader import Found, read_review
from dashboard.ui.controls import action
from dashboard.ui.deferred import DeferredPart, of_corpus
from dashboard.ui.markup import scrolling
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.phrases import many

#: Pixels of the box of a review.
HEIGHT = 140
#: Beginnings of the splitter's description in a corpus whose texts are not reviews of several sentences.
_WITHOUT_REVIEWS = ("none: the sentences", "none: the passages", "none: the texts")


@dataclass(frozen=True)
class Neighbour:
    """A sentence of a review, and its number in the corpus; None where the corpus does not have it."""

    text: str
    sentence: int | None


@dataclass(frozen=True)
class Surroundings:
    """The sentences of a review in order; where the review cannot be read, those in the corpus, and why others are missing."""

    neighbours: tuple[Neighbour, ...]
    missing: str = ""


def has_review(corpus: Corpus, state: LinkState) -> bool:
    """Whether the sentence of a link is part of a review: not a typed sentence, and not a whole text."""
    splitter = str(corpus.corpus_attributes.get("splitter", ""))
    return state.text is None and not splitter.startswith(_WITHOUT_REVIEWS)


def review_button(state: LinkState) -> html.Button:
    """The button that shows or hides the review around the sentence."""
    text, field = ("Hide the review", None) if state.around else ("Show its review", "1")
    return action(text, state.with_(around=field).href)


def surroundings(corpus: Corpus, sentence: int) -> Surroundings:
    """The review around a sentence of the corpus."""
    document = int(corpus.counted_documents[sentence])
    found = review_of(corpus, document)
    if found.texts:
        each = zip(found.texts, found.hashes, strict=True)
        return Surroundings(tuple(Neighbour(text, corpus.sentence_of_hash(number)) for text, number in each))
    own = np.flatnonzero(corpus.counted_documents == document).tolist()
    return Surroundings(tuple(Neighbour(corpus.counted_text(each), each) for each in own), found.missing)


@cached
def review_of(corpus: Corpus, document: int) -> Found:
    """The sentences of a review, read from the data."""
    return read_review(corpus, document)


def review_panel(state: LinkState, around: Surroundings) -> list[object]:
    """The review as one text with the shown sentence marked, and the number of its sentences in the store."""
    text: list[Any] = [part for each in around.neighbours for part in (_sentence(state, each), " ")]
    box = scrolling(html.P(text, className="review", dir="auto"), "The review around the sentence", "scroll review-box")
    return [box, html.P(_summary(around), className="caption")]


def _sentence(state: LinkState, each: Neighbour) -> object:
    """A link to a sentence of the review: to the stored sentence, else to its text as a typed sentence."""
    if each.sentence == state.sentence:
        return html.Mark(each.text)
    if each.sentence is not None:
        return dcc.Link(each.text, href=state.of_sentence(each.sentence).href)
    typed = state.of_sentence(state.sentence).with_(text=each.text, words="1", sentence=0, around=None)
    return dcc.Link(each.text, href=typed.href, className="unstored", title="Not in the store: encoded when opened")


def _summary(around: Surroundings) -> str:
    stored, count = sum(each.sentence is not None for each in around.neighbours), len(around.neighbours)
    if around.missing:
        return f"The store has {many(count, 'sentence')} of this review, in the order of the corpus. {around.missing}"
    verb = "is" if stored == 1 else "are"
    return (
        f"{stored} of {many(count, 'sentence')} of this review {verb} in the store. Click another sentence to open it."
    )


def _review(corpus: Corpus, state: LinkState) -> list[object]:
    return review_panel(state, surroundings(corpus, state.sentence))


REVIEW = DeferredPart(
    "review",
    "the review around this sentence",
    of_corpus(_review),
    ("sentence",),
    HEIGHT + 40,
    HEIGHT + 60,
    shape="lines",
)
