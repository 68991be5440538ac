"""Page Statistics: numbers of all heads over the corpus or a part of it, as a heat map, as figures and as a table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import dash_mantine_components as dmc
import numpy as np
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.points.columns import columns
from dashboard.points.controls import filter_menu, filter_row
from dashboard.points.drawn import Drawn
from dashboard.points.selection import parse_conditions
from dashboard.statistics.contrast import label_contrasts
from dashboard.statistics.data import (
    OF_PART,
    HeadGrid,
    Values,
    comparable_statistics,
    compared_with,
    grid_notices,
    importance_of,
    is_counted,
    part_numbers,
    shown_grid,
    shown_part,
    shown_statistic,
)
from dashboard.statistics.differences import most_different, most_varying
from dashboard.statistics.parts import Part, part_labels, part_of
from dashboard.statistics.sections import (
    curves,
    definitions,
    importance,
    mixing,
    relative_position,
    relative_position_heading,
    size_of_part,
)
from dashboard.ui.charts import chart, heat_map, heat_map_height
from dashboard.ui.controls import action, choice, head_choices, info, statistic_choice, statistic_info
from dashboard.ui.job import Job, Kind, job_place
from dashboard.ui.page import Page
from dashboard.ui.tables import file_href, file_links, scrolling
from dashboard.ui.text import (
    QUERIES,
    all_of,
    brief,
    has_part,
    kind_of_interval,
    model_names,
    signed,
    unit_title,
)
from dashboard.web.context import Context, comparable
from store import STATISTICS
from store.schema.model import head_name, varying_statistics

#: The numbers of a part that was never counted.
COUNT = Kind(
    place="numbers",
    waiting="Waiting for another count to end.",
    cancelled="Counting was cancelled. Count again, or change the filter.",
    again="Count again",
    fields=("model", "snapshot", "other", "where"),
)
#: Fields of a link that the heat map depends on.
_OF_GRID = ("statistic", "source", "values", "against", "other", "where")
SHOWN = {"value": "values", "rank": "ranks", "difference": "values ... minus"}
#: Offered where tokens are filtered.
SHOWN_OF_PART = dict(zip(OF_PART, ("part minus corpus", "part minus others"), strict=True))
_CURVES = (
    "Each dot is a head, a line the mean of its layer, a bar the 95% interval of that mean {} "
    "(Figures 2 and 4 of Clark et al. 2019)."
)
#: Statistic -> its name in a column.
COLUMN_NAMES = {
    "to_cls": "[CLS]",
    "to_sep": "[SEP]",
    "to_punctuation": "punct.",
    "to_previous": "prev.",
    "to_next": "next",
    "to_self": "self",
    "entropy": "entropy",
    "attended_keys": "> 5%",
    "distance": "distance",
    "received": "received",
    "confidence": "max. weight",
    "participation": "eff. keys",
    "to_sink": "sinks",
    "norm_to_cls": "n. [CLS]",
    "norm_to_sep": "n. [SEP]",
    "norm_to_punctuation": "n. punct.",
    "norm_to_self": "n. self",
}
#: Pixels reserved for numbers that are still being counted: those of the heat map and of the first figures.
COUNTED = 1600
Heads = list[tuple[int, int]]


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


@dataclass(frozen=True)
class TableColumn:
    """Numbers (layer, head) with their name in a narrow column, their title and their unit; differences have a sign."""

    short: str
    title: str
    unit: str
    values: Values
    signed: bool = False

    def written(self, head: tuple[int, int]) -> str:
        """The number of a head, without its unit."""
        value = float(self.values[head])
        return signed(value, 3) if self.signed else brief(value, self.unit)


Columns = Mapping[str, TableColumn]


def table_of_heads(context: Context, means: xr.DataArray, labels: NDArray[np.str_]) -> list[object]:
    """The table of means (source, statistic, layer, head) over the rows of the link's source."""
    state = context.state
    columns = table_columns(means, state.source, importance_of(context.corpus))
    heads = _sorted_heads(_matching_heads(context, labels), columns, state.sort)
    order = f", by {columns[state.sort].title}, largest first" if state.sort in columns else ""
    shown = f"{len(heads):,} of {labels.size:,} heads{order}. Numbers are means, shares in %."
    empty = [html.P("No heads match. Clear the name or the label.", role="status")] if not heads else []
    return [
        html.H2("All heads"),
        _table_controls(context, labels),
        html.P(shown, className="caption", role="status"),
        *(empty or [_heads_table(context, heads, columns, labels)]),
        file_links(context, "All heads", "statistics", {"source": state.source, "where": state.where}),
    ]


def table_columns(means: xr.DataArray, source: str, importance: Values | None) -> dict[str, TableColumn]:
    """Columns by their names in a link, from means (source, statistic, layer, head) and importance (layer, head)."""
    of_source = means.sel(source=source)
    columns = {name: _table_column(name, of_source.sel(statistic=name).values) for name in varying_statistics(source)}
    if importance is not None:
        title = "importance: change of the model's loss without the head"
        columns["importance"] = TableColumn("import.", title, "nats", importance, signed=True)
    return columns


def _table_column(name: str, values: Values) -> TableColumn:
    return TableColumn(COLUMN_NAMES[name], STATISTICS[name].title, STATISTICS[name].unit, values)


def _table_controls(context: Context, labels: NDArray[np.str_]) -> html.Div:
    different, counts = np.unique(labels, return_counts=True)
    names = {"": "any"} | {
        str(name) or "none": f"{name or 'unlabelled'} ({count})" for name, count in zip(different, counts, strict=True)
    }
    text = dmc.TextInput(
        id={"choose": "named", "by": "heads"},
        label="Name",
        placeholder="L7, H9 or L7 H9",
        value=context.state.named or "",
        debounce=True,
        size="xs",
        w=140,
    )
    label = choice("behaviour", "Label", names, context.state.behaviour or "", 170)
    return html.Div([text, label], className="controls")


def _matching_heads(context: Context, labels: NDArray[np.str_]) -> Heads:
    """Heads with the label and the name of the link."""
    state = context.state
    wanted = set(re.findall(r"[lh]\d+", (state.named or "").lower()))
    return [
        (layer, head)
        for layer, head in np.ndindex(*labels.shape)
        if state.behaviour in (None, str(labels[layer, head]) or "none")
        and (wanted or not state.named)
        and wanted <= {f"l{layer}", f"h{head}"}
    ]


def _sorted_heads(heads: Heads, columns: Columns, by: str | None) -> Heads:
    """The largest first; those without a number last."""
    if by is None or by not in columns:
        return heads
    values = np.nan_to_num(columns[by].values, nan=-np.inf)
    return sorted(heads, key=lambda head: -values[head])


def _heads_table(context: Context, heads: Heads, columns: Columns, labels: NDArray[np.str_]) -> html.Div:
    titles = [_sorting_button(context, name, column.short, column.title) for name, column in columns.items()]
    units = [html.Td(unit_title(column.unit), className="number") for column in columns.values()]
    names = html.Tr([_sorting_button(context, None, "head", "layer and head", ""), html.Th("label"), *titles])
    top = html.Thead([names, html.Tr([html.Td(), html.Td(), *units])])
    body = html.Tbody([_head_row(context, head, columns, labels[head]) for head in heads])
    return scrolling(html.Table([top, body], className="rows heads"), "All heads")


def _sorting_button(context: Context, by: str | None, title: str, what: str, kind: str = "number") -> html.Th:
    """A column's name, a button that sorts by it."""
    now = by == context.state.sort
    button = action(title, context.state.with_(sort=by).href, title=f"Sort by {what}", look="sort")
    sorted_by = {"aria-sort": "descending"} if now and by else {}
    return html.Th(button, className=kind, **sorted_by)


def _head_row(context: Context, head: tuple[int, int], columns: Columns, label: str) -> html.Tr:
    href = context.state.on("head").with_(layer=head[0], head=head[1]).href
    numbers = [html.Td(column.written(head), className="number") for column in columns.values()]
    return html.Tr([html.Td(dcc.Link(head_name(*head), href=href)), html.Td(str(label)), *numbers])
