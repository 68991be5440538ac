"""How much of a token's vector comes from others, over a part of the corpus: means of the stored ratios of its tokens."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.heads.part import Part
from dashboard.once import once
from dashboard.recent import Recent
from store import Corpus
from store.kernels.parts import sentence_shares, weighted_sums
from store.kernels.statistics import source_rows
from store.schema import RATIOS, SOURCES

#: Parts whose means are kept.
KEPT = 8


def part_mixing(corpus: Corpus, part: Part) -> xr.DataArray:
    """Mean over sentences of the mean over the part's rows: (source, ratio, layer); NaN where a source has no rows."""
    if part.tokens == corpus.n_tokens:
        return corpus.layer_mixing
    return _recent(corpus).get(part.chosen, lambda: _means(corpus, corpus.rows[part.rows]))


@once
def _recent(_: Corpus) -> Recent[xr.DataArray]:
    return Recent(KEPT)


def _means(corpus: Corpus, rows: NDArray[np.int64]) -> xr.DataArray:
    of_source = source_rows(corpus.tokens.token_flags.values[rows], np.ones(len(rows), bool))
    shares, counts = sentence_shares(of_source, corpus.tokens.sentence_index.values[rows])
    sums = weighted_sums(corpus.token_mixing.values[..., rows], shares).astype(np.float64)
    means = np.where(counts[:, None, None] > 0, sums / np.maximum(counts, 1)[:, None, None], np.nan)
    named = {"source": list(SOURCES), "ratio": list(RATIOS), "layer": np.arange(corpus.layers)}
    return xr.DataArray(means, dims=tuple(named), coords=named)
