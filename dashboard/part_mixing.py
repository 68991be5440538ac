"""How much of a token's vector comes from others, over a part of the corpus: means of the stored ratios of its tokens."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.part import Part
from dashboard.recent import Recent
from dashboard.row_weights import row_weights
from store import Corpus
from store.kernels.statistics import source_rows
from store.schema import RATIOS, SOURCES

_RECENT: Recent[xr.DataArray] = Recent(8)


def part_mixing(corpus: Corpus, part: Part) -> xr.DataArray:
    """Mean over sentences of the mean over the part's rows: (source, ratio, layer); NaN where a source has no rows."""
    if part.tokens == corpus.n_tokens:
        return corpus.layer_mixing
    return _RECENT.get((corpus.snapshot, corpus.name, part.rows.tobytes()), lambda: _means(corpus, part.rows))


def _means(corpus: Corpus, rows: NDArray[np.bool_]) -> xr.DataArray:
    flags = corpus.tokens.token_flags.values[corpus.rows]
    weights = np.stack([row_weights(corpus, one) for one in source_rows(flags, rows)])
    means = np.full((len(SOURCES), len(RATIOS), corpus.layers), np.nan)
    for layer in range(corpus.layers):
        values = corpus.token_mixing.variable[:, layer].values[:, corpus.rows].astype(np.float64)
        means[:, :, layer] = weights @ values.T
    named = {"source": list(SOURCES), "ratio": list(RATIOS), "layer": np.arange(corpus.layers)}
    return xr.DataArray(means, dims=("source", "ratio", "layer"), coords=named)
