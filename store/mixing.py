"""Context mixing of one stored sentence, by a method that needs no model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.kernels.mixing import layer_matrix, roll_out
from store.repository.errors import NotIngested, StoreError
from store.results import MIXING_REMEDY, StageResults
from store.schema.mixing import METHODS

#: Queries whose patterns of all heads are in memory at once.
QUERIES = 256


def context_mixing(
    corpus: StageResults,
    weights: Callable[..., NDArray[np.float32]],
    value_norm: xr.DataArray,
    sentence: int,
    method: str,
    *,
    rolled_out: bool = False,
    at_once: int = QUERIES,
) -> xr.DataArray:
    """As `Corpus.context_mixing` has it; `weights` and `value_norm` are those of the corpus.

    Patterns of `at_once` queries are in memory; a sentence of no more tokens is read in one piece, of all layers.
    """
    if method not in METHODS:
        raise StoreError(f"There is no context mixing by {method!r}. Choose one of: {', '.join(METHODS)}.")
    rows, layers = corpus.sentence_rows(sentence), value_norm.sizes["layer"]
    lacking: list[Any] = [None] * layers
    products = read_products(corpus, sentence) if method == "globenc" else lacking
    norms = value_norm.variable[..., rows].values.astype(np.float32) if method == "norm" else lacking
    tokens = np.arange(rows.stop - rows.start)
    patterns = weights(sentence) if len(tokens) <= at_once else None

    def matrix(layer: int, queries: NDArray[np.integer]) -> NDArray[np.float32]:
        pattern = weights(sentence, layer=layer, queries=queries) if patterns is None else patterns[layer]
        own: NDArray[np.float32] = layer_matrix(
            method, pattern, value_norm=norms[layer], products=products[layer], queries=queries
        )
        return own

    parts = [tokens[start : start + at_once] for start in range(0, len(tokens), at_once)]
    matrices = [np.concatenate([matrix(layer, queries) for queries in parts]) for layer in range(layers)]
    labels = corpus.piece_labels(sentence) | {"layer": np.arange(layers)}
    shares = roll_out(matrices) if rolled_out else np.stack(matrices)
    return xr.DataArray(shares, labels, ("layer", "query_token", "key_token"), name=method)


def has_products(corpus: StageResults, sentence: int) -> bool:
    """Whether the store has the inner products of the tokens of a sentence."""
    try:
        return sentence < int(corpus.mixing.attrs["sentences"])
    except NotIngested:
        return False


def read_products(corpus: StageResults, sentence: int) -> NDArray[np.float16]:
    """Inner products of the tokens of a sentence (layer, token, product), times a power of two.

    NotIngested where the ingest kept none of it.
    """
    mixing = corpus.mixing
    if sentence >= mixing.attrs["sentences"]:
        raise NotIngested(f"Context mixing: not computed of sentence {sentence}.", MIXING_REMEDY)
    products: NDArray[np.float16] = mixing["product"].variable[..., corpus.sentence_rows(sentence)].values
    return products.swapaxes(1, 2)
