"""Feature points of a set of tokens: the series of panels that show them, their places, vectors and similarities."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.features.trial import Trial, TrialPicture
from dashboard.features.trials import Trials
from dashboard.web.bounds import feature_panels, feature_views, value_layers
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from dashboard.web.token_sets import TokenSets, review_number, shown_token_set
from store import Corpus, StoreError
from store.features import Features
from store.schema.features import SAMPLE, point_kind, point_layer, point_title, same_basis

#: A token is one point here, neither query nor key.
ROLES = ("token",)
#: Series in a URL: all feature points on one scale, or each panel fitted to its tokens; values of a layer are `L5`.
POINTS, FITTED = "points", "fitted"
#: Most points of a grid: with the scripts and charts of the page they stay below 3 MB.
GRID_POINTS = 400_000
#: Most words of a search for reviews.
MOST_SOUGHT_WORDS = 8
#: Ratio of columns to rows of a grid without layers, like the sides of a screen.
WIDE = 1.6

_VALUES = re.compile(r"L(\d{1,3})")


@dataclass(frozen=True)
class FeaturePanels:
    """The panels of a token set in order: all feature points, or the value vectors of the heads of a `layer`.

    A panel has its name in a link: its feature point, or its head, `H3`. Feature points have one scale, or each panel is
    `fitted`; each head has its own scale. The `trials` add views to the views of the store.
    """

    corpus: Corpus
    features: Features
    layer: int | None = None
    fitted: bool = False
    trials: Trials | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, corpus: Corpus, features: Features, text: str, trials: Trials | None = None) -> "FeaturePanels":
        """The panels of the series `points`, `fitted` or `L5`. Raises StoreError for another series."""
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
        """Number of tokens in a view."""
        trial = Trial.parse(view, self.features)
        return trial.tokens if trial else self.features.n_tokens

    def trial_picture(self, view: str) -> TrialPicture | None:
        """The picture of a trial; None for a view of the store. Raises StoreError where it has not been fitted."""
        trial = Trial.parse(view, self.features)
        if trial is None or self.layer is not None:
            return None
        found = self.trials.find(self.corpus, self.features, trial) if self.trials else None
        if found is None:
            raise StoreError("The server does not have this trial any more. Run it again on page Features.")
        return found

    def attributes(self, view: str) -> Mapping[str, Any]:
        """Title and method of a view: its parameters, and the tokens that it is fitted and judged on."""
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
    """Places (panel, token, component) moved and scaled, alike on all axes, so that each panel fills 0 to 1."""
    low, high = places.min(axis=1, keepdims=True), places.max(axis=1, keepdims=True)
    side = (high - low).max(axis=-1, keepdims=True)
    return 0.5 + (places - (low + high) / 2) / np.where(side > 0, side, np.float32(1))


def _slot(name: str, index: int, kinds: list[str], columns: int) -> int:
    """The slot of a panel; a point before the layers is in the first column."""
    layer = point_layer(name)
    return index * columns if layer is None else kinds.index(point_kind(name)) * columns + layer + 1


def _columns(count: int) -> int:
    """Number of columns: all rows are full, if the grid then has nearly the shape of a screen."""
    least = int(np.ceil(np.sqrt(WIDE * count)))
    return next((columns for columns in range(least, min(2 * least, count) + 1) if count % columns == 0), least)


def drawn_token_sets(corpus: Corpus) -> list[str]:
    """Token sets with a picture: while an ingest draws, or after a stopped ingest, some have none."""
    return [name for name in corpus.token_sets if corpus.features(name).views]


def is_drawn(token_sets: TokenSets, corpus: Corpus, state: LinkState) -> bool:
    """Whether the link's token set has a picture; a review that is still to be read has none."""
    features = token_sets.find(corpus, shown_token_set(corpus, state)) if corpus.token_sets else None
    return features is not None and bool(features.views)


def token_set_title(token_set: str) -> str:
    """The title of a token set: `the sample`, `review 3`."""
    number = review_number(token_set)
    return "the sample" if token_set == SAMPLE else token_set if number is None else f"review {number:,}"


@dataclass(frozen=True)
class FoundReview:
    """A review with all of the words: its index in the data, its label, and the text around the first word."""

    number: int
    label: str
    excerpt: str


@dataclass(frozen=True)
class FoundReviews:
    """Number of reviews that have all of the words (`count` of `among`), and the first of these reviews."""

    count: int
    among: int
    first: tuple[FoundReview, ...]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "FoundReviews":
        """The result of a search from the arrays of a file."""
        known = json.loads(str(arrays["found"]))
        return cls(known["count"], known["among"], tuple(FoundReview(**each) for each in known["first"]))


def sought_words(words: str) -> list[str]:
    """The words of a search for reviews, each once."""
    return list(dict.fromkeys(words.split()))[:MOST_SOUGHT_WORDS]


@cached
def pieces_of(features: Features) -> list[str]:
    """The wordpiece of every token."""
    return features.wordpieces()


def cosines(features: Features) -> NDArray[np.float64]:
    """Mean cosine of a token's vectors at two points: (point, other_point); NaN between points of different bases."""
    alike = [[same_basis(point, other) for other in features.points] for point in features.points]
    return np.where(alike, features.similarity.values.astype(np.float64), np.nan)
