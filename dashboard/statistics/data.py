"""Numbers of all heads: means and ranks of a statistic, importance, and what the heat map shows of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from dashboard.statistics.contrast import sides, size_of_rest
from dashboard.statistics.parts import Part, PartCounts, PartNumbers, first_part, part_of
from dashboard.ui.text import (
    all_of,
    brief,
    difference_unit,
    first_of,
    has_part,
    model_names,
    searched_tokens,
    signed,
    spell,
    unit_title,
)
from dashboard.ui.work import Job
from dashboard.web.bounds import comparable
from dashboard.web.context import Context
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus, StoreError
from store.kernels.statistics import spread_between_heads
from store.schema.model import head_name

Values = NDArray[np.float64]
Texts = list[list[str]]
#: Shown for a head without a number.
NO_ROWS = "no such tokens"
NO_PART = "No filter is set, so there is no part to compare: showing values. Add a filter."
#: What the heat map shows of a part beside its own means.
OF_PART = ("part", "rest")


@dataclass(frozen=True)
class HeadGrid:
    """A heat map of all heads: values (layer, head), the text in each cell and on hover, and the unit of the colours.

    `kind` is one of `state.VALUES`, `note` a sentence on what else the values are computed from. `interval` are the ends of
    the 95% intervals (bound, layer, head) of differences, where they are known.
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
    """How much heads differ in each statistic, over all queries of the corpus; the most first."""
    spread = spread_between_heads(corpus.head_statistic, corpus.counted_lengths)
    return dict(sorted(spread.items(), key=lambda item: -item[1]))


def standard_statistic(corpus: Corpus) -> str:
    """The statistic in which heads differ most."""
    return next(iter(spread_of_statistics(corpus)))


def shown_statistic(state: LinkState, corpus: Corpus) -> str:
    """The statistic of the link, else the one in which heads differ most."""
    return state.statistic or standard_statistic(corpus)


def choices(context: Context) -> tuple[dict[str, object], dict[str, object]]:
    """The value of the choice of a statistic, and its default."""
    return {"statistic": shown_statistic(context.state, context.corpus)}, {
        "statistic": standard_statistic(context.corpus)
    }


def shown_part(corpus: Corpus, where: str | None, *, first: bool) -> Part:
    """The part of a link in a corpus; among the `first` tokens where it is of these alone."""
    part = part_of(corpus, where)
    return (first_part(corpus, part) or part) if first else part


def part_numbers(context: Context, counting: Job | None = None) -> PartNumbers:
    """Numbers of the link's part. A difference from the rest is counted first: that count has those of the part, too."""
    counts = context.library.get(PartCounts)
    part = shown_part(context.corpus, context.state.where, first=context.first)
    if _is_minus_rest(context.state, part):
        counts.numbers(context.corpus, replace(part, minus_rest=True), counting)
    return counts.numbers(context.corpus, part, counting)


def shown_grid(context: Context, numbers: PartNumbers, counting: Job | None = None) -> HeadGrid:
    """The heat map of a link: values, ranks, or the difference from another statistic or model."""
    state, corpus, means = context.state, context.corpus, numbers.means
    statistic, part = shown_statistic(state, corpus), part_of(corpus, state.where)
    values = values_of(means, statistic, state.source)
    if state.values == "rank":
        return ranks_grid(values, statistic)
    if state.values == "part" and not part.whole:
        whole = values_of(corpus.head_statistic, statistic, state.source)
        note = f"Subtracted: means over all {all_of(corpus, 'sentence')}." if has_part(corpus) else ""
        return replace(difference_grid(values, whole, statistic, "that of the whole corpus"), note=note)
    counts = context.library.get(PartCounts)
    if _is_minus_rest(state, part):
        own = shown_part(corpus, state.where, first=context.first)
        counted = counts.numbers(corpus, replace(own, minus_rest=True), counting)
        return _minus_rest(corpus, own, values, counted, (statistic, state.source))
    if state.values == "difference" and state.other:
        other = context.snapshot.corpus(state.other)
        others = shown_part(other, state.where, first=context.first)
        counted = counts.numbers(other, others, counting)
        subtracted = values_of(counted.means, statistic, state.source)
        grid = difference_grid(values, subtracted, statistic, f"that of {model_names(context.snapshot)[state.other]}")
        return replace(grid, note=_subtracted(other, others, model_names(context.snapshot)[state.other]))
    if state.values == "difference" and (against := compared_with(state, statistic)):
        title = STATISTICS[against].title
        return difference_grid(values, values_of(means, against, state.source), statistic, title)
    return values_grid(values, statistic, interval_of(numbers.interval, statistic, state.source))


def grid_notices(context: Context) -> tuple[str, ...]:
    """What of the link the heat map cannot show."""
    state, shown = context.state, shown_statistic(context.state, context.corpus)
    if shown in context.corpus.missing_statistics:
        return (f"This store has no {STATISTICS[shown].title}: run `headscape ingest` again.",)
    if state.values in OF_PART:
        return (NO_PART,) if part_of(context.corpus, state.where).whole else ()
    if state.values != "difference":
        return ()
    if state.other:
        corpus = context.snapshot.corpus(state.other)
        return _of_other(part_of(corpus, state.where), model_names(context.snapshot)[state.other])
    statistic = shown_statistic(state, context.corpus)
    if compared_with(state, statistic):
        return ()
    models = "another model, or " if comparable(context.snapshot, context.corpus) else ""
    unit = STATISTICS[statistic].unit
    return (f"No other statistic is measured in {unit}: showing values. Choose {models}another statistic.",)


def _is_minus_rest(state: LinkState, part: Part) -> bool:
    """Whether the link shows how a part, which leaves some tokens out, differs from all others."""
    return state.values == "rest" and not part.whole


def largest(values: Values, count: int) -> list[tuple[int, int]]:
    """The heads whose differences (layer, head) are farthest from 0, the farthest first; none that is 0 or missing."""
    distances = np.nan_to_num(np.abs(values))
    order = np.argsort(-distances, axis=None, kind="stable")[:count]
    heads = [(int(at) // values.shape[1], int(at) % values.shape[1]) for at in order]
    return [head for head in heads if distances[head]]


def is_counted(context: Context, part: Part) -> bool:
    """Whether everything that the link shows is known without counting."""
    counts, state = context.library.get(PartCounts), context.state
    if counts.find(context.corpus, part) is None:
        return False
    if _is_minus_rest(state, part):
        return counts.find(context.corpus, replace(part, minus_rest=True)) is not None
    other = state.other if state.values == "difference" else None
    if other is None:
        return True
    corpus = context.snapshot.corpus(other)
    return counts.find(corpus, part_of(corpus, state.where)) is not None


def comparable_statistics(statistic: str) -> list[str]:
    """Other statistics of the same unit: only those can be subtracted."""
    unit = STATISTICS[statistic].unit
    return [name for name, known in STATISTICS.items() if known.unit == unit and name != statistic]


def compared_with(state: LinkState, statistic: str) -> str | None:
    """The statistic that is subtracted from the shown one: that of the link if it has the same unit, else the first that has."""
    names = comparable_statistics(statistic)
    return state.against if state.against in names else next(iter(names), None)


def values_of(means: xr.DataArray, statistic: str, source: str) -> Values:
    """One statistic of means (source, statistic, layer, head) over the rows of a source: (layer, head)."""
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
    """The numbers themselves."""
    unit, title = STATISTICS[statistic].unit, STATISTICS[statistic].title
    return HeadGrid(
        values, _written(values, unit), hover_texts(values, unit, interval), title, unit_title(unit), "value"
    )


def ranks_grid(values: Values, statistic: str) -> HeadGrid:
    """Ranks among all heads; rank 1 has the largest value."""
    unit, order = STATISTICS[statistic].unit, ranks(values)
    written = [["" if rank != rank else f"{rank:.0f}" for rank in row] for row in order]
    title = f"rank by {STATISTICS[statistic].title}"
    return HeadGrid(order, written, hover_texts(values, unit, None), title, "rank", "rank", reverse=True)


def difference_grid(values: Values, against: Values, statistic: str, what: str) -> HeadGrid:
    """Values minus others of the same unit; `what` names the others."""
    unit = STATISTICS[statistic].unit
    difference = values - against
    written = [[written_difference(value, unit) for value in row] for row in difference.tolist()]
    hover = [
        [_subtraction(own, other, text, unit) for own, other, text in zip(*rows, strict=True)]
        for rows in zip(values, against, written, strict=True)
    ]
    title = f"{STATISTICS[statistic].title} minus {what}"
    return HeadGrid(difference, written, hover, title, difference_unit(unit), "difference", diverging=True)


def written_difference(difference: float, unit: str) -> str:
    """A difference with its sign, shares in points."""
    return signed(100 * difference, 1) if unit == "share" else signed(difference, 2)


def written_interval(interval: Values, head: tuple[int, int], unit: str) -> str:
    """The ends of the interval (bound, layer, head) of a head's difference; empty where there are none."""
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


def _subtraction(own: float, other: float, difference: str, unit: str) -> str:
    return f"{spell(own, unit)} − {spell(other, unit)} = {difference}" if difference else NO_ROWS


def _written(values: Values, unit: str) -> Texts:
    factor, digits = (100, 0) if unit == "share" else (1, 1)
    return [["" if value != value else f"{factor * value:.{digits}f}" for value in row] for row in values]


def _minus_rest(corpus: Corpus, part: Part, values: Values, counted: PartNumbers, of: tuple[str, str]) -> HeadGrid:
    """Minus the same statistic of all other tokens of the corpus, with intervals; `of` are the statistic and the source."""
    statistic, source = of
    unit = STATISTICS[statistic].unit
    interval = interval_of(counted.interval, statistic, source).values
    own, rest = sides(corpus, part)
    grid = difference_grid(values, values - values_of(counted.means, statistic, source), statistic, rest)
    hover = [
        [_with_interval(text, written_interval(interval, (layer, head), unit)) for head, text in enumerate(row)]
        for layer, row in enumerate(grid.hover)
    ]
    title = f"{STATISTICS[statistic].title}, {own} minus {rest}"
    return replace(grid, kind="rest", hover=hover, title=title, note=size_of_rest(corpus, part), interval=interval)


def _with_interval(text: str, between: str) -> str:
    return f"{text} (95%: {between})" if between else text


def _subtracted(corpus: Corpus, part: Part, name: str) -> str:
    """How much of the other model's corpus is subtracted."""
    of = first_of(corpus, "token") if part.first is None else searched_tokens(corpus, part.first)
    some = f"{part.tokens:,} of {of} ({100 * part.tokens / (part.first or corpus.n_tokens):.1f}%)"
    share = f"all {all_of(corpus, 'token')}" if part.whole and has_part(corpus) else some
    return f"Subtracted: means over {share} of {name}."


def _of_other(part: Part, name: str) -> tuple[str, ...]:
    """What of the link the other model's corpus cannot show."""
    empty = f"No tokens of {name} match, so there is nothing to subtract. Remove a filter."
    return (*(f"{name}: {notice}" for notice in part.notices), *([] if part.tokens else [empty]))
