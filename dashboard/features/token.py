"""A token at a feature point: its sentence, the tokens with the most similar vectors, its hover card and focus."""

from dataclasses import dataclass

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.features.data import FeaturePanels, pieces_of
from dashboard.features.feature_tokens import sentence_order
from dashboard.features.shown import FeatureView
from dashboard.notes.listing import note_panel
from dashboard.notes.target import PointTarget
from dashboard.points.similar import linked_pieces, summary
from dashboard.ui.markup import heading
from dashboard.ui.text import decimal
from store.features import Features
from store.schema.features import SAMPLE

#: Nearest tokens that are listed, and that are summarized.
NEAR, SUMMARIZED = 10, 50
#: Vectors that are converted at once.
ROWS = 512
EMPTY = "Click a token, or press p and Enter in the picture, to see its sentence and the nearest tokens."


@dataclass(frozen=True)
class NearToken:
    """Another token, the cosine of both vectors, and whether both are of one sentence."""

    token: int
    piece: str
    position: int
    sentence: int
    cosine: float
    same_sentence: bool


def feature_token(shown: FeatureView) -> list[object]:
    """The panel of the clicked token, beside the large picture."""
    token, features = shown.state.ftoken, shown.series.features
    if token is None or shown.panel is None:
        return [html.H2("Token"), html.P(EMPTY), *_notes(shown, None)]
    clear = dcc.Link("clear", href=shown.state.with_(ftoken=None).href)
    return [
        html.H2(f"“{pieces_of(features)[token]}”"),
        html.P(where_of(features, token), className="caption"),
        _sentence(shown, token),
        html.Div([*_page(shown, token), clear], className="controls"),
        *_notes(shown, token),
        *_nearest(shown, token, shown.panel),
    ]


def _notes(shown: FeatureView, token: int | None) -> list[object]:
    """Notes on the feature point, and on the token there; the values of a head are no feature point."""
    corpus, series, point = shown.corpus, shown.series, shown.panel
    if point is None or series.layer is not None:
        return []
    title = series.titles[series.index(point)]
    panels = [note_panel("point", PointTarget.of(corpus, point), f"Notes on {title}")]
    if token is not None and series.features.name in corpus.token_sets:
        target = PointTarget.at(corpus, point, series.features, token)
        panels.insert(0, note_panel("token", target, "Notes on this token here"))
    return [html.Div(panels, className="note-panels")]


def _sentence(shown: FeatureView, token: int) -> html.P:
    """The wordpieces of the token's sentence, each a link to its token."""
    own, pieces = sentence_tokens(shown.series.features, token), pieces_of(shown.series.features)
    links = [shown.state.with_(ftoken=index).href for index in own]
    return linked_pieces(pieces[own.start : own.stop], links, token - own.start, "token")


def _page(shown: FeatureView, token: int) -> list[object]:
    """A link to page Sentence; none for a review."""
    if shown.series.features.name != SAMPLE:
        return []
    tokens = shown.series.features.tokens
    sentence, position = (int(tokens[name].values[token]) for name in ("sentence_index", "position"))
    return [dcc.Link("open sentence", href=shown.state.of_sentence(sentence, queries=str(position)).href)]


def _nearest(shown: FeatureView, token: int, panel: str) -> list[object]:
    title = shown.series.titles[shown.series.index(panel)]
    nearest = nearest_tokens(shown.series, panel, token, count=SUMMARIZED)
    body = html.Tbody([_row(shown, near) for near in nearest[:NEAR]])
    features = shown.series.features
    rows = [near.token for near in nearest]
    return [
        html.H3(f"Nearest at {title}"),
        html.Table([heading(("token", "cosine", "in sentence"), {"cosine"}), body], className="rows"),
        html.P(
            f"By cosine of the vectors, not by distance in the picture; among all {features.n_tokens:,} tokens. "
            f"The first {min(NEAR, len(rows))}; below, what the first {len(rows)} have in common.",
            className="caption",
        ),
        *summary(shown.corpus, shown.ingest, features.tokens, rows, _words(shown, rows)),
    ]


def _words(shown: FeatureView, tokens: list[int]) -> NDArray[np.int64] | None:
    """Words of the tokens as rows of the word axis of the corpus; None for a review, whose sentences are not in the corpus."""
    features, corpus = shown.series.features, shown.corpus
    if features.name != SAMPLE:
        return None
    if not corpus.has_words:
        return np.full(len(tokens), -1)
    return corpus.token_words[features.tokens.row.values[tokens]]


def _row(shown: FeatureView, near: NearToken) -> html.Tr:
    link = dcc.Link(html.Bdi(near.piece), href=shown.state.with_(ftoken=near.token).href)
    cosine = html.Td(decimal(near.cosine, 3), className="number")
    return html.Tr([html.Td(link), cosine, html.Td(_context(shown, near), dir="auto")])


def _context(shown: FeatureView, near: NearToken) -> list[object]:
    """Up to three wordpieces before and after a token, and the number of its sentence."""
    sentence, pieces = sentence_tokens(shown.series.features, near.token), pieces_of(shown.series.features)
    before = range(max(sentence.start, near.token - 3), near.token)
    after = range(near.token + 1, min(sentence.stop, near.token + 4))
    text = [" ".join(pieces[token] for token in part) for part in (before, after)]
    same = " same sentence" if near.same_sentence else ""
    where = html.Span(f"({near.sentence:,} at {near.position}{same})", className="between")
    return [f"{text[0]} ", html.B(near.piece), f" {text[1]} ", where]


def nearest_tokens(series: FeaturePanels, panel: str, token: int, *, count: int = NEAR) -> list[NearToken]:
    """The tokens whose vectors have the largest cosine with the token's, the largest first, the token left out."""
    cosine = _cosines(series.vectors(panel), token)
    cosine[token] = -np.inf
    nearest = np.argpartition(-cosine, min(count, len(cosine) - 1))[:count]
    order = nearest[np.argsort(-cosine[nearest], kind="stable")]
    return [_near(series.features, int(index), float(cosine[index]), token) for index in order if index != token]


def _near(features: Features, token: int, cosine: float, of: int) -> NearToken:
    sentences = features.tokens.sentence_index.values
    return NearToken(
        token=token,
        piece=pieces_of(features)[token],
        position=int(features.tokens.position.values[token]),
        sentence=int(sentences[token]),
        cosine=round(cosine, 4),
        same_sentence=bool(sentences[token] == sentences[of]),
    )


def _cosines(vectors: NDArray[np.float16], token: int) -> NDArray[np.float32]:
    """Cosine of a token's vector with every vector: (token,), 0 for zero vectors. Parts of the rows fit the processor's cache."""
    own = _unit(vectors[[token]].astype(np.float32))[0]
    part, cosine = np.empty((ROWS, vectors.shape[1]), np.float32), np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), ROWS):
        few = part[: len(vectors) - start]  # a new array for each part would take new memory each time
        few[...] = vectors[start : start + ROWS]
        cosine[start : start + ROWS] = _unit(few) @ own
    return cosine


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide each vector by its norm, in place; zero vectors stay zero."""
    norms = np.sqrt(np.einsum("tf,tf->t", vectors, vectors))
    vectors /= np.maximum(norms, np.finfo(np.float32).tiny)[:, None]
    return vectors


def token_card(features: Features, token: int) -> dict[str, object]:
    """The hover card of a token in its sentence, as JSON."""
    own = sentence_tokens(features, token)
    pieces = pieces_of(features)
    return {
        "role": "token",
        "wordpiece": pieces[token],
        "position": token - own.start,
        "sentence": int(features.tokens.sentence_index.values[token]),
        "wordpieces": pieces[own.start : own.stop],
        "texts": [piece.spaced for piece in features.pieces[own.start : own.stop]],
        "where": where_of(features, token),
    }


def token_focus(series: FeaturePanels, view: str, panel: str, token: int, *, near: int) -> dict[str, object]:
    """The places of the token's sentence in a panel and of its nearest tokens, as JSON, in the form of `points.clicked_point`."""
    features, drawn = series.features, series.tokens(view)
    places = series.places(view, features.n_tokens, panel)[0, :, 0].astype(np.float64).round(5)
    sentence = sentence_tokens(features, token)
    own = range(sentence.start, min(sentence.stop, drawn))
    nearest = nearest_tokens(series, panel, token, count=near) if near else []
    return {
        "position": token - own.start,
        "pieces": pieces_of(features)[own.start : own.stop],
        "places": places[own.start : own.stop, None].tolist(),
        "lines": [],
        "near": [vars(near) | {"place": places[near.token].tolist()} for near in nearest if near.token < drawn],
    }


def sentence_tokens(features: Features, token: int) -> range:
    """The tokens of the token's sentence, which are adjacent."""
    sentences = features.tokens.sentence_index.values
    same = np.flatnonzero(sentences == sentences[token])
    return range(int(same[0]), int(same[-1]) + 1)


def where_of(features: Features, token: int) -> str:
    """Position and sentence of a token, the sentence's label, and the label that the model predicts."""
    tokens = features.tokens
    position, sentence = (int(tokens[name].values[token]) for name in ("position", "sentence_index"))
    of = "sentence" if features.name == SAMPLE else "sentence of the review"
    code = int(features.label[token])
    label = [f"labelled {features.label_names[code]}"] if 0 <= code < len(features.label_names) else []
    return ", ".join([f"position {position}", f"{of} {sentence:,}", *label, *_prediction(features, token)])


def _prediction(features: Features, token: int) -> list[str]:
    probability = features.class_probability
    if probability is None:
        return []
    own = probability[int(sentence_order(features)[token])]
    best = int(own.values.argmax())
    return [f"predicted {own['class'].values[best]} ({100 * float(own[best]):.0f}%)"]
