"""Sections of statistics: curves by layer, token mixing, relative position, importance, and the definitions."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from dash import html
from numpy.typing import NDArray

from dashboard.statistics.data import Values, hover_texts, interval_of, ranks, values_of
from dashboard.statistics.figures import (
    Curve,
    expansion_rates,
    layer_curves,
    mixing_lines,
    profile_of_head,
    profile_of_layers,
)
from dashboard.statistics.parts import Part, PartNumbers, uniform_entropy
from dashboard.ui.charts import Layout, chart, heat_map
from dashboard.ui.controls import info, statistic_info
from dashboard.ui.markup import Unmade, file_href, heading, unmade_line
from dashboard.ui.text import QUERIES, all_of, first_of, sight, signed
from dashboard.web.http import data_link
from dashboard.web.results import cached, current_cache
from store import STATISTICS, Corpus
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.schema.model import RATIOS, Statistic, head_name

_NEIGHBOURS = {"to_previous": "previous token", "to_next": "next token", "to_self": "itself"}
_SPECIAL = {"to_cls": "[CLS]", "to_sep": "[SEP]", "to_punctuation": "full stop or comma"}
_NORMS = {"norm_to_cls": "[CLS]", "norm_to_sep": "[SEP]", "norm_to_punctuation": "full stop or comma"}
#: Figures by layer: name, title, and the statistic that the (i) explains.
_BY_LAYER = (
    ("curves-classes", "Attention to special tokens", "to_cls"),
    ("curves-near", "Attention to neighbours", "to_previous"),
    ("curves-sep", "Attention to [SEP] by query", "to_sep"),
    ("curves-norm", "Norm-weighted attention", "norm_to_cls"),
    ("curves-entropy", "Attention entropy", "entropy"),
    ("curves-cls", "Attention entropy of [CLS]", "entropy"),
)
#: Least number of sentences: with fewer, intervals are too narrow (docs/statistics.md).
FEW_SENTENCES = 100
#: The ratio of the whole attention block.
WHOLE = "attnresln_n"
#: Ratio -> its name in the legend: the quantities that the ratio is computed from.
_NAMES = {
    "attn_w": "weights only",
    "attnres_w": "weights + residual",
    "attn_n": "norms only",
    "attnres_n": "norms + residual",
    "attnresln_n": "norms + residual + layer norm",
}
#: Source -> its token type in the legend.
_TYPES = {"all": "all", "cls": "[CLS]", "sep": "[SEP]", "punctuation": "full stop or comma", "word": "words"}
EXPANSION = (
    "By how much f changes the norm of vectors on average: root of the mean squared singular value of its affine map "
    "(Kobayashi et al. 2021)."
)
_IMPORTANCE = (
    "Change of the model's loss if the output of a head is zero (Michel et al. 2019). It needs a model that predicts masked "
    "words or labels."
)
_SYMBOLS = "p(i,j): attention weight of query i on key j; f(x): value vector of a token after the output projection."
_MEANS = "A head's number is the mean over sentences of the mean over the chosen queries; every sentence has the same weight."
_POSITION = (
    "Mean attention weight on the key at a relative position (key − query), over all queries of {}; every sentence has the same "
    "weight. < and > are all keys farther than 10 tokens."
)
#: A figure as plotly's JSON, whose size a cache can measure, and whether the figure is empty.
CurveFigure = tuple[Layout, bool]


def size_of_part(corpus: Corpus, part: Part) -> str:
    """Sentence on the tokens and sentences that the numbers of a part are means over."""
    if part.whole:
        return f"Means over all {all_of(corpus, 'token')} in {all_of(corpus, 'sentence')}; every sentence has the same weight.{sight(corpus)}"
    if not part.tokens:
        return "No tokens match. Remove a filter."
    share = 100 * part.tokens / corpus.n_tokens
    return (
        f"Means over {part.tokens:,} of {first_of(corpus, 'token')} ({share:.1f}%) in {part.sentences:,} of "
        f"{first_of(corpus, 'sentence')}; every one of these has the same weight.{_few(part)}"
    )


def _few(part: Part) -> str:
    if part.sentences >= FEW_SENTENCES:
        return ""
    return f" Fewer than {FEW_SENTENCES} sentences: intervals of what few sentences have are too narrow."


def read_curves(corpus: Corpus, part: Part, numbers: PartNumbers) -> list[CurveFigure]:
    """The figures by layer of a part: attention to special tokens, to neighbours, to [SEP] by query, by norm, and two entropies."""
    uniform = uniform_entropy(corpus, part)
    # Where a mask hides keys, the first token sees fewer keys than others, so its largest entropy differs.
    of_first = np.full_like(uniform, np.nan) if any(mask.hides for mask in corpus.masks) else uniform
    return current_cache().get(
        corpus, ("curves by layer", part.digest), lambda: _curve_figures(numbers, uniform, of_first)
    )


def curves(figures: Sequence[CurveFigure], of: str) -> list[html.Div]:
    """The six figures by layer; `of` names the tokens that they are means over."""
    return [_curve(*of_curve, *figure, of) for of_curve, figure in zip(_BY_LAYER, figures, strict=True)]


def _curve_figures(
    numbers: PartNumbers, uniform: NDArray[np.float64], of_first: NDArray[np.float64]
) -> list[CurveFigure]:
    """The figures of `_BY_LAYER`, with the entropy of uniform attention of all queries and of the first (layer,)."""

    def series(statistic: str, title: str, source: str = "all") -> Curve:
        values = values_of(numbers.means, statistic, source)
        hover = hover_texts(values, STATISTICS[statistic].unit, interval_of(numbers.interval, statistic, source))
        between = numbers.layer_interval.sel(source=source, statistic=statistic).values
        return Curve(title, values, hover, between)

    def each(titles: Mapping[str, str]) -> list[Curve]:
        return [series(statistic, title) for statistic, title in titles.items()]

    from_sep = [series("to_sep", "from [SEP]", "sep"), series("to_sep", "from others", "other")]
    return [
        *map(_curve_figure, (each(_SPECIAL), each(_NEIGHBOURS), from_sep, each(_NORMS))),
        _curve_figure([series("entropy", "all queries")], uniform),
        _curve_figure([series("entropy", "[CLS]", "cls")], of_first),
    ]


def _curve_figure(series: Sequence[Curve], uniform: NDArray[np.float64] | None = None) -> CurveFigure:
    unit = "share" if uniform is None else "nats"
    reference = None if uniform is None or np.isnan(uniform).any() else uniform
    empty = not any(np.isfinite(curve.values).any() for curve in series)
    return layer_curves(series, unit=unit, reference=reference).to_plotly_json(), empty


def _curve(name: str, title: str, statistic: str, figure: Layout, empty: bool, of: str) -> html.Div:
    note = "No such tokens here. Remove a filter. " if empty else ""
    drawn = chart(figure, name=name, caption=note, label=title, of=of, height=270, opens=True)
    return _figure([title, statistic_info(statistic)], drawn)


def _figure(title: object, drawn: list[object]) -> html.Div:
    return html.Div([html.H3(title), *drawn], className="figure")


def read_mixing(corpus: Corpus, part: Part, ratios: xr.DataArray, source: str) -> list[Layout]:
    """Three figures of the mixing ratios (source, ratio, layer) of a part: by ratio, by token type, and the expansion rate of f."""
    return current_cache().get(corpus, ("mixing", part.digest, source), lambda: _mixing_figures(corpus, ratios, source))


def mixing(
    read: Sequence[Layout], ratios: Mapping[str, Statistic], source: str, of: str, csv: str, csv_of_expansion: str
) -> list[object]:
    """The figures of mixing ratios with the URLs of their numbers, and the definitions of the `ratios` of the model."""
    by_ratio, by_type, expansion = read
    figures = [
        _mixing("mixing", f"Mixing ratios, {QUERIES[source]}", "Mixing ratios by layer", by_ratio, csv, of),
        _mixing(
            "mixing-kinds",
            ["Mixing ratio by token type", statistic_info(WHOLE, ratios)],
            "Mixing ratio by token type",
            by_type,
            csv,
            of,
        ),
        _mixing(
            "expansion",
            ["Expansion rate of f", info("the expansion rate of f", EXPANSION)],
            "Expansion rate of f by layer",
            expansion,
            csv_of_expansion,
            "From the weights of the model alone",
        ),
    ]
    return [html.Div(figures, className="figures"), _ratio_definitions(ratios)]


def _mixing_figures(corpus: Corpus, ratios: xr.DataArray, source: str) -> list[Layout]:
    """The figures of `mixing` as plotly's JSON."""
    types = {title: ratios.sel(source=name, ratio=WHOLE).values for name, title in _TYPES.items()}
    rates = expansion_rates(corpus.expansion_rate.values)
    return [
        figure.to_plotly_json() for figure in (mixing_lines(ratio_lines(ratios, source)), mixing_lines(types), rates)
    ]


def ratio_lines(ratios: xr.DataArray, source: str) -> dict[str, NDArray[np.float64]]:
    """Every ratio (source, ratio, layer) by Kobayashi's name, over the tokens of a source: (layer)."""
    return {_NAMES[name]: ratios.sel(source=source, ratio=name).values for name in RATIOS}


def _mixing(name: str, title: object, label: str, figure: Layout, csv: str, of: str) -> html.Div:
    return _figure(title, chart(figure, name=name, caption="", label=label, of=of, data=csv))


def _ratio_definitions(ratios: Mapping[str, Statistic]) -> html.Details:
    rows = [
        html.Tr(
            [
                html.Th([_NAMES[name], statistic_info(name, ratios)]),
                html.Td(ratio.title),
                html.Td(ratio.formula, className="formula"),
            ]
        )
        for name, ratio in ratios.items()
    ]
    caption = html.P(
        "The share of a token's new vector that comes from other tokens; the rest is its own (Kobayashi et al. 2021, section 3).",
        className="caption",
    )
    return html.Details(
        [html.Summary("Definitions of the ratios"), caption, html.Table(html.Tbody(rows), className="rows")]
    )


def relative_position_heading(sentences: str) -> html.H2:
    """The heading of the figures of relative position, which are means over `sentences`."""
    return html.H2(
        ["Attention by relative position", info("attention by relative position", _POSITION.format(sentences))]
    )


@dataclass(frozen=True)
class Profile:
    """Attention of a head by relative position: its name, its figure and the URL of its numbers."""

    head: str
    figure: Layout
    csv: str
    #: Sentence on what the shares are means over.
    of: str


def read_profile(corpus: Corpus, layer: int, head: int) -> Profile:
    """Read the attention of a head by relative position."""
    csv = file_href(data_link(corpus), f"profile/{layer}/{head}.csv")
    of = f"Means over {all_of(corpus, 'sentence')}; every sentence has the same weight."
    return Profile(head_name(layer, head), _profile_of_head(corpus, layer, head), csv, of)


def relative_position(of_layers: Layout, profile: Profile) -> list[html.Div]:
    """Attention by relative position: the mean of every layer, and of a head."""
    drawn = chart(
        of_layers,
        name="profile-layers",
        caption="",
        label="Attention by relative position, mean of each layer",
        of=profile.of,
        height=300,
        turns=True,
    )
    return [_figure("Mean of each layer", drawn), _figure(profile.head, head_profile(profile, height=300))]


def head_profile(profile: Profile, *, height: int) -> list[object]:
    """Attention by relative position of a head."""
    return chart(
        profile.figure,
        name="profile",
        caption="",
        label=f"Attention of {profile.head} by relative position",
        of=profile.of,
        data=profile.csv,
        height=height,
    )


@cached
def read_profile_of_layers(corpus: Corpus) -> Layout:
    """The figure of attention by relative position, mean of every layer."""
    shares = corpus.head_profile
    layers = shares.mean("head").transpose("offset", "layer").values
    figure: Layout = profile_of_layers(shares.offset.values.tolist(), layers).to_plotly_json()
    return figure


@cached
def _profile_of_head(corpus: Corpus, layer: int, head: int) -> Layout:
    figure: Layout = profile_of_head(*profile_shares(corpus, layer, head), head_name(layer, head)).to_plotly_json()
    return figure


def profile_shares(corpus: Corpus, layer: int, head: int) -> tuple[list[int], Values, Values]:
    """Relative positions, and the mean weights of a head and of its layer at each: (offset,) each."""
    shares = corpus.head_profile.sel(layer=layer)
    return shares.offset.values.tolist(), shares.sel(head=head).values, shares.mean("head").values


@dataclass(frozen=True)
class Importance:
    """Change of the loss without each head: (layer, head), mean over `sentences`; `about` names the loss."""

    change: Values
    sentences: int
    about: str


def read_importance(corpus: Corpus, running: IngestProgress | None) -> Importance | Unmade:
    """Head importance, or how to compute it where the store has none."""
    try:
        opened = corpus.importance
    except NotIngested as error:
        return Unmade.of(error, running)
    sentences = int(opened.attrs["sentences"])
    about = (
        f"Change of the {opened.attrs['measure']}, if the output of the head is zero (Michel et al. 2019), on "
        f"{sentences:,} sentences; the whole model has {float(opened.attrs['loss']):.3f}. "
        f"{_below_guess(opened.attrs, len(corpus.label_names))}"
    ).rstrip()
    return Importance(opened["change"].values, sentences, about)


def importance(read: Importance | Unmade) -> list[object]:
    """The heat map of head importance; how to compute it where the store has none."""
    if isinstance(read, Unmade):
        return [html.H2(["Head importance", info("head importance", _IMPORTANCE)]), unmade_line(read)]
    written = [[signed(float(value), 3) for value in row] for row in read.change]
    drawn = heat_map(read.change, written=written, hover=written, unit="change of the loss", diverging=True)
    return [
        html.H2(["Head importance", info("head importance", read.about)]),
        *chart(
            drawn,
            name="importance",
            caption="Above 0 the model gets worse without the head. Click a cell to open the head. ",
            label="Change of the loss without each head",
            of=f"Loss over {many(read.sentences, 'sentence')}",
            elsewhere="the table above has every number",
            height=70 + 30 * len(read.change),
            opens=True,
            turns=True,
        ),
    ]


def head_importance(read: Importance, head: tuple[int, int]) -> list[object]:
    """The change of the loss without a head, and its rank."""
    rank = f"Rank {ranks(read.change)[head]:.0f} of {read.change.size}: without the head of rank 1 the loss rises most."
    return [
        html.H2([f"Head importance: {signed(float(read.change[head]), 3)}", info("head importance", read.about)]),
        html.P(rank, className="caption"),
    ]


def _below_guess(attributes: Mapping[Hashable, Any], labels: int) -> str:
    """Remark on a classifier with a loss above a guess's: without a head it may be less confident, and so its loss lower."""
    if attributes["kind"] != "classification" or float(attributes["loss"]) <= math.log(labels):
        return ""
    return (
        f"The model's loss is worse than that of a guess ({math.log(labels):.3f}), as it is overconfident on single sentences. "
        "A value below 0 may only mean less confidence without the head."
    )


def definitions(statistics: Iterable[str] = STATISTICS) -> html.Details:
    """A table of definitions, which opens on a click."""
    rows = [_definition(statistic) for statistic in statistics]
    table = html.Table(
        [heading(("statistic", "unit", "formula, query i", "source")), html.Tbody(rows)], className="rows"
    )
    return html.Details(
        [
            html.Summary("Definitions of the statistics"),
            html.P([_SYMBOLS, info("the means", _MEANS)], className="caption"),
            table,
        ],
        id="definitions",
    )


def _definition(statistic: str) -> html.Tr:
    known = STATISTICS[statistic]
    cells = [html.Td(text) for text in (known.title, known.unit)]
    return html.Tr([*cells, html.Td(known.formula, className="formula"), html.Td(known.paper)])
