"""Columns to colour tokens by: one value per token, the same in every panel."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.features.data import pieces_of
from dashboard.points.columns import KINDS, Column, Values, kinds_of
from dashboard.ui.theme import COLOURED
from dashboard.web.bounds import predicts_labels
from store.features import Features
from store.schema.features import SAMPLE

#: Codes of wordpieces, one for each colour; the other wordpieces have none.
WORDPIECES = tuple(range(COLOURED))
#: Columns of a model's predictions; the others are the same for every model.
PREDICTED = ("prediction", "correct")
NO_PREDICTION = (
    "This model predicts no label, so tokens cannot be coloured by prediction. Run `headscape finetune`, then "
    "`headscape ingest --model=data/finetuned`."
)


@dataclass(frozen=True)
class TokenColumn:
    """A column, its values (token,) as `Column` has them, and the legend of the tokens that have none."""

    column: Column
    values: Callable[[], Values]
    rest: str = "tokens have none"


def token_columns(features: Features, token: int | None) -> dict[str, TokenColumn]:
    """Every column of a token set by its name, in the order of the menu; `token` is the clicked token."""
    every = [
        _kind(features),
        _wordpiece(features),
        _position(features),
        *([_label(features)] if features.label_names else []),
        _sentence(features, token) if features.name == SAMPLE else _order(features),
        *_predictions(features),
    ]
    return {column.column.name: column for column in every}


def _kind(features: Features) -> TokenColumn:
    flags = features.tokens.token_flags.values
    return TokenColumn(Column("kind", "token type", "category", names=KINDS), lambda: kinds_of(flags))


def _position(features: Features) -> TokenColumn:
    of = "sentence" if features.name == SAMPLE else "review"
    positions = features.tokens.position.values
    return TokenColumn(Column("position", f"position in the {of}", unit="tokens"), lambda: positions.astype(np.float64))


def _label(features: Features) -> TokenColumn:
    column = Column("label", "review label", "category", names=tuple(features.label_names))
    return TokenColumn(column, lambda: features.label)


def _wordpiece(features: Features) -> TokenColumn:
    """The most frequent wordpieces, a colour each."""
    ids = features.tokens.token_id.values
    different, first, counts = np.unique(ids, return_index=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[: len(WORDPIECES)]
    pieces = pieces_of(features)
    names = [""] * (max(WORDPIECES) + 1)
    for code, index in zip(WORDPIECES, frequent, strict=False):
        names[code] = pieces[first[index]]

    def values() -> NDArray[np.int64]:
        codes = np.full(len(ids), -1, np.int64)
        for code, index in zip(WORDPIECES, frequent, strict=False):
            codes[ids == different[index]] = code
        return codes

    column = Column("wordpiece", "most frequent tokens", "category", names=tuple(names))
    return TokenColumn(column, values, "other wordpieces")


def _sentence(features: Features, token: int | None) -> TokenColumn:
    """The sentence of the clicked token: a sample has far more sentences than colours."""
    index = features.tokens.sentence_index.values
    own = None if token is None else index[token]
    column = Column("sentence", "sentence of the chosen token", "category", names=("this sentence",))
    rest = "other sentences" if token is not None else "no sentence chosen: open a point and click a token there"
    return TokenColumn(column, lambda: np.where(index == own, 0, -1).astype(np.int64), rest)


def _order(features: Features) -> TokenColumn:
    """The sentences of a review in order."""
    index = features.tokens.sentence_index.values
    return TokenColumn(Column("sentence", "sentence of the review, in order"), lambda: index.astype(np.float64))


def _predictions(features: Features) -> list[TokenColumn]:
    """The model's prediction for each token's sentence, where it is a classifier."""
    probability = features.class_probability
    if probability is None:
        return []
    names = tuple(map(str, probability["class"].values))
    predicted = probability.values.argmax(axis=1)[sentence_order(features)]
    column = Column("prediction", "label predicted of the sentence", "category", names=names)
    judged = [_correct(features, predicted, names)] if predicts_labels(features) else []
    return [TokenColumn(column, lambda: predicted), *judged]


def _correct(features: Features, predicted: NDArray[np.int64], names: tuple[str, ...]) -> TokenColumn:
    labels = np.array([*(names.index(name) for name in features.label_names), -1])[features.label]
    codes = np.where(labels < 0, -1, (predicted != labels).astype(np.int64))
    column = Column("correct", "whether the prediction is right", "category", names=("right", "wrong"))
    return TokenColumn(column, lambda: codes)


def sentence_order(features: Features) -> NDArray[np.int64]:
    """Index of each token's sentence within the token set; a review is one text: (token,)."""
    index = features.tokens.sentence_index.values
    probability = features.class_probability
    if probability is not None and len(probability) == 1:
        return np.zeros(len(index), np.int64)
    return np.unique(index, return_inverse=True)[1].astype(np.int64)
