"""Figures 2 and 4 of Clark et al. 2019 over the corpus at hand."""

from collections.abc import Sequence

import numpy as np
from dash import html

from dashboard.statistics.grid import said, values_of
from dashboard.statistics.layer_curves import Series, layer_curves
from dashboard.statistics.part import Part, uniform_entropy
from dashboard.statistics.part_counts import PartNumbers
from dashboard.statistics.shown_grid import interval_of
from dashboard.ui.charts import chart
from dashboard.web.view import Place
from store import STATISTICS

_NEAR = (("to_previous", "previous token"), ("to_next", "next token"), ("to_self", "itself"))
_CLASSES = (("to_cls", "[CLS]"), ("to_sep", "[SEP]"), ("to_punctuation", ". or ,"))
_NORMS = (("norm_to_cls", "[CLS]"), ("norm_to_sep", "[SEP]"), ("norm_to_punctuation", ". or ,"))


def curves(place: Place, part: Part, numbers: PartNumbers) -> list[object]:
    """Six figures: attention to neighbours, to special tokens, to [SEP] by who looks, by norm, and two entropies."""

    def one(statistic: str, title: str, source: str = "all") -> Series:
        values = values_of(numbers.means, statistic, source)
        spelled = said(values, STATISTICS[statistic].unit, interval_of(numbers.interval, statistic, source))
        between = numbers.layer_interval.sel(source=source, statistic=statistic).values
        return Series(title, values, spelled, between)

    from_sep = [one("to_sep", "from [SEP]", "sep"), one("to_sep", "from others", "other")]
    uniform = uniform_entropy(place.corpus, part)
    return [
        _figure("curves-classes", "Attention to special tokens", [one(*pair) for pair in _CLASSES]),
        _figure("curves-near", "Attention to neighbours", [one(*pair) for pair in _NEAR]),
        _figure("curves-sep", "Attention to [SEP], by who attends", from_sep),
        _figure("curves-norm", "The same by norm: weight times ||f(x)||", [one(*pair) for pair in _NORMS]),
        _figure("curves-entropy", "Entropy of all rows", [one("entropy", "all rows")], uniform),
        _figure("curves-cls", "Entropy of [CLS]", [one("entropy", "row of [CLS]", "cls")], uniform),
    ]


def _figure(of: str, title: str, series: Sequence[Series], uniform: float | None = None) -> html.Div:
    unit = "share" if uniform is None else "nats"
    shown = None if uniform is None or uniform != uniform else uniform
    there = any(np.isfinite(one.values).any() for one in series)
    says = "" if there else "There are no such rows here. Remove a filter. "
    drawn = chart(
        layer_curves(series, unit=unit, reference=shown), of=of, says=says, label=title, height=270, opens=True
    )
    return html.Div([html.H3(title), *drawn], className="figure")
