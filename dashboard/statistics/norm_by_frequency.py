"""Value norm by token frequency: ‖f(x)‖ of a head's tokens by how often their wordpieces occur (Kobayashi 2020, section 4.3)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.points.columns import piece_counts
from dashboard.ui.charts import LINE, SERIES, layout
from dashboard.web.results import cached
from store import Corpus

#: Groups of the tokens by frequency, equal in size unless a single wordpiece is more frequent than that.
GROUPS = 10
#: Tokens whose norms are read, a uniform sample of sentences. With all of 1,000,000 tokens page Head took more than twice the
#: processor time.
SAMPLED = 131_072
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NormByFrequency:
    """Value norms of tokens in groups of similar frequency, and their rank correlation over all tokens.

    Attributes
    ----------
    frequency
        Median occurrences of the group's tokens: (group,).
    fewest, most, tokens
        Of each group: its least and its most frequent wordpiece, how many tokens it has.
    quartiles
        First quartile, median and third quartile of the value norm: (3, group).
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
    """Tokens in groups of similar frequency: the same for every head.

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
    """The value norms of one head over the first tokens of the corpus, all where they are no more than `SAMPLED`."""
    rows = _rows(corpus)
    return by_frequency(corpus.value_norm.variable[layer, head, : int(rows[-1]) + 1].values[rows], _groups(corpus))


def sampled_tokens(corpus: Corpus) -> int:
    """How many tokens `norm_by_frequency` is of."""
    return min(corpus.n_tokens, SAMPLED)


def _rows(corpus: Corpus) -> NDArray[np.int64]:
    return corpus.rows[: sampled_tokens(corpus)]


@cached
def _groups(corpus: Corpus) -> FrequencyGroups:
    return group_tokens(piece_counts(corpus)[corpus.tokens.token_id.values[_rows(corpus)]])


def group_tokens(frequency: NDArray[np.integer]) -> FrequencyGroups:
    """Group tokens with these frequencies: (token,)."""
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
        frequency=np.array([np.median(group) for group in each]),
        fewest=[int(group[0]) for group in each],
        most=[int(group[-1]) for group in each],
        tokens=[len(group) for group in each],
    )


def by_frequency(norm: NDArray[np.float16], groups: FrequencyGroups) -> NormByFrequency:
    """The value norms (token,), as they are stored, by group."""
    ordered = norm[groups.order]
    each = np.split(ordered.astype(np.float64), groups.starts)
    return NormByFrequency(
        frequency=groups.frequency,
        fewest=groups.fewest,
        most=groups.most,
        tokens=groups.tokens,
        quartiles=np.array([np.percentile(group, (25, 50, 75)) for group in each]).T,
        spearman=_spearman(ordered, groups.counts),
    )


def frequency_figure(norms: NormByFrequency) -> go.Figure:
    """A band from the first to the third quartile, and the median as a line."""
    occurs = [f"{low:,} to {high:,} times" for low, high in zip(norms.fewest, norms.most, strict=True)]
    band = {"x": norms.frequency, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    low: Any = go.Scatter(y=norms.quartiles[0], **band)
    high: Any = go.Scatter(y=norms.quartiles[2], fill="tonexty", fillcolor=LINE, **band)
    median: Any = go.Scatter(
        x=norms.frequency,
        y=norms.quartiles[1],
        text=occurs,
        customdata=list(zip(norms.quartiles[0], norms.quartiles[2], norms.tokens, strict=True)),
        mode="lines+markers",
        line={"color": SERIES[0], "width": 2},
        marker={"size": 6},
        hovertemplate=(
            "occurs %{text}: median %{y:.2f}<br>quartiles %{customdata[0]:.2f} to %{customdata[1]:.2f}, "
            "%{customdata[2]:,} tokens<extra></extra>"
        ),
    )
    across = {"title": "occurrences of the wordpiece in the corpus", "type": "log", "dtick": 1}
    down = {"title": "value norm ‖f(x)‖", "showgrid": True, "rangemode": "tozero"}
    return go.Figure([low, high, median], layout(across, down))


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
