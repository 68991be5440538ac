"""The opened store: one model on one corpus at one snapshot, as labelled, lazy selections."""

from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from zarr.abc.store import Store

from store.errors import StoreError
from store.features import Features
from store.heads import Heads
from store.kernels.attention import attention_pattern
from store.schema.pictures import MOST


class Corpus(Heads):
    """What one model does on one corpus, read at one snapshot: its sentences, what its heads do, its vectors and pictures.

    Attributes
    ----------
    name
        Key of the model group.
    snapshot
        Snapshot every number comes from.
    attributes
        Provenance of the model: checkpoint, versions, dtype, settings, stages.
    corpus_attributes
        Provenance of the sentences and tokens.
    """

    def __init__(self, chunks: Store, snapshot: str, name: str) -> None:
        super().__init__(chunks, snapshot, name)
        self._views: dict[str, xr.Dataset] = {}  # opening one again costs 40 ms
        self._features: dict[str, Features] = {}

    # -- vectors and patterns -----------------------------------------------------------------------

    @property
    def query(self) -> xr.DataArray:
        """Queries (layer, head, token, channel) in float16, before the 1/sqrt(channel) scale. Lazy."""
        return self._per_token("query")

    @property
    def key(self) -> xr.DataArray:
        """Keys (layer, head, token, channel) in float32, from float16 and a constant of each head (`store.keys`). Lazy."""
        return self._per_token("key")

    @property
    def value_norm(self) -> xr.DataArray:
        """||f(x)|| (layer, head, token): the length of what the head hands on of a token (Kobayashi 2020). Lazy."""
        return self._per_token("value_norm")

    def pattern(self, sentence: int, *, layer: int | None = None, head: int | None = None) -> xr.DataArray:
        """Attention of one sentence, recomputed from its queries and keys; rows sum to 1.

        Parameters
        ----------
        sentence
            Index of the sentence.
        layer, head
            0-based; None for all.

        Returns
        -------
        ([layer, head,] query_token, key_token) in float32, labelled with wordpieces.
        """
        query, key = (self._vectors(array, sentence, layer, head) for array in (self.query, self.key))
        return xr.apply_ufunc(
            attention_pattern,
            query.rename(token="query_token", wordpiece="query_wordpiece"),
            key.rename(token="key_token", wordpiece="key_wordpiece"),
            input_core_dims=[["query_token", "channel"], ["key_token", "channel"]],
            output_core_dims=[["query_token", "key_token"]],
            keep_attrs=False,
        ).rename("pattern")

    def _vectors(self, array: xr.DataArray, sentence: int, layer: int | None, head: int | None) -> xr.DataArray:
        rows = self.sentence_rows(sentence)
        chosen = {dim: index for dim, index in (("layer", layer), ("head", head)) if index is not None}
        part = array.sel(chosen).isel(token=rows).reset_coords(drop=True).load().astype(np.float32)
        labels = {dim: chosen.get(dim, array[dim]) for dim in ("layer", "head")}
        return part.assign_coords(labels | {"wordpiece": ("token", self.wordpieces(rows))})

    # -- pictures -----------------------------------------------------------------------------------

    @property
    def views(self) -> list[str]:
        """Names of the finished views, the default first."""
        return list(self.attributes.get("views", []))

    def view(self, name: str) -> xr.Dataset:
        """A view: coordinates (layer, head, role, token, component), its fit, its fidelity; parameters as attrs. Lazy."""
        if name not in self.views:
            raise StoreError(
                f"There is no view {name!r}. There are: {', '.join(self.views) or 'none; run `make ingest`'}."
            )
        if name not in self._views:
            opened = self.open_group(f"models/{self.name}/views/{name}")
            opened.fidelity.load()
            self._views[name] = opened
        return self._views[name]

    def places(
        self, view: str, rows: NDArray[np.int64], *, layer: int | None = None, head: int | None = None
    ) -> NDArray[np.float32]:
        """Where queries and keys are drawn, 0 to 1 on every axis of the view's cube: ([layer, head,] token, role, component).

        `rows` are ascending rows of the token axis.
        """
        coordinates = self.view(view).coordinates.variable
        chosen = {dim: index for dim, index in (("layer", layer), ("head", head)) if index is not None}
        start = int(rows[0])
        stored = coordinates.isel(chosen | {"token": slice(start, int(rows[-1]) + 1)}).values
        return np.moveaxis(stored[..., rows - start, :], -3, -2).astype(np.float32) / np.float32(MOST)

    @cached_property
    def normalizations(self) -> xr.Dataset:
        """Constants of every normalisation and what they do: (normalization, layer, head); see `store.schema.pictures`."""
        return self.open_group(f"models/{self.name}/normalizations").load()

    # -- feature points -----------------------------------------------------------------------------

    @cached_property
    def materials(self) -> list[str]:
        """Of what the store holds feature points: `sample`, `review-<n>`; empty where the ingest made none."""
        return list(self._open_if_there(f"models/{self.name}/features").attrs.get("materials", []))

    def features(self, material: str) -> Features:
        """The feature points of a material.

        Raises
        ------
        StoreError
            Where the store does not hold it.
        """
        if material not in self.materials:
            there = f"There are: {', '.join(self.materials)}." if self.materials else "Run `make ingest`."
            raise StoreError(f"{self.name} has no feature points of {material!r}. {there}")
        if material in self._features:
            return self._features[material]
        return self._features.setdefault(material, Features(self, material))  # both of two threads get the same
