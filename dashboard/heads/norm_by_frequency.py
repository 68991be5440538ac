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


@dataclass(frozen=True)
class Frequencies:
    """How often the wordpiece of each token occurs, the rarest first, whatever the head.

    Attributes
    ----------
    order
        Tokens, the rarest first: (token,).
    sorted
        Their frequencies: (token,).
    starts
        Where in this order groups begin, the first of them left out: (group - 1,).
    """

    order: NDArray[np.int32]
    sorted: NDArray[np.int32]
    starts: NDArray[np.int64]


@cached
def norm_by_frequency(corpus: Corpus, layer: int, head: int) -> NormByFrequency:
    """Every token of the corpus in one head (Kobayashi 2020, section 4.3)."""
    return by_frequency(corpus.value_norm.variable[layer, head].values[corpus.rows], _frequencies(corpus))


@cached
def _frequencies(corpus: Corpus) -> Frequencies:
    return frequencies(piece_counts(corpus)[corpus.tokens.token_id.values[corpus.rows]])


def frequencies(frequency: NDArray[np.integer]) -> Frequencies:
    """Tokens with these frequencies (token,), in groups."""
    order = np.argsort(frequency, kind="stable").astype(np.int32)
    ascending = frequency[order].astype(np.int32)
    borders = np.unique(np.quantile(ascending, np.linspace(0, 1, GROUPS + 1)[1:-1], method="lower"))
    ends = np.searchsorted(ascending, borders, side="right")
    return Frequencies(order, ascending, ends[ends < len(ascending)])


def by_frequency(norm: NDArray[np.float16], tokens: Frequencies) -> NormByFrequency:
    """The same of tokens with these norms, as they are stored: (token,)."""
    ascending = norm[tokens.order]
    each = np.split(tokens.sorted, tokens.starts)
    norms = np.split(ascending, tokens.starts)
    return NormByFrequency(
        frequency=np.array([np.median(one) for one in each]),
        fewest=[int(one[0]) for one in each],
        most=[int(one[-1]) for one in each],
        tokens=[len(one) for one in each],
        quartiles=np.array([np.percentile(one.astype(np.float64), (25, 50, 75)) for one in norms]).T,
        spearman=_spearman(ascending, tokens.sorted),
    )


def _spearman(norm: NDArray[np.float16], frequency: NDArray[np.int32]) -> float:
    """Pearson's of the ranks; pandas says NaN where one of them is constant."""
    ranks = pd.DataFrame({"norm": _ranks(norm.view(np.uint16)), "frequency": _ranks(frequency)})
    return float(ranks.corr().loc["norm", "frequency"])


def _ranks(codes: NDArray[np.integer]) -> Floats:
    """Mean rank of each code among all. To count them is ten times faster than to sort them; norms in float16 order as their bits."""
    counts = np.bincount(codes)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    return ranks
