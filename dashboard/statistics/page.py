"""Page Statistics: numbers of all heads over the corpus or a part of it, as a heat map, as figures and as a table."""

from dataclasses import replace

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.points.columns import columns
from dashboard.points.controls import filter_menu, filter_row
from dashboard.points.drawn import Drawn
from dashboard.points.selection import parse_conditions
from dashboard.statistics.contrast import label_contrasts
from dashboard.statistics.data import (
    OF_PART,
    HeadGrid,
    choices,
    comparable_statistics,
    compared_with,
    grid_notices,
    is_counted,
    part_numbers,
    shown_grid,
    shown_part,
    shown_statistic,
)
from dashboard.statistics.differences import most_different, most_varying
from dashboard.statistics.heads_table import table_of_heads
from dashboard.statistics.parts import Part, first_part, part_labels, part_of
from dashboard.statistics.routes import register
from dashboard.statistics.sections import (
    curves,
    definitions,
    importance,
    mixing,
    relative_position,
    relative_position_heading,
    size_of_part,
)
from dashboard.topic import Topic
from dashboard.ui.charts import chart, heat_map, heat_map_height
from dashboard.ui.controls import choice, head_choices, info, statistic_choice, statistic_info
from dashboard.ui.job import Job, Kind, job_place
from dashboard.ui.page import Page
from dashboard.ui.tables import file_href
from dashboard.ui.text import (
    QUERIES,
    all_of,
    capital,
    every_of,
    has_part,
    kind_of_interval,
    model_names,
    searched_tokens,
)
from dashboard.web.context import Context, comparable
from dashboard.web.errors import ReaderLeft
from dashboard.web.page_links import PageLinks
from store import STATISTICS, Corpus
from store.schema.model import varying_statistics
from store.wording import many

#: The numbers of a part that was never counted.
COUNT = Kind(
    place="numbers",
    waiting="Waiting for another count to end.",
    cancelled="Counting was cancelled. Count again, or change the filter.",
    again="Count again",
    fields=("model", "snapshot", "other", "where"),
)
#: The count of all tokens, beside the numbers of the first.
COUNT_ALL = replace(COUNT, place="all-numbers")
#: Fields of a link that the heat map depends on.
_OF_GRID = ("statistic", "source", "values", "against", "other", "where")
SHOWN = {"value": "values", "rank": "ranks", "difference": "values ... minus"}
#: Offered where tokens are filtered.
SHOWN_OF_PART = dict(zip(OF_PART, ("part minus corpus", "part minus others"), strict=True))
_CURVES = (
    "Each dot is a head, a line the mean of its layer, a bar the 95% interval of that mean {} "
    "(Figures 2 and 4 of Clark et al. 2019)."
)
#: Pixels reserved for numbers that are still being counted: those of the heat map and of the first figures.
COUNTED = 1600


def layout(context: Context) -> Page:
    """The page for a context. A part that was never counted is counted after the rest of the page is shown."""
    corpus = context.corpus
    part = part_of(corpus, context.state.where)
    top = [
        html.H1(f"Statistics of all {corpus.layers * corpus.heads} heads"),
        _label_links(context),
        *_part_controls(context, part),
    ]
    notices = (*part.notices, *grid_notices(context))
    if not part.tokens:
        return Page(above=top, notices=notices)
    shown = numbers(context) if is_counted(context, part) else [job_place(COUNT, COUNTED, _skeleton(context))]
    return Page(above=[*top, *shown, *_of_whole_corpus(context, part)], notices=notices)


def numbers(context: Context, counting: Job | None = None) -> list[object]:
    """All numbers of the link's part. Raises `Refusal` where the server cannot count it now."""
    part = shown_part(context)
    counted = part_numbers(context, counting)
    labels = part_labels(context.corpus, part, counted.means)
    return [
        *_heat_map(context, part, shown_grid(context, counted, counting)),
        html.H2(
            ["By layer", info("the curves by layer", _CURVES.format(kind_of_interval(context.corpus, part.whole)))]
        ),
        html.P("Each dot is a head, a line the mean of its layer. Click a dot to open the head.", className="caption"),
        html.Div(curves(context, part, counted), className="figures"),
        html.H2("Token mixing"),
        *mixing(context, part, counted.mixing),
        *table_of_heads(context, counted.means, labels.values),
    ]


def _skeleton(context: Context) -> list[object]:
    """Boxes where the heat map and the curves by layer will be."""
    curve = html.Div(className="skeleton box", style={"--height": "300px", "--narrow": "300px"})
    rows = f"{heat_map_height(context.corpus.layers)}px"
    return [
        html.Div(className="skeleton box of-job", style={"--height": rows, "--narrow": rows}),
        html.Div([curve] * 6, className="figures of-job"),
    ]


def _of_whole_corpus(context: Context, part: Part) -> list[object]:
    """What no filter changes."""
    whole = (
        f"the whole corpus, {all_of(context.corpus, 'sentence')}" if has_part(context.corpus) else "the whole corpus"
    )
    caption = html.P(f"Filters do not apply below: these figures are of {whole}.", className="caption")
    return [
        *([] if part.whole else [caption]),
        relative_position_heading(context),
        html.Div(head_choices(context), className="controls"),
        html.Div(relative_position(context), className="figures halves"),
        *importance(context),
    ]


def _controls(context: Context) -> html.Div:
    """The statistic, its queries, and what of it is shown."""
    state = context.state
    filtered = state.where or state.values in OF_PART
    statistics = {name: STATISTICS[name].title for name in varying_statistics(state.source)}
    parts = [
        statistic_choice("statistic", "Statistic", statistics, shown_statistic(context), 230),
        choice("source", "Mean over", QUERIES, state.source, 160),
        choice("values", "Show", SHOWN | (SHOWN_OF_PART if filtered else {}), state.values, 160),
    ]
    return html.Div([*parts, *(_subtracted(context) if state.values == "difference" else [])], className="controls")


def _subtracted(context: Context) -> list[object]:
    """What is subtracted: another statistic, or the same of another model."""
    state = context.state
    others = comparable(context.snapshot, context.corpus)
    titles = model_names(context.snapshot)
    models = {"": "this model"} | {name: titles[name] for name in others}
    statistics = {name: STATISTICS[name].title for name in comparable_statistics(shown_statistic(context))}
    controls: list[object] = []
    if (against := compared_with(context)) and not state.other:
        controls.append(statistic_choice("against", "minus", statistics, against, 230))
    if others:
        controls.append(choice("other", "model", models, state.other or "", 190, of_data=True))
    return controls


def _part_controls(context: Context, part: Part) -> list[object]:
    """What is shown, a menu of the columns that are the same in all heads, the filters and how much of the corpus they leave."""
    corpus = context.corpus
    offered = {name: column for name, column in columns(corpus).items() if not (column.per_head or column.per_role)}
    conditions, _ = parse_conditions(context.state.where or "", corpus)
    where = [condition for condition in conditions if condition.column in offered]
    drawn = Drawn(corpus, corpus.n_tokens, 0, 0)
    return [
        html.Div([_controls(context), filter_menu(where, offered)], className="control-rows"),
        filter_row(drawn, where, _part_size(context, part), roles=1),
    ]


def _label_links(context: Context) -> html.P | None:
    """Links that compare the labels of the reviews; where one is followed, the way back to all of them."""
    contrasts = label_contrasts(context.corpus, context.state)
    if context.state.href in contrasts.values():
        every = context.state.with_(where=None, values="value").href
        return html.P(
            ["Labels are compared. ", dcc.Link("Show the whole corpus", href=every), "."], className="how-to-read"
        )
    links = [part for title, href in contrasts.items() for part in (", ", dcc.Link(title, href=href))][1:]
    return html.P(["Compare labels: ", *links, "."], className="how-to-read") if links else None


def _part_size(context: Context, part: Part) -> html.P:
    """How much of the corpus the numbers are means over."""
    clear = dmc.Button("Clear all", id={"remove": "all"}, size="compact-xs", variant="subtle")
    size = [*([clear, " "] if context.state.where else []), size_of_part(context.corpus, part)]
    return html.P(size, className="count one-row", role="status")


def _heat_map(context: Context, part: Part, grid: HeadGrid) -> list[object]:
    corpus, state = context.corpus, context.state
    queries = f", {QUERIES[state.source]}" if state.source != "all" else ""
    table = "; the table below has every number" if grid.kind == "value" else ""
    about = [info("what is subtracted", grid.note)] if grid.note else []
    figure = heat_map(
        grid.values,
        written=grid.written,
        hover=grid.hover,
        unit=grid.unit,
        diverging=grid.diverging,
        reverse=grid.reverse,
    )
    return [
        html.H2([f"{grid.title[0].upper()}{grid.title[1:]}{queries}", statistic_info(shown_statistic(context))]),
        most_different(context, grid) if state.values in OF_PART and grid.diverging else most_varying(context),
        *chart(
            figure,
            name="heat-map",
            caption=["Click a cell to open the head.", *about, " "],
            label=f"Heat map of {corpus.layers} by {corpus.heads} heads: {grid.title}{table}",
            of=f"{size_of_part(corpus, part)} {grid.note}".strip(),
            data=file_href(context, "heat-map.csv", _of_grid(context)),
            height=heat_map_height(corpus.layers),
            opens=True,
            turns=True,
        ),
        definitions(),
    ]


def _of_grid(context: Context) -> dict[str, str | None]:
    """The fields of a link that name the numbers of the heat map."""
    state = context.state
    return {name: state.fields[name] for name in _OF_GRID} | {"statistic": shown_statistic(context)}


def first_numbers(context: Context, counting: Job) -> list[object]:
    """All numbers of the link's part, or those of the first tokens with a job that replaces them."""
    part = part_of(context.corpus, context.state.where)
    first = first_part(context.corpus, part)
    if first is None or is_counted(context, part):
        return numbers(context, counting)
    shown = numbers(replace(context, first=True), counting)
    return [job_place(COUNT_ALL, 0, [_first_caption(context.corpus, first, "So far", " are being counted."), *shown])]


def all_numbers(context: Context, counting: Job) -> list[object]:
    """The numbers of all tokens of the part; where the reader cancels their count, those of the first stay."""
    try:
        return numbers(context, counting)
    except ReaderLeft:
        first = first_part(context.corpus, part_of(context.corpus, context.state.where))
        if first is None:
            raise
        again = html.A("Count them", href=context.state.href)
        caption = _first_caption(context.corpus, first, "Shown", " are not counted. ", again, ".")
        return [caption, *numbers(replace(context, first=True))]


def _first_caption(corpus: Corpus, first: Part, shown: str, *of_all: str | html.A) -> html.P:
    """What the numbers are of, and what becomes of all tokens."""
    of = searched_tokens(corpus, first.first or corpus.n_tokens)
    match = f"{many(first.tokens, 'token')} in {many(first.sentences, 'sentence')}"
    means = f"{shown}: means over {match}, those of {of}, a uniform sample. {capital(every_of(corpus, 'token'))}"
    return html.P([means, *of_all], className="count")


STATISTICS_OF_HEADS = Topic(
    name="statistics",
    title="Statistics",
    letter="s",
    docs="statistics.md",
    layout=layout,
    links=PageLinks(other_models=comparable),
    choices=choices,
    jobs={COUNT: first_numbers, COUNT_ALL: all_numbers},
    routes=(register,),
)
