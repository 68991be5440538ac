"""How much of a token's vector comes from others, over a part of the corpus: means of the stored ratios of its tokens."""

import xarray as xr

from dashboard.heads.counted import counted
from dashboard.heads.part import Part
from dashboard.once import once
from dashboard.recent import Recent
from store import Corpus

#: Parts whose means are kept.
KEPT = 8


def part_mixing(corpus: Corpus, part: Part) -> xr.DataArray:
    """Mean over sentences of the mean over the part's rows: (source, ratio, layer); NaN where a source has no rows."""
    if part.tokens == corpus.n_tokens:
        return corpus.layer_mixing
    return counted(_recent(corpus), part.chosen, lambda: corpus.mixing_means(part.rows))


@once
def _recent(_: Corpus) -> Recent[xr.DataArray]:
    return Recent(KEPT)
