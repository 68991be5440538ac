"""Page Statistics: numbers of all heads over the corpus or a part of it, as a heat map, as figures and as a table."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from dash import dcc, html

from dashboard.points.controls import clear_all, filter_menu, filter_row
from dashboard.statistics.data import HeadGrid, comparable_statistics, largest, written_interval
from dashboard.statistics.heads import table_of_heads
from dashboard.statistics.parts import Part
from dashboard.statistics.reach import REACH, draw_arrival
from dashboard.statistics.routes import register
from dashboard.statistics.scatter import scatter
from dashboard.statistics.sections import (
    curves,
    definitions,
    importance,
    mixing,
    relative_position,
    relative_position_heading,
)
from dashboard.statistics.shown import (
    OF_PART,
    LinkCounts,
    Numbers,
    StatisticsPage,
    WholeCorpus,
    read,
    read_numbers,
    subtracted_model,
)
from dashboard.topic import Choices, Topic, read_then_draw
from dashboard.ui.charts import chart, heat_map, heat_map_height
from dashboard.ui.controls import choice, head_choices, info, statistic_choice, statistic_info
from dashboard.ui.deferred import job_place
from dashboard.ui.markup import Page, file_href
from dashboard.ui.text import (
    QUERIES,
    capital,
    every_of,
    searched_tokens,
)
from dashboard.ui.work import Job, WorkKind
from dashboard.web.bounds import comparable
from dashboard.web.context import Context
from dashboard.web.errors import ReaderLeft
from dashboard.web.paths import PageLinks
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus
from store.phrases import many
from store.schema.model import head_name, varying_statistics

#: Number of heads that are named as differing most; with intervals, fewer fit in a line.
_MOST_DIFFERENT, _WITH_INTERVALS = 5, 3
_DIFFERENCES = "Filtered tokens minus the whole corpus, mean over sentences of the mean over the chosen queries."
_MINUS_REST = (
    "Mean over the sentences of the filtered tokens, minus the mean over those of all other tokens. A sentence with both counts in "
    "each mean, with its own tokens. In brackets: 95% intervals by a bootstrap over sentences that draws each sentence alike for "
    "both means; they ignore that the heads were chosen as the largest of all."
)
#: Number of statistics that are named as differing most between heads.
_NAMED = 3
_SPREAD = (
    "Standard deviation between heads over all queries of the corpus, as a share of the range that the statistic can have, "
    "0 to 0.5. The largest:"
)
_NUMBERING = f"Heads count from 0: the papers' “8-10” is {head_name(7, 9)}."
#: Work that counts the numbers of a part for the first time.
COUNT = WorkKind(
    place="numbers",
    waiting="Waiting for another count to end.",
    cancelled="Counting was cancelled. Count again, or change the filter.",
    again="Count again",
    fields=("model", "snapshot", "other", "where"),
)
#: Work that counts all tokens while the numbers of the first tokens are shown.
COUNT_ALL = replace(COUNT, place="all-numbers")
#: Fields of a link that the heat map depends on.
_OF_GRID = ("statistic", "source", "values", "against", "other", "where")
SHOWN = {"value": "values", "rank": "ranks", "difference": "values ... minus"}
#: Further choices where tokens are filtered.
SHOWN_OF_PART = dict(zip(OF_PART, ("part minus corpus", "part minus others"), strict=True))
#: Text in place of a heat map without numbers.
NO_TOKENS = "No such tokens here. Choose other queries or remove a filter."
_CURVES = (
    "Each dot is a head, a line the mean of its layer, a bar the 95% interval of that mean {} "
    "(Figures 2 and 4 of Clark et al. 2019)."
)
_OF_CURVES = "Each dot is a head, a line the mean of its layer. “Mean over” does not change these figures. Click a dot to open the head."
#: Pixels reserved for numbers that are being counted: the height of the heat map and the first figures.
COUNTED = 1600


def most_varying(state: LinkState, shown: str, spread: Mapping[str, float]) -> html.P:
    """The statistic in which heads differ most, a link to it where another is shown, and how the difference is computed.

    `spread` is how much heads differ in each statistic, the most first.
    """
    first = list(spread.items())[:_NAMED]
    most = first[0][0]
    title = STATISTICS[most].title
    name = title if shown == most else dcc.Link(title, href=state.with_(statistic=None).href)
    about = f"{_SPREAD} {', '.join(f'{STATISTICS[statistic].title} {share:.2f}' for statistic, share in first)}. {_NUMBERING}"
    return html.P(
        [
            "By default, the page shows the statistic in which heads differ most: ",
            name,
            ".",
            info("the difference between heads", about),
        ],
        className="caption",
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


def choices(shown: StatisticsPage) -> Choices:
    """The value of the choice of a statistic, and its default."""
    return {"statistic": shown.statistic}, {"statistic": shown.standard}


def draw(shown: StatisticsPage) -> Page:
    """Draw the page. A part that was never counted is counted after the rest of the page is shown."""
    state, menu = shown.state, filter_menu([each.condition for each in shown.filters], shown.offered)
    top = [
        html.H1(f"Statistics of all {shown.layers * shown.heads} heads"),
        _label_links(state, shown.contrasts),
        html.Div([_controls(shown), menu], className="control-rows"),
        filter_row(shown.filters, _part_size(state, shown.size)),
    ]
    if shown.whole is None:
        return Page(above=top, notices=shown.notices)
    if shown.numbers is None:
        numbers: list[object] = [job_place(COUNT, COUNTED, _skeleton(shown.layers))]
    else:
        numbers = draw_numbers(state, shown.numbers)
    heads = html.Div(head_choices(state, shown.layers, shown.heads), className="controls")
    return Page(above=[*top, *numbers, *_draw_whole(state, shown.whole, heads)], notices=shown.notices)


def draw_numbers(state: LinkState, numbers: Numbers) -> list[object]:
    """Draw all numbers of a part."""
    return [
        *_heat_map(state, numbers),
        html.H2(["By layer", info("the curves by layer", _CURVES.format(numbers.interval))]),
        html.P(_OF_CURVES, className="caption"),
        html.Div(curves(numbers.curves, numbers.of), className="figures"),
        html.H2("Token mixing"),
        *mixing(
            numbers.mixing,
            numbers.ratios,
            state.source,
            numbers.of,
            file_href(numbers.files, "mixing.csv", {"where": state.where}),
            file_href(numbers.files, "expansion.csv"),
        ),
        *table_of_heads(state, numbers.columns, numbers.labels, numbers.shares, numbers.inside, numbers.files),
    ]


def _skeleton(layers: int) -> list[object]:
    """Empty boxes in the places of the heat map and the curves by layer."""
    curve = html.Div(className="skeleton box", style={"--height": "300px", "--narrow": "300px"})
    rows = f"{heat_map_height(layers)}px"
    return [
        html.Div(className="skeleton box of-job", style={"--height": rows, "--narrow": rows}),
        html.Div([curve] * 6, className="figures of-job"),
    ]


def _draw_whole(state: LinkState, whole: WholeCorpus, heads: html.Div) -> list[object]:
    return [
        *whole.reach,
        *([html.P(whole.remark, className="caption")] if whole.remark else []),
        *draw_arrival(whole.arrival),
        *scatter(state, whole.scatter),
        relative_position_heading(whole.sentences),
        heads,
        html.Div(relative_position(whole.of_layers, whole.profile), className="figures halves"),
        *importance(whole.importance),
    ]


def _controls(shown: StatisticsPage) -> html.Div:
    """Controls of the statistic, its queries, and the kind of values: means, ranks or differences."""
    state = shown.state
    filtered = state.where or state.values in OF_PART
    statistics = {name: STATISTICS[name].title for name in varying_statistics(state.source)}
    parts = [
        statistic_choice("statistic", "Statistic", statistics, shown.statistic, 230),
        choice("source", "Mean over", QUERIES, state.source, 160),
        choice("values", "Show", SHOWN | (SHOWN_OF_PART if filtered else {}), state.values, 160),
    ]
    return html.Div([*parts, *(_subtracted(shown) if state.values == "difference" else [])], className="controls")


def _subtracted(shown: StatisticsPage) -> list[object]:
    """Controls of the subtrahend: another statistic, or the shown statistic of another model."""
    state, controls = shown.state, list[object]()
    if shown.against and not state.other:
        statistics = {name: STATISTICS[name].title for name in comparable_statistics(shown.statistic)}
        controls.append(statistic_choice("against", "minus", statistics, shown.against, 230))
    if shown.models:
        models = {"": "this model", **shown.models}
        controls.append(choice("other", "model", models, state.other or "", 190, of_data=True))
    return controls


def _label_links(state: LinkState, contrasts: Mapping[str, str]) -> html.P | None:
    """Links that compare the labels of the reviews; where the page is at one of them, a link back to all reviews."""
    if state.href in contrasts.values():
        every = state.with_(where=None, values="value").href
        return html.P(
            ["Two labels of reviews are compared. ", dcc.Link("Show the whole corpus", href=every), "."],
            className="how-to-read",
        )
    links = [part for title, href in contrasts.items() for part in (", ", dcc.Link(title, href=href))][1:]
    return html.P(["Compare labels: ", *links, "."], className="how-to-read") if links else None


def _part_size(state: LinkState, size: str) -> html.P:
    """Sentence on the tokens and sentences that the numbers are means over."""
    return html.P([*([clear_all(), " "] if state.where else []), size], className="count one-row", role="status")


def _heat_map(state: LinkState, numbers: Numbers) -> list[object]:
    """The heat map below its title; where no head has a number, advice in a box of the map's height, so that nothing below moves."""
    grid = numbers.grid
    queries = f", {QUERIES[state.source]}" if state.source != "all" else ""
    title = html.H2([f"{grid.title[0].upper()}{grid.title[1:]}{queries}", statistic_info(numbers.statistic)])
    if np.isfinite(grid.values).any():
        return [title, *_drawn_map(state, numbers), definitions()]
    height = {"minHeight": f"{heat_map_height(len(grid.values))}px"}
    return [title, html.Div(html.P(NO_TOKENS, className="caption"), style=height), definitions()]


def _drawn_map(state: LinkState, numbers: Numbers) -> list[object]:
    grid = numbers.grid
    layers, heads = grid.values.shape
    about = [info("what is subtracted", grid.note)] if grid.note else []
    figure = heat_map(
        grid.values,
        written=grid.written,
        hover=grid.hover,
        unit=grid.unit,
        diverging=grid.diverging,
        reverse=grid.reverse,
    )
    differences = state.values in OF_PART and grid.diverging
    of_grid = {name: state.fields[name] for name in _OF_GRID} | {"statistic": numbers.statistic}
    return [
        most_different(state, grid, STATISTICS[numbers.statistic].unit)
        if differences
        else most_varying(state, numbers.statistic, numbers.spread),
        *chart(
            figure,
            name="heat-map",
            caption=["Click a cell to open the head.", *about, " "],
            label=f"Heat map of {layers} by {heads} heads: {grid.title}",
            of=f"{numbers.of} {grid.note}".strip(),
            elsewhere="the table below has every number" if grid.kind == "value" else "",
            data=file_href(numbers.files, "heat-map.csv", of_grid),
            height=heat_map_height(layers),
            opens=True,
            turns=True,
        ),
    ]


def first_numbers(context: Context, counting: Job) -> list[object]:
    """All numbers of the link's part, or numbers of the first tokens and a job that replaces them."""
    corpus, state, counts = context.corpus, context.state, LinkCounts.of(context)
    first = counts.of_parts.first_part(corpus, counts.part(corpus))
    if first is None or counts.is_known:
        return draw_numbers(state, read_numbers(counts, counting))
    shown = draw_numbers(state, read_numbers(replace(counts, first=True), counting))
    return [job_place(COUNT_ALL, 0, [_first_caption(corpus, first, "So far", " are being counted."), *shown])]


def all_numbers(context: Context, counting: Job) -> list[object]:
    """The numbers of all tokens of the part; where the reader cancels the count, the numbers of the first tokens."""
    corpus, state, counts = context.corpus, context.state, LinkCounts.of(context)
    try:
        return draw_numbers(state, read_numbers(counts, counting))
    except ReaderLeft:
        first = counts.of_parts.first_part(corpus, counts.part(corpus))
        if first is None:
            raise
        again = html.A("Count them", href=state.href)
        caption = _first_caption(corpus, first, "Shown", " are not counted. ", again, ".")
        return [caption, *draw_numbers(state, read_numbers(replace(counts, first=True)))]


def _first_caption(corpus: Corpus, first: Part, shown: str, *of_all: str | html.A) -> html.P:
    """Caption: the tokens of the shown numbers, and the state of the count of all tokens."""
    of = searched_tokens(corpus, first.first or corpus.n_tokens)
    match = f"{many(first.tokens, 'token')} in {many(first.sentences, 'sentence')}"
    means = f"{shown}: means over {match}, those of {of}, a uniform sample. {capital(every_of(corpus, 'token'))}"
    return html.P([means, *of_all], className="count")


STATISTICS_OF_HEADS = Topic(
    name="statistics",
    title="Statistics",
    letter="s",
    docs="statistics.md",
    layout=read_then_draw(read, draw),
    links=PageLinks(other_models=comparable, second_model=subtracted_model, subtracts=True),
    choices=choices,
    deferred=(REACH,),
    jobs={COUNT: first_numbers, COUNT_ALL: all_numbers},
    routes=(register,),
)
