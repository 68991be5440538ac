"""Context mixing from the stored arrays of a model: in one sentence, and shares by origin over many sentences.

The shares by origin divide a token's vector among classes of input tokens that it comes from. As in rollout, the matrices of all layers
up to a layer are multiplied.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray

from store.bias import read_bias
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias
from store.kernels.intervals import Replicates, draw_counts
from store.kernels.mixing import layer_matrix, roll_out
from store.kernels.statistics import source_rows
from store.process import one_thread
from store.repository.arrays import array_of, read_vectors
from store.repository.errors import NotIngested, StoreError
from store.results import MIXING_REMEDY, StageResults
from store.schema.mixing import METHODS, STORED_METHODS
from store.schema.model import ROLES, SOURCES

#: Number of queries whose patterns of all heads are in memory at once.
QUERIES = 256
#: Number of tokens whose vectors of all layers are in memory at once.
TOKENS = 2_048
#: Most tokens of a sentence: longer sentences are left out, as their matrices would fill the memory.
LONGEST = 512
Floats = NDArray[np.floating]


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
    """See `Corpus.context_mixing`; `weights` and `value_norm` are the corpus's.

    Patterns of `at_once` queries are in memory at once; all layers of a sentence with no more tokens are read in one piece.
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

    NotIngested where the ingest kept no products of the sentence.
    """
    mixing = corpus.mixing
    if sentence >= mixing.attrs["sentences"]:
        raise NotIngested(f"Context mixing: not computed of sentence {sentence}.", MIXING_REMEDY)
    products: NDArray[np.float16] = mixing["product"].variable[..., corpus.sentence_rows(sentence)].values
    return products.swapaxes(1, 2)


@dataclass(frozen=True)
class ArrivalShares:
    """Shares by origin, means over sentences.

    Attributes
    ----------
    mean
        (method, origin, source, layer), see `store.schema.mixing`; NaN for a source that no sentence has, and where all are too long.
    interval
        (bound, method, origin, source, layer).
    sentences
        Number of sentences.
    """

    mean: NDArray[np.float64]
    interval: NDArray[np.float64]
    sentences: int

    @classmethod
    def of(
        cls, model: zarr.Group, spans: NDArray[np.integer], flags: NDArray[np.uint8], *, seed: int
    ) -> "ArrivalShares":
        """Shares from the stored vectors and products of a model.

        Parameters
        ----------
        model
            Group of the model, with the group `mixing` in it.
        spans
            First row and end of every sentence on the token axis, ascending: (sentence, 2).
        flags
            Flags of the tokens (token,), up to the last of these rows.
        seed
            Seed of the bootstrap.
        """
        chosen = spans[spans[:, 1] - spans[:, 0] <= LONGEST]
        with one_thread("blas"):  # the matrices are small: threads would wait for each other
            shares = [
                sentence_shares(matrices, flags[slice(*span)])
                for span, matrices in zip(chosen, stored_matrices(model, chosen, STORED_METHODS), strict=True)
            ]
        shape = array_of(model, "mixing/arrival").shape
        return cls.over_sentences(np.array(shares).reshape(-1, *shape), seed=seed)

    @classmethod
    def over_sentences(cls, shares: NDArray[np.float64], *, seed: int) -> "ArrivalShares":
        """Means and intervals from the shares of each sentence (sentence, method, origin, source, layer), NaN for a missing source."""
        sentences, methods, origins, sources, layers = shares.shape
        counts = draw_counts(seed, 0, sentences)
        present = ~np.isnan(shares[:, 0, 0, :, 0]).T
        replicates = Replicates(sources=sources, statistics=methods * origins, layers=layers, heads=1)
        replicates.count_all(present, counts)
        flat = shares.reshape(sentences, methods * origins, sources, layers).transpose(3, 2, 1, 0)
        for layer, own in enumerate(flat):
            for source, means in enumerate(own):
                replicates.add(layer, source, means[:, None, present[source]], counts[present[source]])
        # (bound, source, statistic, layer) -> (bound, method, origin, source, layer)
        bounds = replicates.interval()[..., 0].swapaxes(1, 2).reshape(2, methods, origins, sources, layers)
        numbers = present.sum(axis=1)
        mean = np.nansum(shares, axis=0) / np.where(numbers, numbers, np.nan)[:, None]
        return cls(mean, bounds, sentences)


def sentence_shares(matrices: Floats, flags: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Shares of the vectors in one sentence by the class of the input token that they come from.

    Parameters
    ----------
    matrices
        (method, layer, query_token, key_token); rows sum to 1.
    flags
        (token,).

    Returns
    -------
    (method, origin, source, layer): means over the tokens of each source, NaN where the sentence has no such token.
    """
    real = np.ones(len(flags), bool)
    rows = source_rows(flags, real)
    cls_, sep, word = (rows[SOURCES.index(name)] for name in ("cls", "sep", "word"))
    # Without [CLS], the first token is a word and stands for [CLS]: its share counts once.
    classes = np.stack([cls_, sep, ~(cls_ | sep | word), word & ~cls_])
    through = np.stack([roll_out(list(layers)) for layers in matrices]).astype(np.float64)
    token = np.arange(len(flags))
    own = through[..., token, token].copy()
    through[..., token, token] = 0
    by_origin = np.concatenate([own[..., None], through @ classes.T.astype(np.float64)], axis=-1)
    counts = rows.sum(axis=1)
    weights = rows / np.where(counts, counts, np.nan)[:, None]
    means: NDArray[np.float64] = np.einsum("mlto,st->mosl", by_origin, weights)
    return means


def stored_matrices(model: zarr.Group, spans: NDArray[np.integer], methods: Sequence[str]) -> Iterator[Floats]:
    """Matrices (method, layer, query_token, key_token) of each sentence, given by its span on the token axis."""
    bias, scale = read_bias(model), np.asarray(array_of(model, "mixing/scale")[:])
    layers = range(len(scale))
    for run in _runs(spans):
        rows = slice(int(run[0, 0]), int(run[-1, 1]))
        vectors = [tuple(read_vectors(model, role, layer, rows) for role in ROLES) for layer in layers]
        products = np.asarray(array_of(model, "mixing/product")[..., rows])
        for start, stop in run - rows.start:
            own = slice(int(start), int(stop))
            patterns = (_pattern(vectors[layer], own, bias and bias.part(layer)) for layer in layers)
            matrices = [
                [
                    layer_matrix(method, pattern, products=products[layer, :, own].T.astype(np.float32))
                    for method in methods
                ]
                for layer, pattern in enumerate(patterns)
            ]
            yield np.array(matrices).swapaxes(0, 1)


def _pattern(vectors: tuple[Floats, ...], rows: slice, bias: AttentionBias | None) -> Floats:
    query, key = (each[:, rows] for each in vectors)
    pattern: Floats = attention_pattern(query, key, bias=bias)
    return pattern


def _runs(spans: NDArray[np.integer]) -> Iterator[NDArray[np.integer]]:
    """Runs of sentences that are read together, each within `TOKENS` rows of the token axis."""
    start = 0
    while start < len(spans):
        stop = max(start + 1, int(np.searchsorted(spans[:, 1], spans[start, 0] + TOKENS, side="right")))
        yield spans[start:stop]
        start = stop
