"""The opened store: one model on one corpus at one snapshot, as labelled, lazy selections."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from icechunk import Session
from numpy.typing import NDArray

from store.errors import StoreError
from store.head_means import head_means
from store.kernels.attention import attention_pattern
from store.kernels.labels import head_labels
from store.schema import PAD, PAIR_NUMBERS
from store.views import MOST

TOKEN_COORDINATES = ("token_id", "position", "word_index", "sentence_index", "token_flags")
SENTENCE_ARRAYS = ("row_start", "row_size", "label", "document", "sentence_hash", "text")


class Corpus:
    """What one model does on one corpus, read at one snapshot. Nothing is loaded before it is asked for.

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

    def __init__(self, session: Session, name: str) -> None:
        self.name = name
        self.snapshot: str = session.snapshot_id
        self._session = session
        self._model = self._open(f"models/{name}")
        self.attributes: Mapping[str, Any] = self._model.attrs
        self._text = self._open(f"corpus/{self.attributes['corpus']}")
        self.corpus_attributes: Mapping[str, Any] = self._text.attrs
        self.n_sentences: int = int(self.attributes["sentences"])
        self.n_tokens: int = int(self.attributes["tokens"])
        self.layers: int = self._model.sizes["layer"]
        self.heads: int = self._model.sizes["head"]
        self._views: dict[str, xr.Dataset] = {}  # opening one again costs 40 ms

    def _open(self, group: str) -> xr.Dataset:
        # chunks=None: wrapping the arrays in dask made every read 3 to 20 times slower.
        return xr.open_zarr(self._session.store, group=group, chunks=None, consolidated=False)

    def _open_if_there(self, group: str) -> xr.Dataset:
        """Empty where the store was written by a Headscape that did not know the group."""
        try:
            return self._open(group)
        except FileNotFoundError:
            return xr.Dataset()

    # -- tokens and sentences -----------------------------------------------------------------------

    @cached_property
    def sentences(self) -> xr.Dataset:
        """Every sentence: row_start, row_size, label, document, sentence_hash, text (sentence). Loaded once."""
        return self._text[list(SENTENCE_ARRAYS)].isel(sentence=slice(0, self.n_sentences)).load()

    @cached_property
    def tokens(self) -> xr.Dataset:
        """Every row of the token axis, padding included: TOKEN_COORDINATES (token). Loaded once."""
        return self._text[list(TOKEN_COORDINATES)].isel(token=slice(0, self._token_stop)).load()

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the token axis that hold a real token, in corpus order: (n_tokens,)."""
        return np.flatnonzero((self.tokens.token_flags.values & PAD) == 0)

    @cached_property
    def vocab(self) -> NDArray[np.object_]:
        """Wordpiece of each token id."""
        return self._text.vocab.values

    @cached_property
    def _token_stop(self) -> int:
        last = self._text[["row_start", "row_size"]].isel(sentence=self.n_sentences - 1)
        return int(last.row_start + last.row_size)

    def wordpieces(self, rows: slice | NDArray[np.int64]) -> list[str]:
        """Wordpieces of rows of the token axis."""
        return [str(piece) for piece in self.vocab[self.tokens.token_id.values[rows]]]

    def sentence_rows(self, sentence: int) -> slice:
        """Where the sentence's tokens stand on the token axis."""
        if not 0 <= sentence < self.n_sentences:
            raise StoreError(
                f"There is no sentence {sentence}: the corpus has 0 to {self.n_sentences - 1}. Choose one of these."
            )
        start = int(self.sentences.row_start[sentence])
        return slice(start, start + int(self.sentences.row_size[sentence]))

    def label_name(self, sentence: int) -> str:
        """Label of the sentence's review, empty where it has none."""
        label = int(self.sentences.label.values[sentence])
        names = list(self.corpus_attributes.get("label_names", ()))
        return str(names[label]) if 0 <= label < len(names) else ""

    @cached_property
    def columns(self) -> xr.Dataset:
        """Categorical columns that came with the data, int16 codes (sentence), -1 for none. Loaded once.

        Each array's attrs say its `title` in the data and its `names`, one per code. Empty where there are none.
        """
        group = self._open_if_there(f"corpus/{self.attributes['corpus']}/columns")
        columns = (
            group[list(group.attrs.get("titles", []))]
            .isel(sentence=slice(0, self.n_sentences), missing_dims="ignore")
            .load()
        )
        for name, column in columns.items():
            column.attrs |= {"title": group.attrs["titles"][name], "names": group.attrs["names"][name]}
        return columns

    # -- what the model does ------------------------------------------------------------------------

    @property
    def query(self) -> xr.DataArray:
        """Queries (layer, head, token, channel) in float16, before the 1/sqrt(channel) scale. Lazy."""
        return self._per_token("query")

    @property
    def key(self) -> xr.DataArray:
        """Keys (layer, head, token, channel) in float16. Lazy."""
        return self._per_token("key")

    @property
    def value_norm(self) -> xr.DataArray:
        """||f(x)|| (layer, head, token): the length of what the head hands on of a token (Kobayashi 2020). Lazy."""
        return self._per_token("value_norm")

    @property
    def token_statistic(self) -> xr.DataArray:
        """Statistics of every token's row (statistic, layer, head, token); `store.STATISTICS` defines them. Lazy."""
        return self._per_token("token_statistic")

    @cached_property
    def head_statistic(self) -> xr.DataArray:
        """Means over sentences (source, statistic, layer, head); `source` says over which rows. float64, exact."""
        return self._model.head_statistic.load()

    def head_means(self, chosen: NDArray[np.bool_]) -> xr.DataArray:
        """As `head_statistic`, over the chosen tokens (n_tokens,) only: (source, statistic, layer, head), NaN without any."""
        return head_means(self.token_statistic, self.tokens, self.rows, chosen)

    @cached_property
    def head_interval(self) -> xr.DataArray:
        """95 % intervals of `head_statistic` (bound, source, statistic, layer, head), by bootstrap over sentences."""
        return self._model.head_interval.load()

    @cached_property
    def head_profile(self) -> xr.DataArray:
        """Attention by key - query (offset, layer, head), mean over sentences of the mean over rows; sums to 1.

        Offsets -11 and 11 are all keys farther than 10.
        """
        return self._model.head_profile.load()

    @cached_property
    def received_at(self) -> xr.DataArray:
        """Mean weight that a sentence's rows give to a position (position, layer, head), Clark's column mean.

        Mean over the sentences that have the position, as many as its coordinate `count` says; NaN where there are none.
        """
        places = np.arange(self._model.sizes["position"])
        count = self._model.tokens_at.load().values
        return self._model.received_at.load().assign_coords(position=places, count=("position", count))

    @property
    def token_mixing(self) -> xr.DataArray:
        """Mixing ratios of every token (ratio, layer, token); `store.schema.RATIOS` defines them. Lazy."""
        return self._per_token("token_mixing")

    @cached_property
    def layer_mixing(self) -> xr.DataArray:
        """Means over sentences of the mixing ratios (source, ratio, layer). float64, exact."""
        return self._model.layer_mixing.load()

    @cached_property
    def expansion_rate(self) -> xr.DataArray:
        """How much x -> f(x) of all heads lengthens a vector (layer); from the weights alone (Kobayashi 2021)."""
        return self._model.expansion_rate.load()

    @cached_property
    def uniform_entropy(self) -> float:
        """Entropy in nats if attention were uniform: mean over sentences of ln(tokens)."""
        return float(np.log(self.sentences.row_size.values).mean())

    def _per_token(self, name: str) -> xr.DataArray:
        array = self._model[name].isel(token=slice(0, self._token_stop))
        return array.assign_coords({key: self.tokens[key] for key in ("position", "sentence_index", "token_flags")})

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

    @cached_property
    def pairs(self) -> xr.Dataset:
        """Strongest pairs of every head: query_token, key_token (rows of the token axis), logit, weight (layer, head, rank).

        Loaded once. Within sentences, over the whole corpus, each two wordpieces at their strongest; without [CLS], [SEP]
        and pairs of a token with itself. Where a head has fewer, the tokens are -1 and the numbers NaN.
        """
        group = self._open_if_there(f"models/{self.name}/pairs")
        if "sentences" not in group.attrs:  # as long as they are being found for the first time
            raise StoreError(f"{self.name} has no strongest pairs yet. Find them with `make ingest`.")
        return group[list(PAIR_NUMBERS)].load()

    @cached_property
    def importance(self) -> xr.Dataset:
        """What the heads are worth to the model: `change` (layer, head) of its loss when the head is silenced. Loaded once.

        Positive where the model gets worse without the head. The attrs say the `kind` and `measure` of the loss, the
        `loss` of the whole model, on how many `sentences` and `answers`.

        Raises
        ------
        StoreError
            Where no ingest was asked for it.
        """
        group = self._open_if_there(f"models/{self.name}/importance")
        if "importance_hash" not in group.attrs:  # as long as it is being found for the first time
            raise StoreError(
                f"What the heads of {self.name} are worth has not been found. Run `make ingest` with IMPORTANCE=100."
            )
        return group[["change"]].load()

    @cached_property
    def divergence(self) -> xr.Dataset:
        """How far apart any two heads are: divergence (layer, head, other_layer, other_head) in nats, place (layer, head, component).

        Loaded once. `divergence` is Clark's Jensen-Shannon divergence, sum over the tokens of a sample, `mean_divergence`
        that of a token, 0 to ln 2; `place` the map of the heads. attrs: tokens, sentences, measured_on, stress, seed.
        """
        group = self._open_if_there(f"models/{self.name}/divergence")
        if "tokens" not in group.attrs:
            raise StoreError(f"{self.name} has no divergence of its heads yet. Find it with `make ingest`.")
        return group.assign(mean_divergence=group.divergence / group.attrs["tokens"]).load()

    @cached_property
    def head_labels(self) -> xr.DataArray:
        """What every head is in a word, (layer, head), "" where no rule of `store.kernels.labels.LABELS` holds."""
        return head_labels(self.head_statistic, self.uniform_entropy)

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
            opened = self._open(f"models/{self.name}/views/{name}")
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
        """Constants of every normalisation and what they do: (normalization, layer, head); see `store.normalizations`."""
        return self._open(f"models/{self.name}/normalizations").load()
