"""Sentences and tokens of the corpus that one model was run on, at one snapshot."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from zarr.abc.store import Store

from store.errors import StoreError
from store.keys import with_keys
from store.schema.corpus import PAD

TOKEN_COORDINATES = ("token_id", "position", "word_index", "sentence_index", "token_flags")
SENTENCE_ARRAYS = ("row_start", "row_size", "label", "document", "sentence_hash", "text")


class Text:
    """What of a corpus is the same for every head. Nothing is loaded before it is asked for."""

    def __init__(self, chunks: Store, snapshot: str, name: str) -> None:
        self.name = name
        self.snapshot = snapshot
        self._chunks = chunks
        self._model = with_keys(self.open_group(f"models/{name}"))
        self.attributes: Mapping[str, Any] = self._model.attrs
        self._text = self.open_group(f"corpus/{self.attributes['corpus']}")
        self.corpus_attributes: Mapping[str, Any] = self._text.attrs
        self.n_sentences: int = int(self.attributes["sentences"])
        self.n_tokens: int = int(self.attributes["tokens"])
        self.layers: int = self._model.sizes["layer"]
        self.heads: int = self._model.sizes["head"]

    def open_group(self, group: str) -> xr.Dataset:
        """A group of the snapshot by its path. Lazy."""
        # chunks=None: wrapping the arrays in dask made every read 3 to 20 times slower.
        return xr.open_zarr(self._chunks, group=group, chunks=None, consolidated=False)

    def _open_if_there(self, group: str) -> xr.Dataset:
        """Empty where the store was written by a Headscape that did not know the group."""
        try:
            return self.open_group(group)
        except FileNotFoundError:
            return xr.Dataset()

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

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the reviews' labels, by their codes; empty where the data has none."""
        return tuple(map(str, self.corpus_attributes.get("label_names", ())))

    def label_name(self, sentence: int) -> str:
        """Label of the sentence's review, empty where it has none."""
        label = int(self.sentences.label.values[sentence])
        return self.label_names[label] if 0 <= label < len(self.label_names) else ""

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

    def _per_token(self, name: str) -> xr.DataArray:
        array = self._model[name].isel(token=slice(0, self._token_stop))
        return array.assign_coords({key: self.tokens[key] for key in ("position", "sentence_index", "token_flags")})
