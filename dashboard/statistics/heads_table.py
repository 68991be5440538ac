"""The table of all heads on page Statistics: a column for each statistic, sorted by one, filtered by name and label."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import dash_mantine_components as dmc
import numpy as np
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.statistics.data import Values, importance_of
from dashboard.ui.controls import action, choice
from dashboard.ui.markup import file_links, scrolling
from dashboard.ui.text import brief, signed, unit_title
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus
from store.schema.model import head_name, varying_statistics

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
Heads = list[tuple[int, int]]


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


def read_columns(corpus: Corpus, means: xr.DataArray, source: str) -> Columns:
    """The columns of means (source, statistic, layer, head) over the rows of a source, with importance where it is known."""
    return table_columns(means, source, importance_of(corpus))


def table_of_heads(state: LinkState, columns: Columns, labels: NDArray[np.str_], files: str) -> list[object]:
    """The table of all heads with their labels (layer, head); `files` begins the URLs of the corpus' files."""
    heads = _sorted_heads(_matching_heads(state, labels), columns, state.sort)
    by = columns.get(state.sort or "")
    order = f", by {by.title}, largest first" if by else ""
    shown = f"{len(heads):,} of {labels.size:,} heads{order}. Numbers are means, shares in %."
    empty = [html.P("No heads match. Clear the name or the label.", role="status")] if not heads else []
    return [
        html.H2("All heads"),
        _table_controls(state, labels),
        html.P(shown, className="caption", role="status"),
        *(empty or [_heads_table(state, heads, columns, labels)]),
        file_links(files, "All heads", "statistics", {"source": state.source, "where": state.where}),
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


def _table_controls(state: LinkState, labels: NDArray[np.str_]) -> html.Div:
    different, counts = np.unique(labels, return_counts=True)
    names = {"": "any"} | {
        str(name) or "none": f"{name or 'unlabelled'} ({count})" for name, count in zip(different, counts, strict=True)
    }
    text = dmc.TextInput(
        id={"choose": "named", "by": "heads"},
        label="Name",
        placeholder="L7, H9 or L7 H9",
        value=state.named or "",
        debounce=True,
        size="xs",
        w=140,
    )
    label = choice("behaviour", "Label", names, state.behaviour or "", 170)
    return html.Div([text, label], className="controls")


def _matching_heads(state: LinkState, labels: NDArray[np.str_]) -> Heads:
    """Heads with the label and the name of the link."""
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


def _heads_table(state: LinkState, heads: Heads, columns: Columns, labels: NDArray[np.str_]) -> html.Div:
    titles = [_sorting_button(state, name, column.short, column.title) for name, column in columns.items()]
    units = [html.Td(unit_title(column.unit), className="number") for column in columns.values()]
    names = html.Tr([_sorting_button(state, None, "head", "layer and head", ""), html.Th("label"), *titles])
    top = html.Thead([names, html.Tr([html.Td(), html.Td(), *units])])
    body = html.Tbody([_head_row(state, head, columns, labels[head]) for head in heads])
    return scrolling(html.Table([top, body], className="rows heads"), "All heads")


def _sorting_button(state: LinkState, by: str | None, title: str, what: str, kind: str = "number") -> html.Th:
    """A column's name, a button that sorts by it."""
    now = by == state.sort
    button = action(title, state.with_(sort=by).href, title=f"Sort by {what}", look="sort")
    sorted_by = {"aria-sort": "descending"} if now and by else {}
    return html.Th(button, className=kind, **sorted_by)


def _head_row(state: LinkState, head: tuple[int, int], columns: Columns, label: str) -> html.Tr:
    href = state.on("head").with_(layer=head[0], head=head[1]).href
    numbers = [html.Td(column.written(head), className="number") for column in columns.values()]
    return html.Tr([html.Td(dcc.Link(head_name(*head), href=href)), html.Td(str(label)), *numbers])
