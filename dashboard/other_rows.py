"""Attention to [SEP] of all tokens but [SEP]: Clark's `rest_sep`, which the stored means by source do not hold."""

import numpy as np
from numpy.typing import NDArray

from dashboard.part import Part
from dashboard.recent import Recent
from dashboard.row_weights import row_weights
from store import STATISTICS, Corpus
from store.schema import SEP

_RECENT: Recent[NDArray[np.float64]] = Recent(8)


def other_to_sep(corpus: Corpus, part: Part) -> NDArray[np.float64]:
    """Mean over sentences of the mean over the part's rows other than [SEP]: (layer, head); NaN without such rows."""
    return _RECENT.get((corpus.snapshot, corpus.name, part.rows.tobytes()), lambda: _means(corpus, part.rows))


def _means(corpus: Corpus, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    weights = row_weights(corpus, rows & (corpus.tokens.token_flags.values[corpus.rows] & SEP == 0)).astype(np.float32)
    place = list(STATISTICS).index("to_sep")
    means = np.empty((corpus.layers, corpus.heads))
    for layer in range(corpus.layers):
        values = corpus.token_statistic.variable[place, layer].values[:, corpus.rows]
        means[layer] = values.astype(np.float32) @ weights
    return means
