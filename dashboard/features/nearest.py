"""A token of a material: what is said of it, and which others are nearest to it at a point, by the vectors themselves."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.features.columns import sentence_order
from dashboard.features.data import Series
from dashboard.features.pieces import pieces_of
from dashboard.web.cache import current_cache
from store.features import Features
from store.schema.features import SAMPLE

#: Tokens that are named as nearest.
NEAR = 10


@dataclass(frozen=True)
class NearToken:
    """Another token, the cosine of both vectors, and whether both are of one sentence."""

    token: int
    piece: str
    position: int
    sentence: int
    cosine: float
    same_sentence: bool


def nearest_tokens(series: Series, panel: str, token: int, *, count: int = NEAR) -> list[NearToken]:
    """The tokens whose vectors have the largest cosine with the token's, the largest first, the token left out."""
    vectors = _unit_vectors(series, panel)
    cosine = vectors @ vectors[token]
    cosine[token] = -np.inf
    nearest = np.argpartition(-cosine, min(count, len(cosine) - 1))[:count]
    order = nearest[np.argsort(-cosine[nearest], kind="stable")]
    return [_near(series.features, int(one), float(cosine[one]), token) for one in order if one != token]


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


def _unit_vectors(series: Series, panel: str) -> NDArray[np.float32]:
    return current_cache().get(series.features, ("unit", str(series), panel), lambda: _unit(series.vectors(panel)))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each divided by its length, in place; a vector of nothing stays so."""
    lengths = np.sqrt(np.einsum("tf,tf->t", vectors, vectors))
    vectors /= np.maximum(lengths, np.finfo(np.float32).tiny)[:, None]
    return vectors


def token_card(features: Features, token: int) -> dict[str, object]:
    """JSON-ready: the token in its sentence, for the hover."""
    own = sentence_tokens(features, token)
    pieces = pieces_of(features)
    return {
        "role": "token",
        "wordpiece": pieces[token],
        "position": token - own.start,
        "sentence": int(features.tokens.sentence_index.values[token]),
        "wordpieces": pieces[own.start : own.stop],
        "where": where_of(features, token),
    }


def token_focus(series: Series, view: str, panel: str, token: int, *, near: int) -> dict[str, object]:
    """JSON-ready, as `pictures.focus`: the places of the token's sentence in a panel, and of its nearest."""
    features = series.features
    places = series.places(view, features.n_tokens, panel)[0, :, 0].astype(np.float64).round(5)
    own = sentence_tokens(features, token)
    found = nearest_tokens(series, panel, token, count=near) if near else []
    return {
        "position": token - own.start,
        "pieces": pieces_of(features)[own.start : own.stop],
        "places": places[own.start : own.stop, None].tolist(),
        "lines": [],
        "near": [vars(one) | {"place": places[one.token].tolist()} for one in found],
    }


def sentence_tokens(features: Features, token: int) -> range:
    """The tokens of the token's sentence: they stand side by side."""
    sentences = features.tokens.sentence_index.values
    same = np.flatnonzero(sentences == sentences[token])
    return range(int(same[0]), int(same[-1]) + 1)


def where_of(features: Features, token: int) -> str:
    """Its place, its label, and what the model predicts where it does."""
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
    return [f"predicted {own['class'].values[best]} ({100 * float(own[best]):.0f} %)"]
