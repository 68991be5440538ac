"""Numbers of all heads: a statistic's means, ranks and differences, and the grids that heat maps show of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from dashboard.ui.text import (
    brief,
    difference_unit,
    signed,
    spell,
    unit_title,
)
from dashboard.web.results import cached
from dashboard.web.special_names import applies
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus, StoreError
from store.kernels.statistics import spread_between_heads
from store.schema.model import head_name

Values = NDArray[np.float64]
Texts = list[list[str]]
#: Text of a head without a number.
NO_ROWS = "no such tokens"


@dataclass(frozen=True)
class HeadGrid:
    """A heat map of all heads: values (layer, head), the text in each cell and on hover, and the unit of the colours.

    `kind` is one of `state.VALUES`; `note` is a sentence on other tokens that the values depend on. `interval` holds the ends of
    the 95% intervals (bound, layer, head) of differences; None where they are unknown.
    """

    values: Values
    written: Texts
    hover: Texts
    title: str
    unit: str
    kind: str
    diverging: bool = False
    reverse: bool = False
    note: str = ""
    interval: Values | None = None


@cached
def spread_of_statistics(corpus: Corpus) -> dict[str, float]:
    """Statistic -> spread between heads over all queries of the corpus, the largest first."""
    spread = spread_between_heads(corpus.head_statistic, corpus.counted_lengths, corpus.masks)
    return dict(sorted(spread.items(), key=lambda item: -item[1]))


def standard_statistic(corpus: Corpus) -> str:
    """The statistic in which heads differ most."""
    return next(iter(spread_of_statistics(corpus)))


def shown_statistic(state: LinkState, corpus: Corpus) -> str:
    """The statistic of the link, else the one in which heads differ most."""
    return state.statistic or standard_statistic(corpus)


def largest(values: Values, count: int) -> list[tuple[int, int]]:
    """The heads whose differences (layer, head) are farthest from 0, the farthest first, without zero or missing differences."""
    distances = np.nan_to_num(np.abs(values))
    return [head for head in largest_first(distances, count) if distances[head]]


def largest_first(values: NDArray[np.floating], count: int | None = None) -> list[tuple[int, int]]:
    """Places (row, column) of a table, by default all: the largest value first, NaN last; equal values in the order of rows."""
    order = np.argsort(-values, axis=None, kind="stable")[:count]
    return [(int(row), int(column)) for row, column in zip(*np.unravel_index(order, values.shape), strict=True)]


def comparable_statistics(statistic: str) -> list[str]:
    """Other statistics of the same unit: only they can be subtracted."""
    unit = STATISTICS[statistic].unit
    return [name for name, known in STATISTICS.items() if known.unit == unit and name != statistic]


def compared_with(state: LinkState, statistic: str) -> str | None:
    """The statistic to subtract from the shown one: the link's if it has the same unit, else the first of the same unit."""
    names = comparable_statistics(statistic)
    return state.against if state.against in names else next(iter(names), None)


def values_of(means: xr.DataArray, statistic: str, source: str) -> Values:
    """Values of one statistic over the rows of a source, from means (source, statistic, layer, head): (layer, head)."""
    return means.sel(source=source, statistic=statistic).values.astype(np.float64)


def interval_of(interval: xr.DataArray, statistic: str, source: str) -> xr.DataArray:
    """Ends (bound, layer, head) of one statistic's intervals (bound, source, statistic, layer, head)."""
    return interval.sel(source=source, statistic=statistic)


def ranks(values: Values) -> Values:
    """Ranks among all heads: 1 has the largest value, equal values have equal ranks; NaN where there is no value."""
    order = pd.Series(values.ravel()).rank(method="min", ascending=False)  # scipy.stats takes 60 MB of a worker
    return order.to_numpy(np.float64).reshape(values.shape)


def head_columns(layers: int, heads: int) -> Mapping[str, NDArray[np.generic]]:
    """Layer, head and name of every head, layer by layer: the first columns of tables of heads."""
    layer, head = np.divmod(np.arange(layers * heads), heads)
    names = [head_name(*numbers) for numbers in zip(layer.tolist(), head.tolist(), strict=True)]
    return {"layer": layer, "head": head, "name": np.array(names, object)}


@cached
def importance_of(corpus: Corpus) -> Values | None:
    """Change of the model's loss without each head, in nats: (layer, head); None where it is not computed."""
    try:
        change: Values = corpus.importance["change"].values
    except StoreError:
        return None
    return change


def values_grid(values: Values, statistic: str, interval: xr.DataArray | None) -> HeadGrid:
    """The heat map of the values themselves."""
    unit, title = STATISTICS[statistic].unit, STATISTICS[statistic].title
    return HeadGrid(
        values, _written(values, unit), hover_texts(values, unit, interval), title, unit_title(unit), "value"
    )


def ranks_grid(values: Values, statistic: str) -> HeadGrid:
    """The heat map of ranks among all heads; rank 1 has the largest value."""
    unit, order = STATISTICS[statistic].unit, ranks(values)
    written = [["" if rank != rank else f"{rank:.0f}" for rank in row] for row in order]
    title = f"rank by {STATISTICS[statistic].title}"
    return HeadGrid(order, written, hover_texts(values, unit, None), title, "rank", "rank", reverse=True)


def difference_grid(values: Values, against: Values, statistic: str, what: str) -> HeadGrid:
    """The heat map of values minus other values of the same unit; `what` names the others."""
    unit = STATISTICS[statistic].unit
    difference = values - against
    written = [[written_difference(value, unit) for value in row] for row in difference.tolist()]
    hover = [
        [
            f"{spell(one, unit)} − {spell(other, unit)} = {text}" if text else NO_ROWS
            for one, other, text in zip(*rows, strict=True)
        ]
        for rows in zip(values, against, written, strict=True)
    ]
    title = f"{STATISTICS[statistic].title} minus {what}"
    return HeadGrid(difference, written, hover, title, difference_unit(unit), "difference", diverging=True)


def written_difference(difference: float, unit: str) -> str:
    """A difference with its sign; shares in percentage points."""
    return signed(100 * difference, 1) if unit == "share" else signed(difference, 2)


def written_interval(interval: Values, head: tuple[int, int], unit: str) -> str:
    """The ends of the interval of a head's difference, from (bound, layer, head); empty without an interval."""
    low, high = (written_difference(float(end[head]), unit) for end in interval)
    return f"{low} to {high}" if low else ""


def hover_texts(values: Values, unit: str, interval: xr.DataArray | None) -> Texts:
    """Every value with its interval (bound, layer, head) and its rank."""
    order = ranks(values)
    lows, highs = interval.values if interval is not None else np.full((2, *values.shape), np.nan)
    return [
        [
            _hover_text(
                values[layer, head], lows[layer, head], highs[layer, head], order[layer, head], values.size, unit
            )
            for head in range(values.shape[1])
        ]
        for layer in range(values.shape[0])
    ]


def _hover_text(value: float, low: float, high: float, rank: float, heads: int, unit: str) -> str:
    if value != value:
        return NO_ROWS
    between = "" if low != low else f" (95%: {brief(low, unit)} to {brief(high, unit)})"
    return f"{spell(value, unit)}{between}, rank {rank:.0f} of {heads}"


def _written(values: Values, unit: str) -> Texts:
    factor, digits = (100, 0) if unit == "share" else (1, 1)
    return [["" if value != value else f"{factor * value:.{digits}f}" for value in row] for row in values]


def telling_statistics(corpus: Corpus) -> list[str]:
    """Names of the statistics that are not 0 by construction in every head of a model."""
    return [name for name in STATISTICS if not why_zero(corpus, name)]


def why_zero(corpus: Corpus, statistic: str) -> str:
    """Why a statistic is 0 in every head, as a sentence; empty for other statistics."""
    if not applies(corpus, STATISTICS[statistic].title):
        return "This model's tokenizer puts no token after a text: no attention goes there"
    if statistic == "to_next" and corpus.bias is not None and corpus.bias.causal:
        return "A token of this model sees those before it: no attention goes to later tokens"
    return ""
