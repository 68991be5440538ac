"""The heat map that a link asks for: of a statistic its values, ranks, or difference to another statistic or model."""

from dataclasses import replace

import xarray as xr

from dashboard.heads.grid import HeadGrid, Values, difference_grid, ranks_grid, values_grid, values_of
from dashboard.heads.part import Part, part_means, part_of
from dashboard.model_names import model_names
from dashboard.place import Place, comparable
from store import STATISTICS


def shown_grid(place: Place, means: xr.DataArray, interval: xr.DataArray | None) -> HeadGrid:
    """What the link asks for of `means` (source, statistic, layer, head); `interval` is None where there is none of them."""
    address = place.address
    values = values_of(means, address.statistic, address.source)
    if address.values == "rank":
        return ranks_grid(values, address.statistic)
    if address.values == "difference" and address.other:
        return _less_model(place, values, address.other)
    if address.values == "difference" and (against := compared_with(place)):
        title = STATISTICS[against].title
        return difference_grid(values, values_of(means, against, address.source), address.statistic, title)
    grid = values_grid(values, address.statistic, interval_of(interval, address.statistic, address.source))
    return replace(grid, notices=(_alone(place),)) if address.values == "difference" else grid


def interval_of(interval: xr.DataArray | None, statistic: str, source: str) -> xr.DataArray | None:
    """Ends (bound, layer, head) of one statistic's intervals (bound, source, statistic, layer, head)."""
    return None if interval is None else interval.sel(source=source, statistic=statistic)


def comparable_statistics(statistic: str) -> list[str]:
    """Other statistics of the same unit: only those can be subtracted."""
    unit = STATISTICS[statistic].unit
    return [name for name, one in STATISTICS.items() if one.unit == unit and name != statistic]


def compared_with(place: Place) -> str | None:
    """The statistic that is subtracted: the one asked for if it has the same unit, else the first that has."""
    there = comparable_statistics(place.address.statistic)
    return place.address.against if place.address.against in there else next(iter(there), None)


def _alone(place: Place) -> str:
    """Why there is no difference."""
    unit = STATISTICS[place.address.statistic].unit
    models = "another model at “of”, or " if comparable(place.snapshot, place.corpus) else ""
    return f"No other statistic counts {unit}, so that nothing can be subtracted: shown are values. Choose {models}another statistic."


def _less_model(place: Place, values: Values, other: str) -> HeadGrid:
    """Less the same statistic of another model over the same part of its corpus."""
    corpus, address = place.snapshot.corpus(other), place.address
    name, part = model_names(place.snapshot)[other], part_of(corpus, address.where)
    against = values_of(part_means(corpus, part), address.statistic, address.source)
    grid = difference_grid(values, against, address.statistic, f"that of {name}")
    share = f"{part.tokens:,} of {corpus.n_tokens:,} tokens ({100 * part.tokens / corpus.n_tokens:.1f} %)"
    return replace(grid, says=f"Subtracted are means over {share} of {name}. ", notices=_of_other(part, name))


def _of_other(part: Part, name: str) -> tuple[str, ...]:
    """What of the link could not be followed in the other model's corpus."""
    empty = f"No token of {name} is so, and there is nothing to subtract. Take a filter away."
    return (*(f"{name}: {notice}" for notice in part.notices), *([] if part.tokens else [empty]))
