"""Why two sentences are alike: the cosine of their pooled vectors split over pairs of words, a part of page Sentence."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from flask import Flask, Response, request
from numpy.typing import NDArray

from dashboard.sentence.arrival import decomposed, requested_sentence
from dashboard.sentence.encoder import TypedSentences, corpus_sentence, encodable_sentences
from dashboard.sentence.methods import DECOMPX, MODEL_METHODS
from dashboard.sentence.picture import data_url, query_string, read_shown
from dashboard.sentence.sentence import Sentence, Unit
from dashboard.sentence.vector import by_word, pooled_parts, words_of
from dashboard.ui.charts import DIVERGING, NOTE, chart, colour_bar_above, every, layout
from dashboard.ui.controls import action, info, text_input
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.markup import scrolling
from dashboard.ui.text import decimal, signed, significant, with_commands
from dashboard.web.admission import reader_left
from dashboard.web.context import Context
from dashboard.web.errors import Refusal
from dashboard.web.http import BASE, corpus_of, data_link
from dashboard.web.results import cached
from dashboard.web.served_store import ServedStore
from dashboard.web.state import NEAREST, LinkState
from store import Corpus
from store.phrases import as_label, many
from store.schema.features import SAMPLE

Numbers = NDArray[np.float64]
#: Number of listed pairs of words and of listed sentences; pixels of the part, and of a row of the matrix.
LISTED, HEIGHT, ROW = 5, 640, 18
#: Pixels beside, above and below a matrix, and least pixels of a column: a narrow window scrolls.
BESIDE, ABOVE, BELOW, COLUMN = 90, 56, 80, 13
#: Pixels of a matrix that fits a window; of a row of a long sentence; of the name of a row; of a row with a line below.
FITTING, THIN, NAME, RULED = 620, 7, 12, 10
#: Most words named across the matrix, and most characters of a listed sentence.
NAMED, LONGEST = 64, 80
#: Most digits that are read of a sentence's number: no corpus has as many sentences, and Python reads at most 4,300 digits.
DIGITS = 12
#: Id of the section, for links.
WHY_ALIKE = "why-alike"
_ABOUT = (
    "The cosine of two sentences is that of their pooled vectors, the means of the last layer's output over all tokens. DecompX "
    f"({MODEL_METHODS[DECOMPX].paper}) makes each mean a sum over the input tokens, so that the cosine is a sum over pairs of them: the "
    "product of the two parts, over the lengths of both vectors. It is exact. A pair below zero makes the sentences less alike. Parts of "
    "the wordpieces of a word are added. Nearest: by the stored vectors of the last layer, which the first sentences of the corpus have."
)
_EMPTY = (
    "Type another sentence, give its number in the corpus, or take the nearest one: which words make the two alike?"
)
_NO_SAMPLE = (
    "The store has no vectors of sentences to find the nearest. Type another sentence, or give the number of one."
)
_NO_NUMBER = "The corpus has no sentence {}. Give a number from 0 to {:,}, or type a sentence."


@dataclass(frozen=True, eq=False)
class Likeness:
    """The cosine of two sentences, split over pairs of words.

    Attributes
    ----------
    first, second
        Words and special tokens of each sentence.
    products
        What each pair adds to the cosine: (word of the first, word of the second). Products sum to the cosine.
    cosine
        Cosine of the model's pooled vectors.
    """

    first: tuple[Unit, ...]
    second: tuple[Unit, ...]
    products: Numbers
    cosine: float

    @property
    def error(self) -> float:
        """The absolute difference between the sum of the products and the cosine."""
        return abs(float(self.products.sum()) - self.cosine)

    @property
    def largest(self) -> list[tuple[str, str, float]]:
        """The pairs that add most to the cosine: both words, and the product."""
        order = np.argsort(-self.products, axis=None, kind="stable")[:LISTED]
        places = zip(*(axis.tolist() for axis in np.unravel_index(order, self.products.shape)), strict=True)
        return [
            (self.first[own].name, self.second[other].name, float(self.products[own, other])) for own, other in places
        ]


def likeness(first: Sentence, second: Sentence) -> Likeness:
    """The cosine of two sentences that DecompX has run on."""
    (own, own_parts), (other, other_parts) = pooled_parts(first), pooled_parts(second)
    lengths = float(np.linalg.norm(own) * np.linalg.norm(other))
    words = words_of(first), words_of(second)
    by_words = by_word(words[0], own_parts) @ by_word(words[1], other_parts).T
    return Likeness(*words, by_words / lengths, float(own @ other) / lengths)


def likeness_table(shown: Likeness) -> Table:
    """A row for each pair of words."""
    names = [np.array([word.name for word in words], object) for words in (shown.first, shown.second)]
    places = [np.array([word.positions[0] for word in words]) for words in (shown.first, shown.second)]
    return {
        "first": np.repeat(names[0], len(names[1])),
        "first_position": np.repeat(places[0], len(names[1])),
        "second": np.tile(names[1], len(names[0])),
        "second_position": np.tile(places[1], len(names[0])),
        "added_to_cosine": np.array(significant(shown.products.ravel().tolist())),
    }


# -- which other sentence -------------------------------------------------------------------------------


@cached
def sample_vectors(corpus: Corpus) -> Numbers:
    """Pooled vectors (sentence, feature) of the first sentences, each of length 1, from the stored vectors of the last layer."""
    features = corpus.features(SAMPLE)
    of_sentence = features.tokens.sentence_index.values
    vectors = features.feature.variable[len(features.points) - 1].values.astype(np.float64)
    starts = np.flatnonzero(np.diff(of_sentence, prepend=-1))
    sums = np.add.reduceat(vectors, starts, axis=0)
    pooled: Numbers = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return pooled


def nearest_sentences(corpus: Corpus, sentence: Sentence) -> list[tuple[int, float]]:
    """Sentences of the sample with the largest cosines of pooled vectors with a sentence's; sentences of the same text are left out."""
    if SAMPLE not in corpus.token_sets:
        return []
    own, _ = pooled_parts(sentence)
    cosines = sample_vectors(corpus) @ (own / np.linalg.norm(own))
    order = np.argsort(-cosines, kind="stable")[: LISTED + 8].tolist()
    texts = corpus.sentences.text.values
    return [(place, float(cosines[place])) for place in order if str(texts[place]) != sentence.text][:LISTED]


def other_sentence(served_store: ServedStore, corpus: Corpus, near: list[tuple[int, float]], alike: str) -> Sentence:
    """The other sentence of a link, with DecompX: a number of the corpus, the nearest of the sample, or a typed text."""
    if alike == NEAREST:
        if not near:
            raise Refusal(_NO_SAMPLE)
        found = corpus_sentence(served_store, corpus, near[0][0])
    elif alike.strip().isdecimal():
        number, count = int(alike.strip()[:DIGITS]), encodable_sentences(corpus)
        if number >= count:
            raise Refusal(_NO_NUMBER.format(f"{number:,}", count - 1))
        found = corpus_sentence(served_store, corpus, number)
    else:
        found = served_store.service(TypedSentences).encode(corpus, alike, "", reader_left)
    return decomposed(served_store, corpus, found, DECOMPX)


# -- the section ----------------------------------------------------------------------------------------


def likeness_panel(state: LinkState, reason: str, computed: html.Div | None) -> list[object]:
    """The section: the choice of the other sentence and the split cosine, computed after the page; or the `reason` why not."""
    title = html.H2(["Why two sentences are alike", info("the split cosine", _ABOUT)], id=WHY_ALIKE)
    if reason:
        return [title, html.P(with_commands(reason), className="caption")]
    typed = None if state.alike == NEAREST else state.alike
    nearest = action("Take the nearest", state.with_(alike=NEAREST).href)
    controls = [text_input("alike", "Another sentence, or its number", "type, then Enter", typed, 220), nearest]
    chosen = html.Div(controls, className="controls")
    if computed is None:
        return [title, html.P(_EMPTY, className="caption"), chosen]
    return [title, chosen, computed]


def compute_likeness(context: Context) -> list[object]:
    """Run DecompX on both sentences, and draw what each pair of words adds."""
    corpus, state = context.corpus, context.state
    if not state.alike:
        return []
    own = decomposed(context.served_store, corpus, read_shown(context).sentence, DECOMPX)
    near, url = nearest_sentences(corpus, own), data_url(state, data_link(corpus))
    other = other_sentence(context.served_store, corpus, near, state.alike)
    csv = f"{url}/alike.csv{query_string(state, {'alike': state.alike})}"
    return draw_likeness(likeness(own, other), other.text, csv) + _nearest(corpus, state, near)


LIKENESS = DeferredPart(
    "alike",
    "which words make the two alike",
    compute_likeness,
    ("sentence", "text", "second", "alike"),
    HEIGHT,
)


def draw_likeness(shown: Likeness, other: str, csv: str) -> list[object]:
    """The cosine with the other sentence, the pairs that add most, and all pairs as a matrix."""
    pairs: list[Any] = [
        html.Li(["“", html.Bdi(own), "” and “", html.Bdi(word), f"” {_adds(added)} of {decimal(shown.cosine)}"])
        for own, word, added in shown.largest
    ]
    said: list[Any] = [html.Strong(f"Cosine {decimal(shown.cosine)}"), " with “", html.Bdi(other), "”"]
    caption = [
        f"This sentence down, the other across: {many(shown.products.size, 'pair')} sum to the cosine exactly (error {shown.error:.0e}). "
        "Blue adds, brown takes away."
    ]
    label = f"What each pair of words adds to the cosine of {decimal(shown.cosine)}"
    drawn: list[Any] = chart(
        likeness_figure(shown),
        name="likeness",
        caption=caption,
        label=label,
        data=csv,
        height=likeness_height(len(shown.first)),
        turns=True,
    )
    matrix, below = drawn
    wide = html.Div(matrix, style={"minWidth": f"{BESIDE + COLUMN * len(shown.second)}px"})
    most = html.P("The pairs of words that add most:", className="caption")
    return [
        html.P(said, role="status"),
        most,
        html.Ol(pairs, className="pairs-of-words"),
        scrolling(wide, label, "across"),
        below,
    ]


def _adds(added: float) -> str:
    return f"adds {decimal(added, 3)}" if added >= 0 else f"takes {decimal(-added, 3)}"


def likeness_height(words: int) -> int:
    """Height of a matrix with `words` rows, in pixels."""
    return max(240, min(FITTING, ABOVE + BELOW + ROW * words), ABOVE + BELOW + THIN * words)


def likeness_figure(shown: Likeness) -> go.Figure:
    """A heat map of the products (word of this sentence, word of the other); its diverging colours have 0 in the middle."""
    most = float(np.abs(shown.products).max()) or 1.0
    row = (likeness_height(len(shown.first)) - ABOVE - BELOW) / len(shown.first)
    down, across = ([as_label(word.name) for word in words] for words in (shown.first, shown.second))
    hover = [
        [f"{own}, {other}: {signed(value, 4)}" for other, value in zip(across, row, strict=True)]
        for own, row in zip(down, shown.products.tolist(), strict=True)
    ]
    heat: Any = go.Heatmap(
        z=shown.products,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        colorscale=DIVERGING,
        zmin=-most,
        zmax=most,
        xgap=1,
        ygap=1 if row >= RULED else 0,
        colorbar=colour_bar_above("added to the cosine"),
    )
    axes = (
        _axis(across, every(len(across), NAMED)) | {"tickangle": 90},
        _axis(down, ceil(NAME / row)) | {"autorange": "reversed"},
    )
    return go.Figure(heat, layout(*axes, margin={"l": 70, "r": 12, "t": ABOVE, "b": BELOW}))


def _axis(names: list[str], step: int) -> dict[str, Any]:
    places = list(range(0, len(names), step))
    return {"tickvals": places, "ticktext": [names[place] for place in places], "tickfont": {"size": NOTE}}


def _nearest(corpus: Corpus, state: LinkState, near: list[tuple[int, float]]) -> list[object]:
    """The nearest sentences, each with a button that takes it as the other sentence."""
    if not near:
        return []
    texts = corpus.sentences.text.values
    rows: list[Any] = [
        html.Li(
            [
                action(f"{number:,}", state.with_(alike=str(number)).href, look="plain", title="Compare with it"),
                f" {decimal(cosine)} ",
                html.Bdi(_short(str(texts[number]))),
            ]
        )
        for number, cosine in near
    ]
    of = many(len(sample_vectors(corpus)), "sentence")
    return [
        html.P(f"Nearest among the first {of} of the corpus, with their cosines:", className="caption"),
        html.Ul(rows, className="nearest"),
    ]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes of the file."""

    def split(snapshot: str, model: str, form: str, index: int | None = None) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        own = decomposed(served_store, corpus, requested_sentence(served_store, corpus, index), DECOMPX)
        near = nearest_sentences(corpus, own)
        other = other_sentence(served_store, corpus, near, request.args.get("alike", NEAREST))
        return file(iter([likeness_table(likeness(own, other))]), "alike", form)

    server.add_url_rule(f"{BASE}/sentence/<int:index>/alike.{FORM}", "likeness of a sentence", split)
    server.add_url_rule(f"{BASE}/typed/alike.{FORM}", "likeness of a typed sentence", split)
