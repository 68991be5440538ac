"""The statistics of one head: its label, every statistic among all heads, attention by position, value norms by token frequency."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.points.head_tokens import piece_counts
from dashboard.points.shown import ShownPoints
from dashboard.statistics.data import Values, interval_of, ranks, values_of
from dashboard.statistics.figures import received_by_position
from dashboard.statistics.heads import Nearest, head_label, label_of, nearest, read_nearest
from dashboard.statistics.sections import (
    Importance,
    Profile,
    definitions,
    head_importance,
    head_profile,
    read_importance,
    read_profile,
    relative_position_heading,
)
from dashboard.ui.charts import LINE, SERIES, chart, layout
from dashboard.ui.controls import info, statistic_info
from dashboard.ui.glossary import defined
from dashboard.ui.markup import Unmade, file_href, file_links, heading
from dashboard.ui.text import all_of, brief, capital, decimal, kind_of_interval, searched_tokens, spell
from dashboard.web.http import data_link
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus, StoreError
from store.phrases import many
from store.repository.ingest_status import IngestProgress
from store.schema.model import head_name, varying_statistics

#: Groups of the tokens by frequency, equal in size unless a single wordpiece has more tokens than a group.
GROUPS = 10
#: Tokens whose norms are read, from a uniform sample of sentences. With all 1,000,000 tokens page Head took more than twice the
#: processor time.
SAMPLED = 131_072
Floats = NDArray[np.float64]
#: Statistics of the query or key [CLS], listed beside the means over all queries.
OF_CLS = {"entropy": "attention entropy of [CLS]", "received": "attention received by [CLS]"}
#: Width and height in pixels of the picture of a head among all heads.
WIDTH, HEIGHT = 96, 16
#: Colours of the other heads and of the head itself, both visible on white and on black.
OTHERS, MARKED = "rgb(134,142,150)", "#D55E00"
_NUMBERS = (
    "Means over {}; every sentence has the same weight; 95% intervals {}. Rank 1 has the "
    "largest value. A grey line is another head."
)
_RECEIVED = (
    "Mean attention weight on the key at a position, over all queries of its sentence (Clark et al. 2019: the mean of a "
    "column)."
)
_NORM = defined(
    "norm",
    "Here of the tokens by how often their wordpiece occurs, in ten groups of tokens, after section 4.3 there; line: median, band: "
    "quartiles.",
)


@dataclass(frozen=True)
class NormByFrequency:
    """Value norms of tokens in groups of similar frequency, and their rank correlation over all tokens.

    Attributes
    ----------
    frequency
        Median occurrences of the group's tokens: (group,).
    fewest, most, tokens
        Occurrences of each group's least and most frequent wordpiece, and its number of tokens.
    quartiles
        First quartile, median and third quartile of the value norm: (3, group).
    spearman
        Rank correlation over all tokens; NaN where one of the two is constant.
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
        Places in `order` where groups begin, without the first group: (group - 1,).
    frequency, fewest, most, tokens
        See `NormByFrequency`.
    """

    order: NDArray[np.int32]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    frequency: Floats
    fewest: list[int]
    most: list[int]
    tokens: list[int]


@cached
def norm_by_frequency(corpus: Corpus, layer: int, head: int, sampled: int = SAMPLED) -> NormByFrequency:
    """Value norms of one head over the first `sampled` tokens of the corpus."""
    rows = corpus.rows[:sampled]
    norm = corpus.value_norm.variable[layer, head, : int(rows[-1]) + 1].values[rows]
    return by_frequency(norm, _groups(corpus, sampled))


@cached
def _groups(corpus: Corpus, sampled: int) -> FrequencyGroups:
    return group_tokens(piece_counts(corpus)[corpus.tokens.token_id.values[corpus.rows[:sampled]]])


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
    """Value norms (token,) of stored precision, summarised by group."""
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

    Norms are ranked by counting: they are not negative, so that their bits order them, and float16 has few values.
    """
    bits = norm.view(np.uint16)
    ranks = {"norm": _mean_ranks(np.bincount(bits))[bits], "frequency": np.repeat(_mean_ranks(counts), counts)}
    return float(pd.DataFrame(ranks).corr().loc["norm", "frequency"])


def _mean_ranks(counts: NDArray[np.int64]) -> Floats:
    """Mean rank of each distinct value from its number of occurrences, the smallest value first."""
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks


@dataclass(frozen=True)
class _Number:
    """A statistic of a head in words: its value, its 95% interval, its rank, and its place among all heads as a picture."""

    statistic: str
    source: str
    title: str
    value: str
    interval: str
    rank: str
    picture: str
    described: str


@dataclass(frozen=True)
class HeadStatistics:
    """Data of the tab Statistics on the head of a link.

    Attributes
    ----------
    label
        Label of the head; empty without one.
    about_numbers, sentences
        Sentence on what the numbers are means over, and the number of sentences, as a text.
    numbers
        Rows of the table.
    importance
        Importance of the head; None where the store has none.
    received
        The figure of attention received by position, and its caption.
    norms
        The figure of value norm by token frequency, its caption, and its tokens as a text.
    files
        The beginning of the URLs of the corpus' files.
    """

    state: LinkState
    label: str
    about_numbers: str
    sentences: str
    numbers: tuple[_Number, ...]
    importance: Importance | None
    profile: Profile
    received: tuple[go.Figure, str]
    norms: tuple[go.Figure, str, str]
    nearest: Nearest | Unmade
    files: str


def read_head_statistics(corpus: Corpus, state: LinkState, ingest: IngestProgress | None) -> HeadStatistics:
    """Read all data of the tab."""
    layer, head = state.layer, state.head
    return HeadStatistics(
        state=state,
        label=label_of(corpus, layer, head),
        about_numbers=_NUMBERS.format(all_of(corpus, "sentence"), kind_of_interval(corpus)),
        sentences=all_of(corpus, "sentence"),
        numbers=_numbers(corpus, layer, head),
        importance=_importance(corpus),
        profile=read_profile(corpus, layer, head),
        received=_read_received(corpus, layer, head),
        norms=read_norms(corpus, layer, head),
        nearest=read_nearest(corpus, layer, head, ingest, listed=5),
        files=data_link(corpus),
    )


def _importance(corpus: Corpus) -> Importance | None:
    try:
        read = read_importance(corpus, None)
    except StoreError:
        return None
    return read if isinstance(read, Importance) else None


def _read_received(corpus: Corpus, layer: int, head: int) -> tuple[go.Figure, str]:
    own, mean, count = received_shares(corpus, layer, head)
    caption = f"{many(int(count[0]), 'sentence')} with position 0, {int(count[-1]):,} with the last. "
    return received_by_position(own, mean, count), caption


def received_shares(corpus: Corpus, layer: int, head: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Attention received at a position, of a head and of its layer's mean, and sentences with the position: (position,) each."""
    received = corpus.received_at.sel(layer=layer)
    count: NDArray[np.int64] = received["count"].values
    real = count > 0
    return received.sel(head=head).values[real], received.mean("head").values[real], count[real]


def read_norms(corpus: Corpus, layer: int, head: int, sampled: int = SAMPLED) -> tuple[go.Figure, str, str]:
    """The figure of value norm by token frequency, its caption, and its tokens as a text."""
    norms = norm_by_frequency(corpus, layer, head, sampled)
    spearman = norms.spearman
    correlation = "none, as all are equal" if spearman != spearman else decimal(spearman)
    over = capital(searched_tokens(corpus, min(corpus.n_tokens, sampled)))
    return frequency_figure(norms), f"{over}; Spearman correlation of norm and frequency: {correlation}. ", over


def draw_head_statistics(shown: HeadStatistics) -> list[object]:
    """Draw the tab Statistics of page Head."""
    state = shown.state
    head = (state.layer, state.head)
    return [
        html.H2(head_label(shown.label)),
        *(head_importance(shown.importance, head) if shown.importance else []),
        numbers_table(state, shown.numbers),
        html.P(
            [
                "Click a statistic to see the sentences where it is largest.",
                info("these numbers", shown.about_numbers),
            ],
            className="caption",
        ),
        definitions(),
        file_links(shown.files, "All sources", f"statistics/{state.layer}/{state.head}"),
        relative_position_heading(shown.sentences),
        *head_profile(shown.profile, height=230),
        received_heading(),
        *_received(shown),
        *nearest(state, shown.nearest),
        html.H2(["Value norm by token frequency", info("value norm by token frequency", _NORM)]),
        *_norms(shown),
    ]


def received_heading() -> html.H2:
    """The heading of the figure of attention received by position."""
    return html.H2(["Attention received by position", info("attention received by position", _RECEIVED)])


def head_statistics(points: ShownPoints) -> list[object]:
    """Read and draw the tab Statistics of page Head."""
    return draw_head_statistics(read_head_statistics(points.corpus, points.state, points.ingest))


def numbers_table(state: LinkState, numbers: tuple[_Number, ...]) -> html.Table:
    """Every statistic of a head with its interval and its rank among all heads."""
    titles = heading(("mean of all queries", "value", "rank"), {"value", "rank"})
    return html.Table([titles, html.Tbody([_row(state, number) for number in numbers])], className="rows strips")


@cached
def _numbers(corpus: Corpus, layer: int, head: int) -> tuple[_Number, ...]:
    every = [(name, "all", STATISTICS[name].title) for name in varying_statistics("all")]
    of_cls = [(name, "cls", title) for name, title in OF_CLS.items()]
    stored = [row for row in [*every, *of_cls] if row[0] not in corpus.missing_statistics]
    return tuple(_number(corpus, (layer, head), *row) for row in stored)


def _number(corpus: Corpus, head: tuple[int, int], name: str, source: str, title: str) -> _Number:
    values = values_of(corpus.head_statistic, name, source)
    unit, value = STATISTICS[name].unit, float(values[head])
    interval = _interval(interval_of(corpus.head_interval, name, source), head, unit)
    rank = f"{ranks(values)[head]:.0f} of {values.size}"
    picture, described = strip(values, value), _range(values, value, unit)
    return _Number(name, source, title, spell(value, unit), interval, rank, picture, described)


def _row(state: LinkState, number: _Number) -> html.Tr:
    name = _name(state, number.statistic, number.source, number.title)
    value = [html.Div(number.value), html.Div(number.interval, className="between")]
    rank = [html.Div(number.rank), html.Img(src=number.picture, alt=number.described)]
    return html.Tr(
        [
            html.Td([name, statistic_info(number.statistic)]),
            html.Td(value, className="number"),
            html.Td(rank, className="number"),
        ]
    )


def _name(state: LinkState, name: str, source: str, title: str) -> object:
    """A link to the sentences with the largest values; they are ranked by means of all queries, so statistics of [CLS] have no link."""
    if source != "all":
        return html.Span(title)
    ranked = {"by": name, "first": "largest", "heads": str(state.head)}
    return dcc.Link(title, href=state.of_sentence(0, **ranked).href)


def _interval(ends: xr.DataArray, head: tuple[int, int], unit: str) -> str:
    low, high = ends.values[:, *head].tolist()
    return "" if low != low else f"{brief(low, unit)} to {brief(high, unit)}"


def _range(values: Values, value: float, unit: str) -> str:
    low, high = (spell(float(end), unit) for end in (np.nanmin(values), np.nanmax(values)))
    return f"All heads: {low} to {high}; this head: {spell(value, unit)}"


def strip(values: NDArray[np.float64], value: float) -> str:
    """All heads as small lines from the lowest value to the highest, one of them marked: an SVG picture as a data URL."""
    real = values[np.isfinite(values)]
    low, high = (float(real.min()), float(real.max())) if real.size else (0.0, 1.0)
    places = sorted({round(_place(other, low, high), 1) for other in real.tolist()})
    lines = "".join(f"M{x:g} 4v{HEIGHT - 8}" for x in places)
    own = f"M{_place(value, low, high):.1f} 0v{HEIGHT}" if np.isfinite(value) else ""
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f'<path d="{lines}" stroke="{OTHERS}" stroke-opacity=".55"/><path d="{own}" stroke="{MARKED}" stroke-width="3"/></svg>'
    )
    return f"data:image/svg+xml,{quote(svg)}"


def _place(value: float, low: float, high: float) -> float:
    return 2 + (WIDTH - 4) * ((value - low) / (high - low) if high > low else 0.5)


def _received(shown: HeadStatistics) -> list[object]:
    figure, caption = shown.received
    layer, head = shown.state.layer, shown.state.head
    return chart(
        figure,
        name="received-at",
        caption=caption,
        label=f"Attention received by position in {head_name(layer, head)}",
        of=f"Means over {shown.sentences}, those that have the position",
        data=file_href(shown.files, f"received/{layer}/{head}.csv"),
        height=230,
    )


def _norms(shown: HeadStatistics) -> list[object]:
    figure, caption, over = shown.norms
    return chart(
        figure,
        name="frequency-norm",
        caption=caption,
        label=f"Value norm by token frequency in {head_name(shown.state.layer, shown.state.head)}",
        of=over,
        height=230,
    )
