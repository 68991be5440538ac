"""The vectors of some tokens at every feature point of a model, as labelled selections."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.errors import StoreError
from store.schema.features import SAMPLE
from store.schema.pictures import MOST
from store.text import Text

TOKEN_ARRAYS = ("row", "token_id", "position", "word_index", "token_flags", "sentence_index")


class Features:
    """One material of one model: the same tokens at every feature point (see `store.schema.features`).

    Attributes
    ----------
    name
        `sample` or `review-<n>`.
    attributes
        What it is, on how many tokens and sentences; see `store.schema.features`.
    points
        Names of the points, in the order of the model.
    n_tokens
        How many tokens.
    """

    def __init__(self, corpus: Text, name: str) -> None:
        self.name = name
        self._corpus = corpus
        self._path = f"models/{corpus.name}/features/{name}"
        self._group = corpus.open_group(self._path)
        self.attributes: Mapping[str, Any] = self._group.attrs
        self.points: tuple[str, ...] = tuple(map(str, self._group.point.values))
        self.n_tokens: int = self._group.sizes["token"]
        self._opened: dict[str, xr.Dataset] = {}  # opening one again costs as much as reading it

    # -- tokens -------------------------------------------------------------------------------------

    @cached_property
    def tokens(self) -> xr.Dataset:
        """TOKEN_ARRAYS (token). In the sample `sentence_index` is the corpus'; in a review the sentence of the review."""
        return self._group[list(TOKEN_ARRAYS)].load()

    def wordpieces(self) -> list[str]:
        """Wordpieces of the tokens."""
        return [str(piece) for piece in self._corpus.vocab[self.tokens.token_id.values]]

    @cached_property
    def label(self) -> NDArray[np.int64]:
        """Label of each token's review (token,), -1 where there is none; `label_names` says what they mean."""
        if self.name != SAMPLE:
            return np.full(self.n_tokens, int(self.attributes["label"]))
        return self._corpus.sentences.label.values[self.tokens.sentence_index.values].astype(np.int64)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return list(self._corpus.label_names)

    # -- vectors and measures -----------------------------------------------------------------------

    @property
    def feature(self) -> xr.DataArray:
        """Vectors (point, token, feature) in float16. Lazy."""
        return self._group["feature"]

    @property
    def value(self) -> xr.DataArray:
        """Values (layer, head, token, channel) in float16. Lazy."""
        return self._group["value"]

    @cached_property
    def similarity(self) -> xr.DataArray:
        """Mean over tokens of the cosine between a token's vectors at two points: (point, other_point).

        It means something between points of one basis: `store.schema.features.same_basis`.
        """
        return self._between_points("similarity")

    @cached_property
    def cka(self) -> xr.DataArray:
        """Linear CKA of two points (point, other_point), 0 to 1 (Kornblith et al. 2019); attr cka_tokens: on how many tokens."""
        return self._between_points("cka")

    def _between_points(self, name: str) -> xr.DataArray:
        return self._group[name].load().assign_coords(other_point=("other_point", list(self.points)))

    @cached_property
    def explained(self) -> xr.DataArray:
        """Share of the variance that groups of tokens explain (factor, point), by chance 0; NaN where there is one group."""
        return self._group["explained"].load()

    @cached_property
    def class_probability(self) -> xr.DataArray | None:
        """Probability of each label (sentence, class) of the sentences in order, one row of a review; None if no classifier."""
        if "class_probability" not in self._group:
            return None
        names = [str(name) for name in self.attributes["class_names"]]
        return self._group["class_probability"].load().assign_coords({"class": ("class", names)})

    # -- pictures -----------------------------------------------------------------------------------

    @property
    def views(self) -> list[str]:
        """Names of the finished views, the most faithful first."""
        return list(self.attributes.get("views", []))

    def view(self, name: str) -> xr.Dataset:
        """A view: coordinates (point, token, component), cube, trustworthiness (point); how it was made as attrs. Lazy."""
        return self._view("views", name, self.views).assign_coords(point=("point", list(self.points)))

    def places(self, view: str, tokens: int, point: int | None = None) -> NDArray[np.float32]:
        """Where the first so many tokens are drawn, 0 to 1 on every axis of the view's cube: (point, token, component).

        At every point, or at one by its number; nothing of the others is read then.
        """
        stored = self.view(view).coordinates.variable[_one_or_all(point), :tokens].values
        return stored.astype(np.float32) / np.float32(MOST)

    @property
    def value_views(self) -> list[str]:
        """Names of the finished views of values."""
        return list(self.attributes.get("value_views", []))

    def value_view(self, name: str) -> xr.Dataset:
        """A view of values: coordinates (layer, head, token, component), cubes, trustworthiness (layer, head). Lazy.

        The attr `layers` says which layers it has.
        """
        return self._view("value_views", name, self.value_views)

    def value_places(self, view: str, layer: int, tokens: int, head: int | None = None) -> NDArray[np.float32]:
        """Where the values of the first so many tokens are drawn in a layer, 0 to 1: (head, token, component).

        Of every head, or of one; nothing of the others is read then.

        Raises
        ------
        StoreError
            Where the view has no picture of the layer.
        """
        opened = self.value_view(view)
        layers = list(opened.attrs["layers"])
        if layer not in layers:
            raise StoreError(
                f"The picture {view} of values has no layer {layer}. Choose one of: {', '.join(map(str, layers))}."
            )
        stored = opened.coordinates.variable[layer, _one_or_all(head), :tokens].values
        return stored.astype(np.float32) / np.float32(MOST)

    def _view(self, group: str, name: str, there: list[str]) -> xr.Dataset:
        if name not in there:
            raise StoreError(
                f"There is no view {name!r} of the feature points. There are: {', '.join(there) or 'none; run `make ingest`'}."
            )
        path = f"{self._path}/{group}/{name}"
        if path not in self._opened:
            opened = self._corpus.open_group(path)
            opened["trustworthiness"].load()
            self._opened[path] = opened
        return self._opened[path]


def _one_or_all(place: int | None) -> slice:
    return slice(None) if place is None else slice(place, place + 1)
