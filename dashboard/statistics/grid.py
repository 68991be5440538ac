"""What the heat map of all heads shows of a statistic: its values, their ranks, or how far they are from another's."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.statistics.definitions import brief, difference_unit, unit_title
from dashboard.statistics.ranks import ranks
from dashboard.statistics.statistics import spell
from dashboard.ui.amounts import signed
from store import STATISTICS

Values = NDArray[np.float64]
Texts = list[list[str]]
#: Of a head without a number.
NO_ROWS = "no such rows"


@dataclass(frozen=True)
class HeadGrid:
    """Values (layer, head), what stands in each cell, what is said of it on hover, and the unit of the colours.

    `kind` is one of `address.VALUES`, `says` a sentence on what else it is made of.
    """

    values: Values
    written: Texts
    said: Texts
    title: str
    unit: str
    kind: str
    diverging: bool = False
    reverse: bool = False
    says: str = ""


def values_of(means: xr.DataArray, statistic: str, source: str) -> Values:
    """One statistic of means (source, statistic, layer, head) over the rows of a source: (layer, head)."""
    return means.sel(source=source, statistic=statistic).values.astype(np.float64)


def values_grid(values: Values, statistic: str, interval: xr.DataArray | None) -> HeadGrid:
    """The numbers themselves."""
    unit = STATISTICS[statistic].unit
    title = STATISTICS[statistic].title
    return HeadGrid(values, _each(values, unit), said(values, unit, interval), title, unit_title(unit), "value")


def ranks_grid(values: Values, statistic: str) -> HeadGrid:
    """Ranks among all heads; rank 1 has the most."""
    unit, found = STATISTICS[statistic].unit, ranks(values)
    written = [["" if rank != rank else f"{rank:.0f}" for rank in row] for row in found]
    title = f"rank by {STATISTICS[statistic].title}"
    return HeadGrid(found, written, said(values, unit, None), title, "rank", "rank", reverse=True)


def difference_grid(values: Values, against: Values, statistic: str, what: str) -> HeadGrid:
    """Values minus others of the same unit; `what` names the others."""
    unit = STATISTICS[statistic].unit
    less = values - against
    factor, digits = (100, 1) if unit == "share" else (1, 2)
    written = [[signed(factor * float(one), digits) for one in row] for row in less]
    spelled = [
        [_subtracted(own, other, text, unit) for own, other, text in zip(*rows, strict=True)]
        for rows in zip(values, against, written, strict=True)
    ]
    title = f"{STATISTICS[statistic].title} minus {what}"
    return HeadGrid(less, written, spelled, title, difference_unit(unit), "difference", diverging=True)


def said(values: Values, unit: str, interval: xr.DataArray | None) -> Texts:
    """Every value with its interval (bound, layer, head) and its rank, for hover."""
    order = ranks(values)
    lows, highs = interval.values if interval is not None else np.full((2, *values.shape), np.nan)
    return [
        [
            _said(values[layer, head], lows[layer, head], highs[layer, head], order[layer, head], values.size, unit)
            for head in range(values.shape[1])
        ]
        for layer in range(values.shape[0])
    ]


def _subtracted(own: float, other: float, less: str, unit: str) -> str:
    return f"{spell(own, unit)} - {spell(other, unit)} = {less}" if less else NO_ROWS


def _said(value: float, low: float, high: float, rank: float, heads: int, unit: str) -> str:
    if value != value:
        return NO_ROWS
    between = "" if low != low else f" (95 %: {brief(low, unit)} to {brief(high, unit)})"
    return f"{spell(value, unit)}{between}, rank {rank:.0f} of {heads}"


def _each(values: Values, unit: str) -> Texts:
    digits = 0 if unit == "share" else 1
    factor = 100 if unit == "share" else 1
    return [["" if one != one else f"{factor * one:.{digits}f}" for one in row] for row in values]
