"""Vectors of one token set at every feature point of a model, as labelled selections."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.repository.arrays import Groups, Views, with_written_attributes
from store.repository.errors import NotIngested, StoreError
from store.schema.features import SAMPLE, point_title
from store.schema.pictures import LARGEST_COORDINATE
from store.text import Piece

TOKEN_ARRAYS = ("row", "token_id", "position", "word_index", "token_flags", "sentence_index")


class Sentences(Protocol):
    """The part of a corpus that a token set reads."""

    name: str

    @property
    def sentences(self) -> xr.Dataset:
        """Sentences of the corpus, see `CorpusText.sentences`."""

    @property
    def vocab(self) -> NDArray[np.object_]:
        """Wordpiece of each token id, see `CorpusText.vocab`."""

    def pieces(self, tokens: xr.Dataset) -> list[Piece]:
        """Wordpieces of tokens, see `CorpusText.pieces`."""

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels, see `CorpusText.label_names`."""

    @property
    def token_reach(self) -> xr.DataArray:
        """Reach of each token, see `StageResults.token_reach`."""


class Features:
    """A token set of a model: the same tokens at every feature point (see `store.schema.features`).

    Attributes
    ----------
    name
        `sample`, or `review-<n>` with the index of a review in the data.
    attributes
        Kind and number of the tokens; see `store.schema.features`.
    points
        Names of the feature points, in the order of the model.
    n_tokens
        Number of tokens.
    """

    def __init__(self, corpus: Sentences, groups: Groups, name: str) -> None:
        path = f"models/{corpus.name}/features/{name}"
        self.name = name
        self._corpus = corpus
        stored = groups.open(path)
        #: Group of the token set; points have titles for pages beside their names.
        self._group = stored.assign_coords(title=("point", [point_title(str(name)) for name in stored.point.values]))
        self.attributes: Mapping[str, Any] = self._group.attrs
        self.points: tuple[str, ...] = tuple(map(str, self._group.point.values))
        self.n_tokens: int = self._group.sizes["token"]
        self._views, self._value_views = (
            Views(
                groups,
                f"{path}/{group}",
                list(self.attributes.get(group, [])),
                quality="trustworthiness",
                kind=" of the feature points",
            )
            for group in ("views", "value_views")
        )

    def __repr__(self) -> str:
        return f"<Features {self.name} of model {self._corpus.name}: {self.n_tokens:,} tokens at {len(self.points)} points>"

    # -- tokens -------------------------------------------------------------------------------------

    @cached_property
    def tokens(self) -> xr.Dataset:
        """TOKEN_ARRAYS (token). `sentence_index` counts sentences of the corpus in the sample, and sentences of the review in a review."""
        return with_written_attributes(self._group[list(TOKEN_ARRAYS)]).load()

    def wordpieces(self) -> list[str]:
        """Wordpieces of the tokens."""
        return [str(piece) for piece in self._corpus.vocab[self.tokens.token_id.values]]

    @cached_property
    def pieces(self) -> list[Piece]:
        """The wordpieces of the tokens with their place in words."""
        return self._corpus.pieces(self.tokens)

    @cached_property
    def label(self) -> NDArray[np.int64]:
        """Label of each token's review (token,), an index into `label_names`; -1 where it has none."""
        if self.name != SAMPLE:
            return np.full(self.n_tokens, int(self.attributes["label"]))
        return self._corpus.sentences.label.values[self.tokens.sentence_index.values].astype(np.int64)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return list(self._corpus.label_names)

    @cached_property
    def reach(self) -> xr.DataArray | None:
        """Reach of each token after the last layer (target, token); None in a whole review, or where it is not computed. Lazy."""
        if self.name != SAMPLE:
            return None
        try:
            every = self._corpus.token_reach
        except NotIngested:
            return None
        return every.isel(layer=-1, token=self.tokens.row.values)

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

        Meaningful only where both points have the same features: `store.schema.features.same_basis`.
        """
        return self._between_points("similarity")

    @cached_property
    def cka(self) -> xr.DataArray:
        """Linear CKA of two points (point, other_point), 0 to 1 (Kornblith 2019), over `cka_tokens` tokens (an attribute)."""
        return self._between_points("cka")

    def _between_points(self, name: str) -> xr.DataArray:
        return self._group[name].load().assign_coords(other_point=("other_point", list(self.points)))

    @cached_property
    def explained(self) -> xr.DataArray:
        """Share of the variance between groups of tokens (factor, point): 0 by chance, NaN for a single group."""
        return self._group["explained"].load()

    @cached_property
    def class_probability(self) -> xr.DataArray | None:
        """Probability of each label (sentence, class), one row for a review; None where the model is not a classifier."""
        if "class_probability" not in self._group:
            return None
        names = [str(name) for name in self.attributes["class_names"]]
        return self._group["class_probability"].load().assign_coords({"class": ("class", names)})

    # -- pictures -----------------------------------------------------------------------------------

    @property
    def views(self) -> list[str]:
        """Names of the finished views, the most faithful first."""
        return list(self._views.names)

    def view(self, name: str) -> xr.Dataset:
        """A view: coordinates (point, token, component), cube, trustworthiness (point); its settings as attributes. Lazy.

        Raises
        ------
        StoreError
            Where there is no finished view of this name.
        """
        return self._views.open(name).assign_coords(point=("point", list(self.points)))

    def places(self, view: str, tokens: int, point: int | None = None) -> NDArray[np.float32]:
        """Positions of the first tokens in a view, 0 to 1 on every axis of its cube: (point, token, component).

        Parameters
        ----------
        view
            Name of the view.
        tokens
            Number of tokens.
        point
            Index of the only feature point that is read; None for all.
        """
        stored = self.view(view).coordinates.variable[_one_or_all(point), :tokens].values
        return stored.astype(np.float32) / np.float32(LARGEST_COORDINATE)

    @property
    def value_views(self) -> list[str]:
        """Names of the finished views of values."""
        return list(self._value_views.names)

    def value_view(self, name: str) -> xr.Dataset:
        """A view of values: coordinates (layer, head, token, component), cubes, trustworthiness (layer, head). Lazy.

        The attribute `layers` lists the layers that the view has.

        Raises
        ------
        StoreError
            Where there is no finished view of this name.
        """
        return self._value_views.open(name)

    def value_places(self, view: str, layer: int, tokens: int, head: int | None = None) -> NDArray[np.float32]:
        """Positions of the first tokens' values in a view, 0 to 1 on every axis of the head's cube: (head, token, component).

        Parameters
        ----------
        view
            Name of the view.
        layer
            0-based.
        tokens
            Number of tokens.
        head
            The only head that is read; None for all.

        Raises
        ------
        StoreError
            Where the view does not have the layer.
        """
        opened = self.value_view(view)
        layers = list(opened.attrs["layers"])
        if layer not in layers:
            raise StoreError(
                f"The view {view} of values has no layer {layer}. Choose one of: {', '.join(map(str, layers))}."
            )
        stored = opened.coordinates.variable[layer, _one_or_all(head), :tokens].values
        return stored.astype(np.float32) / np.float32(LARGEST_COORDINATE)


def _one_or_all(index: int | None) -> slice:
    return slice(None) if index is None else slice(index, index + 1)
