"""Feature points of a set of tokens: the series of panels that show them, their places, vectors and similarities, and columns to colour by.

A column has one value per token, the same in every panel.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.features.trial import Trial, TrialPicture
from dashboard.features.trials import Trials
from dashboard.points.columns import KINDS, Column, Values, kinds_of
from dashboard.ui.theme import COLOURED
from dashboard.web.bounds import feature_panels, feature_views, predicts_labels, value_layers
from dashboard.web.context import Context
from dashboard.web.results import cached
from store import Corpus, StoreError
from store.features import Features
from store.schema.features import SAMPLE, point_kind, point_layer, point_title, same_basis

#: A token is one point here, neither query nor key.
ROLES = ("token",)
#: All feature points in a URL, and the same where each panel fits its tokens; values have their layer there.
POINTS, FITTED = "points", "fitted"
#: Points of a grid: with the scripts of the page and its charts they stay below 3 MB.
GRID_POINTS = 400_000
#: Columns by rows of a grid without layers, as a screen is wide.
WIDE = 1.6

_VALUES = re.compile(r"L(\d{1,3})")


@dataclass(frozen=True)
class Series:
    """The panels of a token set in order: all feature points, or the value vectors of the heads of a `layer`.

    Panels are named as in a link: by their point, or by their head, `H3`. Feature points have one scale, or each is
    `fitted`; heads have each their own. Beside the views of the store there are those of the `trials`.
    """

    corpus: Corpus
    features: Features
    layer: int | None = None
    fitted: bool = False
    trials: Trials | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, corpus: Corpus, features: Features, text: str, trials: Trials | None = None) -> "Series":
        """From `points`, `fitted` or `L5`."""
        values = _VALUES.fullmatch(text)
        if text in (POINTS, FITTED):
            return cls(corpus, features, fitted=text == FITTED, trials=trials)
        if values and int(values[1]) in value_layers(features):
            return cls(corpus, features, int(values[1]))
        raise StoreError(f"{features.name} has no panels {text[:40]!r}. Go to the page Features and choose there.")

    def __str__(self) -> str:
        if self.layer is not None:
            return f"L{self.layer}"
        return FITTED if self.fitted else POINTS

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the panels, as in a link."""
        return feature_panels(self.corpus, self.features, self.layer)

    @property
    def titles(self) -> tuple[str, ...]:
        """Names of the panels for a person."""
        if self.layer is None:
            return tuple(map(point_title, self.names))
        return tuple(f"L{self.layer} {name}" for name in self.names)

    @property
    def views(self) -> list[str]:
        """Views of all panels in the store, the default first."""
        return feature_views(self.features, self.layer)

    @cached_property
    def grid(self) -> tuple[int, tuple[int, ...]]:
        """Columns, and the slot of every panel in the grid: layers across, kinds of feature points downwards."""
        if self.layer is not None:
            return _columns(len(self.names)), tuple(range(len(self.names)))
        columns = self.corpus.layers + 1
        kinds = list(dict.fromkeys(point_kind(name) for name in self.names if point_layer(name) is not None))
        return columns, tuple(_slot(name, index, kinds, columns) for index, name in enumerate(self.names))

    @property
    def grid_tokens(self) -> int:
        """Tokens drawn in every panel of the grid."""
        return min(self.features.n_tokens, max(1, GRID_POINTS // len(self.names)))

    def index(self, panel: str) -> int:
        """Index of a panel by its name. Raises StoreError for an unknown one."""
        if panel not in self.names:
            raise StoreError(f"There is no {panel[:40]!r} among {', '.join(self.names)}. Choose one of them.")
        return self.names.index(panel)

    def places(self, view: str, tokens: int, panel: str | None = None) -> NDArray[np.float32]:
        """Places of the first tokens, 0 to 1: (panel, token, role, component), in all panels or in one."""
        index = None if panel is None else self.index(panel)
        if self.layer is not None:
            return self.features.value_places(view, self.layer, tokens, index)[:, :, None]
        source = self.trial_picture(view) or _Stored(self.features, view)
        if self.fitted:
            return fit_panels(source.places(self.features.n_tokens, index))[:, :tokens, None]
        return source.places(tokens, index)[:, :, None]

    def tokens(self, view: str) -> int:
        """Tokens that a view has."""
        trial = Trial.parse(view, self.features)
        return trial.tokens if trial else self.features.n_tokens

    def trial_picture(self, view: str) -> TrialPicture | None:
        """The picture of a trial; None of another view. Raises StoreError where it has not been fitted."""
        trial = Trial.parse(view, self.features)
        if trial is None or self.layer is not None:
            return None
        found = self.trials.find(self.corpus, self.features, trial) if self.trials else None
        if found is None:
            raise StoreError("The server does not have this trial any more. Run it again on page Features.")
        return found

    def attributes(self, view: str) -> Mapping[str, Any]:
        """Title and method of a view: by which parameters, fitted and judged on what."""
        if (trial := self.trial_picture(view)) is not None:
            return trial.attributes
        stored = (self.features.view(view) if self.layer is None else self.features.value_view(view)).attrs
        return {**stored, "parameters": json.loads(stored["parameters"])}

    def trustworthiness(self, view: str) -> NDArray[np.float64]:
        """Trustworthiness of every panel, 1 is perfect: (panel,)."""
        if (trial := self.trial_picture(view)) is not None:
            return trial.trustworthiness
        if self.layer is None:
            return self.features.view(view)["trustworthiness"].values.astype(np.float64)
        return self.features.value_view(view)["trustworthiness"].values[self.layer].astype(np.float64)

    def vectors(self, panel: str) -> NDArray[np.float16]:
        """The vectors behind a panel, as stored: (token, feature)."""
        index = self.index(panel)
        if self.layer is None:
            return self.features.feature.variable[index].values
        return self.features.value.variable[self.layer, index].values


@dataclass(frozen=True)
class _Stored:
    """The places of a view of the store."""

    features: Features
    view: str

    def places(self, tokens: int, point: int | None) -> NDArray[np.float32]:
        return self.features.places(self.view, tokens, point)


def fit_panels(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """Places (panel, token, component) moved and scaled, alike on all axes, so that those of each panel fill 0 to 1."""
    low, high = places.min(axis=1, keepdims=True), places.max(axis=1, keepdims=True)
    side = (high - low).max(axis=-1, keepdims=True)
    return 0.5 + (places - (low + high) / 2) / np.where(side > 0, side, np.float32(1))


def _slot(name: str, index: int, kinds: list[str], columns: int) -> int:
    """The slot of a panel; what comes before the layers is in the first column."""
    layer = point_layer(name)
    return index * columns if layer is None else kinds.index(point_kind(name)) * columns + layer + 1


def _columns(count: int) -> int:
    """Columns that fill all rows, if that is near to the shape of a screen."""
    least = int(np.ceil(np.sqrt(WIDE * count)))
    return next((columns for columns in range(least, min(2 * least, count) + 1) if count % columns == 0), least)


def drawn_token_sets(corpus: Corpus) -> list[str]:
    """Token sets with a picture: while an ingest draws, or after one that was stopped, some have none."""
    return [name for name in corpus.token_sets if corpus.features(name).views]


def is_drawn(context: Context) -> bool:
    """Whether there is a picture of the link's token set."""
    corpus = context.corpus
    return bool(corpus.token_sets) and (context.state.material or corpus.token_sets[0]) in drawn_token_sets(corpus)


def token_set_title(token_set: str) -> str:
    """The title of a token set: `the sample`, `review 3`."""
    return "the sample" if token_set == SAMPLE else token_set.replace("-", " ")


@cached
def pieces_of(features: Features) -> list[str]:
    """The wordpiece of every token."""
    return features.wordpieces()


def cosines(features: Features) -> NDArray[np.float64]:
    """Mean cosine of a token's vectors at two points: (point, other_point); NaN between points of different bases."""
    alike = [[same_basis(point, other) for other in features.points] for point in features.points]
    return np.where(alike, features.similarity.values.astype(np.float64), np.nan)


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
