"""The heat map that a link asks for: of a statistic its values, ranks, or difference to another statistic or model."""

from dataclasses import replace

import xarray as xr

from dashboard.statistics.grid import HeadGrid, Values, difference_grid, ranks_grid, values_grid, values_of
from dashboard.statistics.part import Part, part_of
from dashboard.statistics.part_counts import Counting, PartCounts, PartNumbers
from dashboard.ui.model_names import model_names
from dashboard.web.view import Place, comparable
from store import STATISTICS


def shown_grid(place: Place, numbers: PartNumbers, counting: Counting | None = None) -> HeadGrid:
    """What the link asks for of a part's numbers."""
    address, means = place.address, numbers.means
    values = values_of(means, address.statistic, address.source)
    if address.values == "rank":
        return ranks_grid(values, address.statistic)
    if address.values == "difference" and address.other:
        return _minus_model(place, values, address.other, counting)
    if address.values == "difference" and (against := compared_with(place)):
        title = STATISTICS[against].title
        return difference_grid(values, values_of(means, against, address.source), address.statistic, title)
    return values_grid(values, address.statistic, interval_of(numbers.interval, address.statistic, address.source))


def grid_notices(place: Place) -> tuple[str, ...]:
    """What of the link the heat map cannot follow."""
    address = place.address
    if address.values != "difference":
        return ()
    if address.other:
        corpus = place.snapshot.corpus(address.other)
        return _of_other(part_of(corpus, address.where), model_names(place.snapshot)[address.other])
    return () if compared_with(place) else (_alone(place),)


def is_counted(place: Place, part: Part) -> bool:
    """Whether everything that the link asks for is known without counting."""
    if place.library.get(PartCounts).find(place.corpus, part) is None:
        return False
    other = place.address.other if place.address.values == "difference" else None
    if other is None:
        return True
    corpus = place.snapshot.corpus(other)
    return place.library.get(PartCounts).find(corpus, part_of(corpus, place.address.where)) is not None


def interval_of(interval: xr.DataArray, statistic: str, source: str) -> xr.DataArray:
    """Ends (bound, layer, head) of one statistic's intervals (bound, source, statistic, layer, head)."""
    return interval.sel(source=source, statistic=statistic)


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


def _minus_model(place: Place, values: Values, other: str, counting: Counting | None) -> HeadGrid:
    """Minus the same statistic of another model over the same part of its corpus."""
    corpus, address = place.snapshot.corpus(other), place.address
    name, part = model_names(place.snapshot)[other], part_of(corpus, address.where)
    against = values_of(
        place.library.get(PartCounts).numbers(corpus, part, counting).means, address.statistic, address.source
    )
    grid = difference_grid(values, against, address.statistic, f"that of {name}")
    share = f"{part.tokens:,} of {corpus.n_tokens:,} tokens ({100 * part.tokens / corpus.n_tokens:.1f} %)"
    return replace(grid, says=f"Subtracted are means over {share} of {name}. ")


def _of_other(part: Part, name: str) -> tuple[str, ...]:
    """What of the link could not be followed in the other model's corpus."""
    empty = f"No tokens of {name} match, so there is nothing to subtract. Remove a filter."
    return (*(f"{name}: {notice}" for notice in part.notices), *([] if part.tokens else [empty]))
