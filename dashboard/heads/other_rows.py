"""Attention to [SEP] of all tokens but [SEP]: Clark's `rest_sep`, which the stored means by source do not hold."""

import numpy as np
from numpy.typing import NDArray

from dashboard.heads.part import Part
from dashboard.once import once
from dashboard.recent import Recent
from store import STATISTICS, Corpus
from store.part_means import part_means
from store.schema import SEP

#: Parts whose means are kept.
KEPT = 8


def other_to_sep(corpus: Corpus, part: Part) -> NDArray[np.float64]:
    """Mean over sentences of the mean over the part's rows other than [SEP]: (layer, head); NaN without such rows."""
    return _recent(corpus).get(part.chosen, lambda: _means(corpus, part.rows))


@once
def _recent(_: Corpus) -> Recent[NDArray[np.float64]]:
    return Recent(KEPT)


def _means(corpus: Corpus, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    others = rows & (corpus.tokens.token_flags.values[corpus.rows] & SEP == 0)
    place = list(STATISTICS).index("to_sep")
    to_sep = corpus.token_statistic.isel(statistic=slice(place, place + 1))
    means: NDArray[np.float64] = part_means(to_sep, corpus.tokens, corpus.rows, others).sel(source="all").values[0]
    return means
