"""||f(x)|| of a head's tokens against how often their wordpieces occur."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dashboard.cache import cached
from dashboard.pictures.token_numbers import piece_counts
from store import Corpus

#: Groups of the tokens by frequency, alike in size but for a wordpiece so frequent that it fills some.
GROUPS = 10
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NormByFrequency:
    """Tokens in groups of like frequency, and how the two go together over all of them.

    Attributes
    ----------
    frequency
        Median occurrences of the group's tokens: (group,).
    fewest, most, tokens
        Of each group: its least and its most frequent wordpiece, how many tokens it has.
    quartiles
        First quartile, median and third quartile of ||f(x)||: (3, group).
    spearman
        Rank correlation over all tokens, NaN where there is none.
    """

    frequency: Floats
    fewest: list[int]
    most: list[int]
    tokens: list[int]
    quartiles: Floats
    spearman: float


@cached
def norm_by_frequency(corpus: Corpus, layer: int, head: int) -> NormByFrequency:
    """Every token of the corpus in one head (Kobayashi 2020, section 4.3)."""
    norm = corpus.value_norm.variable[layer, head].values.astype(np.float64)[corpus.rows]
    return by_frequency(norm, piece_counts(corpus)[corpus.tokens.token_id.values[corpus.rows]])


def by_frequency(norm: Floats, frequency: NDArray[np.int64]) -> NormByFrequency:
    """The same of tokens with these norms and frequencies: (token,) each."""
    borders = np.unique(np.quantile(frequency, np.linspace(0, 1, GROUPS + 1)[1:-1], method="lower"))
    group = np.searchsorted(borders, frequency)
    each = [group == one for one in np.unique(group)]
    return NormByFrequency(
        frequency=np.array([np.median(frequency[one]) for one in each]),
        fewest=[int(frequency[one].min()) for one in each],
        most=[int(frequency[one].max()) for one in each],
        tokens=[int(one.sum()) for one in each],
        quartiles=np.array([np.percentile(norm[one], (25, 50, 75)) for one in each]).T,
        spearman=_spearman(norm, frequency),
    )


def _spearman(norm: Floats, frequency: NDArray[np.int64]) -> float:
    """By pandas, which xarray has loaded: scipy.stats takes 50 MB of every worker."""
    both = pd.DataFrame({"norm": norm, "frequency": frequency})
    return float(both.corr(method="spearman").loc["norm", "frequency"])
