"""The line above the heat map of all heads: the statistic in which heads differ most, or the heads with the largest differences."""

from collections.abc import Mapping

from dash import dcc, html

from dashboard.statistics.data import (
    HeadGrid,
    largest,
    written_interval,
)
from dashboard.ui.controls import info
from dashboard.web.state import LinkState
from store import STATISTICS
from store.schema.model import head_name

#: Heads that are named as those that differ most; of those with intervals, fewer fit in a line.
_MOST_DIFFERENT, _WITH_INTERVALS = 5, 3
_DIFFERENCES = "Filtered tokens minus the whole corpus, mean over sentences of the mean over the chosen queries."
_MINUS_REST = (
    "Mean over the sentences of the filtered tokens, minus the mean over those of all other tokens. A sentence with both counts in "
    "each mean, with its own tokens. In brackets: 95% intervals by a bootstrap over sentences that draws each sentence alike for "
    "both means; they ignore that the heads were chosen as the largest of all."
)
#: Statistics that are named with the largest differences between heads.
_NAMED = 3
_SPREAD = (
    "Standard deviation between heads over all queries of the corpus, as a share of the range that the statistic can have, "
    "0 to 0.5. The largest:"
)
_NUMBERING = f"Heads count from 0: the papers' “8-10” is {head_name(7, 9)}."


def most_varying(state: LinkState, shown: str, spread: Mapping[str, float]) -> html.P:
    """The statistic in which heads differ most, a link to it where another is shown, and how that was computed.

    `spread` is how much heads differ in each statistic, the most first.
    """
    first = list(spread.items())[:_NAMED]
    most = first[0][0]
    title = STATISTICS[most].title
    name = title if shown == most else dcc.Link(title, href=state.with_(statistic=None).href)
    about = f"{_SPREAD} {', '.join(f'{STATISTICS[statistic].title} {share:.2f}' for statistic, share in first)}. {_NUMBERING}"
    return html.P(
        ["Heads differ most in ", name, ".", info("the difference between heads", about)], className="caption"
    )


def most_different(state: LinkState, grid: HeadGrid, unit: str) -> html.P:
    """The heads whose part differs most from what is subtracted, each a link."""
    between = grid.interval is not None
    heads = largest(grid.values, _WITH_INTERVALS if between else _MOST_DIFFERENT)
    if not heads:
        return html.P("No head differs.", className="caption")
    named = [part for head in heads for part in (", ", *_named_difference(state, grid, head, unit))]
    about = info("the differences", _MINUS_REST if between else _DIFFERENCES)
    return html.P([f"Largest differences, {grid.unit}: ", *named[1:], ".", about], className="caption")


def _named_difference(state: LinkState, grid: HeadGrid, head: tuple[int, int], unit: str) -> tuple[dcc.Link, str]:
    layer, number = head
    href = state.on("head").with_(layer=layer, head=number).href
    return dcc.Link(head_name(layer, number), href=href), f" {grid.written[layer][number]}{_interval(grid, head, unit)}"


def _interval(grid: HeadGrid, head: tuple[int, int], unit: str) -> str:
    if grid.interval is None:
        return ""
    between = written_interval(grid.interval, head, unit)
    return f" ({between})" if between else ""
