"""||f(x)|| of a head's tokens against how often their wordpieces occur."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dashboard.points.columns import piece_counts
from dashboard.web.cache import cached
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
class FrequencyGroups:
    """Tokens in groups of like frequency: the same for every head.

    Attributes
    ----------
    order
        Tokens, the rarest first: (token,).
    counts
        How many tokens have each frequency, the lowest first: (frequency,).
    starts
        Where in `order` groups begin, the first of them left out: (group - 1,).
    frequency, fewest, most, tokens
        As of `NormByFrequency`.
    """

    order: NDArray[np.int32]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    frequency: Floats
    fewest: list[int]
    most: list[int]
    tokens: list[int]


@cached
def norm_by_frequency(corpus: Corpus, layer: int, head: int) -> NormByFrequency:
    """Every token of the corpus in one head (Kobayashi 2020, section 4.3)."""
    return by_frequency(corpus.value_norm.variable[layer, head].values[corpus.rows], _groups(corpus))


@cached
def _groups(corpus: Corpus) -> FrequencyGroups:
    return group_tokens(piece_counts(corpus)[corpus.tokens.token_id.values[corpus.rows]])


def group_tokens(frequency: NDArray[np.integer]) -> FrequencyGroups:
    """Groups of tokens with these frequencies: (token,)."""
    order = np.argsort(frequency, kind="stable").astype(np.int32)
    ascending = frequency[order]
    borders = np.unique(np.quantile(ascending, np.linspace(0, 1, GROUPS + 1)[1:-1], method="lower"))
    ends = np.searchsorted(ascending, borders, side="right")
    starts = ends[ends < len(ascending)]
    each = np.split(ascending, starts)
    return FrequencyGroups(
        order=order,
        counts=np.unique(ascending, return_counts=True)[1],
        starts=starts,
        frequency=np.array([np.median(one) for one in each]),
        fewest=[int(one[0]) for one in each],
        most=[int(one[-1]) for one in each],
        tokens=[len(one) for one in each],
    )


def by_frequency(norm: NDArray[np.float16], groups: FrequencyGroups) -> NormByFrequency:
    """The same of tokens with these norms, as they are stored: (token,)."""
    ordered = norm[groups.order]
    each = np.split(ordered.astype(np.float64), groups.starts)
    return NormByFrequency(
        frequency=groups.frequency,
        fewest=groups.fewest,
        most=groups.most,
        tokens=groups.tokens,
        quartiles=np.array([np.percentile(one, (25, 50, 75)) for one in each]).T,
        spearman=_spearman(ordered, groups.counts),
    )


def _spearman(norm: NDArray[np.float16], counts: NDArray[np.int64]) -> float:
    """Pearson correlation of the ranks of norm and frequency; NaN, as pandas says, where one of them is constant.

    Norms are ranked by counting: they are not negative, so that their bits order them, and of float16 there are few.
    """
    bits = norm.view(np.uint16)
    ranks = {"norm": _mean_ranks(np.bincount(bits))[bits], "frequency": np.repeat(_mean_ranks(counts), counts)}
    return float(pd.DataFrame(ranks).corr().loc["norm", "frequency"])


def _mean_ranks(counts: NDArray[np.int64]) -> Floats:
    """Mean rank of each value, of which there are so many, the smallest first."""
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks
