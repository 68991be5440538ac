"""All heads with all their statistics, each a link to the head: sorted by the link, filtered by label and by name."""

import re
from collections.abc import Mapping

import dash_mantine_components as dmc
import numpy as np
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.statistics.importance import importance_of
from dashboard.statistics.table_columns import TableColumn, table_columns
from dashboard.ui.controls import choice
from dashboard.ui.file_links import file_links
from dashboard.web.view import Place
from store.schema.model import head_name

Heads = list[tuple[int, int]]
Columns = Mapping[str, TableColumn]


def head_table(place: Place, means: xr.DataArray, labels: NDArray[np.str_]) -> list[object]:
    """The table of means (source, statistic, layer, head) over the rows of the link's source."""
    address = place.address
    columns = table_columns(means, address.source, importance_of(place.corpus))
    heads = _sorted(_named(place, labels), columns, address.sort)
    shown = f"{len(heads):,} of {labels.size:,} heads. Numbers are means, shares in %. A column's name sorts by it."
    empty = [html.P("No head matches. Clear the name or the label.", role="status")] if not heads else []
    return [
        html.H2("All heads"),
        _controls(place, labels),
        html.P(shown, className="caption", role="status"),
        *(empty or [_table(place, heads, columns, labels)]),
        file_links(place, "All heads", "statistics", {"source": address.source, "where": address.where}),
    ]


def _controls(place: Place, labels: NDArray[np.str_]) -> html.Div:
    found, counts = np.unique(labels, return_counts=True)
    names = {"": "any"} | {
        str(name) or "none": f"{name or 'no label'} ({count})" for name, count in zip(found, counts, strict=True)
    }
    text = dmc.TextInput(
        id={"choose": "named", "by": "heads"},
        label="Name",
        placeholder="L7, H9 or L7 H9",
        value=place.address.named or "",
        debounce=True,
        size="xs",
        w=140,
    )
    label = choice("behaviour", "Label", names, place.address.behaviour or "", 170)
    return html.Div([text, label], className="controls")


def _named(place: Place, labels: NDArray[np.str_]) -> Heads:
    """Heads with the label and the name that are asked for."""
    address = place.address
    wanted = set(re.findall(r"[lh]\d+", (address.named or "").lower()))
    return [
        (layer, head)
        for layer, head in np.ndindex(*labels.shape)
        if address.behaviour in (None, str(labels[layer, head]) or "none")
        and (wanted or not address.named)
        and wanted <= {f"l{layer}", f"h{head}"}
    ]


def _sorted(heads: Heads, columns: Columns, by: str | None) -> Heads:
    """The largest first; those without a number last."""
    if by is None or by not in columns:
        return heads
    values = np.nan_to_num(columns[by].values, nan=-np.inf)
    return sorted(heads, key=lambda head: -values[head])


def _table(place: Place, heads: Heads, columns: Columns, labels: NDArray[np.str_]) -> html.Div:
    titles = [_sorting(place, name, one.short, one.title) for name, one in columns.items()]
    units = [html.Td(one.unit_title, className="number") for one in columns.values()]
    names = html.Tr([_sorting(place, None, "head", "layer and head", ""), html.Th("label"), *titles])
    top = html.Thead([names, html.Tr([html.Td(), html.Td(), *units])])
    body = html.Tbody([_row(place, head, columns, labels[head]) for head in heads])
    return html.Div(
        html.Table([top, body], className="rows heads"),
        className="scroll",
        tabIndex=0,
        role="region",
        **{"aria-label": "All heads"},
    )


def _sorting(place: Place, by: str | None, title: str, says: str, kind: str = "number") -> html.Th:
    """A column's name, a link that sorts by it."""
    now = by == place.address.sort
    link = dcc.Link(title, href=place.address.with_(sort=by).href, title=f"Sort by {says}")
    sorted_by = {"aria-sort": "descending"} if now and by else {}
    return html.Th([link, " ↓" if now and by else ""], className=kind, **sorted_by)


def _row(place: Place, head: tuple[int, int], columns: Columns, label: str) -> html.Tr:
    href = place.address.on("head").with_(layer=head[0], head=head[1]).href
    numbers = [html.Td(one.written(head), className="number") for one in columns.values()]
    return html.Tr([html.Td(dcc.Link(head_name(*head), href=href)), html.Td(str(label)), *numbers])
