"""Panels that show the same tokens, in order: the feature points of a material, or the values of the heads of a layer."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dashboard.web.view import feature_panels, feature_views, value_layers
from store import Corpus, StoreError
from store.features import Features
from store.schema.features import point_kind, point_layer, point_title

#: What the points of a token are: one.
ROLES = ("token",)
#: Stands for the feature points in a URL; values have their layer there.
POINTS = "points"
#: Points of a grid: with the scripts of the page and its charts they stay below 3 MB.
GRID_POINTS = 400_000
#: Columns are so many times the rows where nothing else says how many, as a screen is wide.
WIDE = 1.6

_VALUES = re.compile(r"L(\d{1,3})")


@dataclass(frozen=True)
class Series:
    """The panels of a material; of the value vectors of a `layer` where one is given, else of all feature points.

    Panels are named as in a link: by their point, or by their head, `H3`.
    """

    corpus: Corpus
    features: Features
    layer: int | None = None

    @classmethod
    def parse(cls, corpus: Corpus, features: Features, text: str) -> "Series":
        """From `points` or `L5`."""
        found = _VALUES.fullmatch(text)
        if text == POINTS:
            return cls(corpus, features)
        if found and int(found[1]) in value_layers(features):
            return cls(corpus, features, int(found[1]))
        raise StoreError(f"{features.name} has no panels {text[:40]!r}. Go to the page Features and choose there.")

    def __str__(self) -> str:
        return POINTS if self.layer is None else f"L{self.layer}"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of every panel, as in a link."""
        return feature_panels(self.corpus, self.features, self.layer)

    @property
    def titles(self) -> tuple[str, ...]:
        """Of every panel, for a person."""
        if self.layer is None:
            return tuple(map(point_title, self.names))
        return tuple(f"L{self.layer} {name}" for name in self.names)

    @property
    def views(self) -> list[str]:
        """Pictures there are of all panels, the default first."""
        return feature_views(self.features, self.layer)

    @cached_property
    def grid(self) -> tuple[int, tuple[int, ...]]:
        """Columns, and the place of every panel in the grid: layers across, what each of them has downwards."""
        if self.layer is not None:
            return _columns(len(self.names)), tuple(range(len(self.names)))
        columns = self.corpus.layers + 1
        kinds = list(dict.fromkeys(point_kind(name) for name in self.names if point_layer(name) is not None))
        return columns, tuple(_slot(name, place, kinds, columns) for place, name in enumerate(self.names))

    @property
    def grid_tokens(self) -> int:
        """Tokens drawn in every panel of the grid."""
        return min(self.features.n_tokens, max(1, GRID_POINTS // len(self.names)))

    def index(self, panel: str) -> int:
        """Number of a panel by its name. Raises StoreError where there is none of this name."""
        if panel not in self.names:
            raise StoreError(f"There is no {panel[:40]!r} among {', '.join(self.names)}. Choose one of them.")
        return self.names.index(panel)

    def places(self, view: str, tokens: int, panel: str | None = None) -> NDArray[np.float32]:
        """Where the first tokens are drawn, 0 to 1: (panel, token, role, component), in all panels or in one; one role."""
        index = None if panel is None else self.index(panel)
        if self.layer is None:
            return self.features.places(view, tokens, index)[:, :, None]
        return self.features.value_places(view, self.layer, tokens, index)[:, :, None]

    def trustworthiness(self, view: str) -> NDArray[np.float64]:
        """Of every panel, 1 is perfect: (panel,)."""
        if self.layer is None:
            return self.features.view(view)["trustworthiness"].values.astype(np.float64)
        return self.features.value_view(view)["trustworthiness"].values[self.layer].astype(np.float64)

    def vectors(self, panel: str) -> NDArray[np.float32]:
        """What the panel is a picture of: (token, feature)."""
        index = self.index(panel)
        if self.layer is None:
            return self.features.feature.variable[index].values.astype(np.float32)
        return self.features.value.variable[self.layer, index].values.astype(np.float32)


def _slot(name: str, place: int, kinds: list[str], columns: int) -> int:
    """What comes before the layers stands in the first column."""
    layer = point_layer(name)
    return place * columns if layer is None else kinds.index(point_kind(name)) * columns + layer + 1


def _columns(count: int) -> int:
    """So many that rows are full, where that is near to the shape of a screen."""
    least = int(np.ceil(np.sqrt(WIDE * count)))
    return next((columns for columns in range(least, min(2 * least, count) + 1) if count % columns == 0), least)
