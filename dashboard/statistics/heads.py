"""Heads beside heads: the table of all, their labels, the kinds of heads, and the heads nearest to one by Jensen-Shannon divergence."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import dash_mantine_components as dmc
import numpy as np
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.roles.shares import RoleShares, role_choice
from dashboard.statistics.data import Values, importance_of
from dashboard.statistics.scatter import without_box
from dashboard.ui.controls import choice, info, sorting_title
from dashboard.ui.glossary import defined
from dashboard.ui.markup import Unmade, file_links, heading, scrolling, titled_row, unmade_line
from dashboard.ui.text import all_of, brief, signed, unit_title
from dashboard.web.results import cached
from dashboard.web.special_names import applies
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus
from store.kernels.heads import LABELS, THRESHOLDS, NearHead, nearest_heads
from store.kernels.statistics import even_entropy
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.schema.model import head_name, varying_statistics

#: Statistic -> its name in the heading of a column.
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
_NO_RULE = "No rule of Clark et al. 2019 holds: the head attends to no kind of token more than its threshold."
#: Label -> what heads with it do.
BEHAVIOURS: Mapping[str, str] = {
    "next": "attend to the next token",
    "previous": "attend to the previous token",
    "self": "attend to the token itself",
    "broad": "attend broadly",
    "[CLS]": "attend to [CLS]",
    "[SEP]": "attend to [SEP]",
    "punctuation": "attend to full stops and commas",
}
#: Label -> title of its statistic, where this is taken as a share of the largest possible value.
OF_LARGEST: Mapping[str, str] = {"broad": "entropy relative to uniform attention"}
#: Number of heads that are listed as nearest.
LISTED = 10
#: Pixels of a row of the table of heads.
_ROW = 27
_MEANING = defined("divergence", "After Clark et al. (2019, section 6).")


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


def special_statistic(corpus: Corpus) -> str:
    """The statistic of attention to a special token: the token after a text, or where the tokenizer adds none, the first token."""
    return "to_sep" if applies(corpus, STATISTICS["to_sep"].title) else "to_cls"


def read_columns(corpus: Corpus, means: xr.DataArray, source: str) -> Columns:
    """Columns of the table from means (source, statistic, layer, head) over a source, with importance where it is known."""
    columns = table_columns(means, source, importance_of(corpus))
    return {name: column for name, column in columns.items() if applies(corpus, column.title)}


def table_of_heads(
    state: LinkState,
    columns: Columns,
    labels: NDArray[np.str_],
    shares: RoleShares | None,
    inside: NDArray[np.bool_] | None,
    files: str,
) -> list[object]:
    """The table of all heads with their labels and their roles, or of those in a box of the scatter.

    `labels` and `inside` are (layer, head); `files` begins the URLs of the corpus' files.
    """
    matching = _matching_heads(state, labels, shares)
    matching = matching if inside is None else [head for head in matching if inside[head]]
    heads = _sorted_heads(matching, columns, state.sort)
    by = columns.get(state.sort or "")
    order = f", by {by.title}, largest first" if by else ""
    box = " in the box of the scatter below" if inside is not None else ""
    shown = f"{len(heads):,} of {labels.size:,} heads{box}{order}. Numbers are means, shares in %. "
    filters = [*(["the box"] if box else []), "the name", *(["the role"] if shares else [])]
    empty = [html.P(f"No heads match. Clear {', '.join(filters)} or the label.", role="status")] if not heads else []
    clear = [dcc.Link("Clear the box", href=without_box(state).href)] if box else []
    # As high as the table of all heads: a box then moves nothing below the table.
    room = {"minHeight": f"min(420px, {_ROW * (labels.size + 2)}px)"} if box else {}
    return [
        html.H2("All heads"),
        _table_controls(state, labels, shares),
        html.P([shown, *clear], className="caption", role="status"),
        html.Div(empty or [_heads_table(state, heads, columns, labels, shares)], style=room),
        file_links(files, "All heads", "statistics", {"source": state.source, "where": state.where}),
    ]


def table_columns(means: xr.DataArray, source: str, importance: Values | None) -> dict[str, TableColumn]:
    """Columns by their names in a link, from means (source, statistic, layer, head) and importance (layer, head)."""
    of_source = means.sel(source=source)
    columns = {
        name: TableColumn(
            COLUMN_NAMES[name], STATISTICS[name].title, STATISTICS[name].unit, of_source.sel(statistic=name).values
        )
        for name in varying_statistics(source)
    }
    if importance is not None:
        title = "importance: change of the model's loss without the head"
        columns["importance"] = TableColumn("import.", title, "nats", importance, signed=True)
    return columns


def _table_controls(state: LinkState, labels: NDArray[np.str_], shares: RoleShares | None) -> html.Div:
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
    role = role_choice(state, shares, "Role") if shares else None
    return html.Div([text, role, label], className="controls")


def _matching_heads(state: LinkState, labels: NDArray[np.str_], shares: RoleShares | None) -> Heads:
    """Heads with the label, the role and the name of the link."""
    with_role = shares.heads_of(state.does) if shares and state.does else list(np.ndindex(*labels.shape))
    wanted = set(re.findall(r"[lh]\d+", (state.named or "").lower()))
    return [
        (layer, head)
        for layer, head in sorted(with_role)
        if state.behaviour in (None, str(labels[layer, head]) or "none")
        and (wanted or not state.named)
        and wanted <= {f"l{layer}", f"h{head}"}
    ]


def _sorted_heads(heads: Heads, columns: Columns, by: str | None) -> Heads:
    """Heads sorted by a column, the largest value first, heads without a number last."""
    if by is None or by not in columns:
        return heads
    values = np.nan_to_num(columns[by].values, nan=-np.inf)
    return sorted(heads, key=lambda head: -values[head])


def _heads_table(
    state: LinkState, heads: Heads, columns: Columns, labels: NDArray[np.str_], shares: RoleShares | None
) -> html.Div:
    titles = [_sorting_button(state, name, column.short, column.title) for name, column in columns.items()]
    units = [html.Td(unit_title(column.unit), className="number") for column in columns.values()]
    names = html.Tr(
        [
            _sorting_button(state, None, "head", "layer and head", ""),
            *_role_cells(html.Th("clearest role"), shares),
            html.Th("label"),
            *titles,
        ]
    )
    top = html.Thead([names, html.Tr([html.Td(), *_role_cells(html.Td(), shares), html.Td(), *units])])
    body = html.Tbody([_head_row(state, head, columns, labels[head], shares) for head in heads])
    return scrolling(html.Table([top, body], className="rows heads stacked cards"), "All heads")


def _sorting_button(state: LinkState, by: str | None, title: str, what: str, kind: str = "number") -> html.Th:
    """A column's name, a button that sorts by it."""
    return sorting_title(title, state.with_(sort=by).href, what, kind, is_sorted=bool(by) and by == state.sort)


def _role_cells(cell: html.Td | html.Th, shares: RoleShares | None) -> list[html.Td | html.Th]:
    """The cell in the column of roles; empty for a store without roles."""
    return [cell] if shares else []


def _head_row(
    state: LinkState, head: tuple[int, int], columns: Columns, label: str, shares: RoleShares | None
) -> html.Tr:
    href = state.on("head").with_(layer=head[0], head=head[1]).href
    numbers = [html.Td(column.written(head), className="number") for column in columns.values()]
    role = [html.Td(shares.clearest_title(*head), title=shares.wording[head])] if shares else []
    named = ["head", *(["clearest role"] if shares else []), "label", *map(_narrow_title, columns.values())]
    return titled_row(named, [html.Td(dcc.Link(head_name(*head), href=href)), *role, html.Td(str(label)), *numbers])


def _narrow_title(column: TableColumn) -> str:
    """The short name of a column and its unit."""
    return ", ".join(filter(None, (column.short, unit_title(column.unit))))


def label_of(corpus: Corpus, layer: int, head: int) -> str:
    """The label of a head; empty without one."""
    return str(corpus.head_labels.values[layer, head])


def head_label(label: str) -> list[str | html.Button]:
    """A label in words, and the (i) with its rule."""
    rule = f"{label}: {LABELS[label]} (Clark et al. 2019)." if label else _NO_RULE
    return [f"Label: {label}" if label else "Unlabelled", info("the label", rule)]


@dataclass(frozen=True)
class HeadKind:
    """Heads (layer, head) with one label, and the value of the label's statistic for each, the largest first.

    Entropy is divided by the entropy of uniform attention, as in the label's rule, because it grows with sentence length.
    """

    label: str
    heads: tuple[tuple[int, int], ...]
    values: tuple[float, ...]

    @property
    def statistic(self) -> str:
        """The statistic that the label is a threshold of."""
        return THRESHOLDS[self.label][0]

    @property
    def title(self) -> str:
        """Title of the values, which are shares."""
        return OF_LARGEST.get(self.label, STATISTICS[self.statistic].title)


@cached
def kinds_of(corpus: Corpus) -> tuple[HeadKind, ...]:
    """The kinds that have heads, the kind with most heads first."""
    each = (_kind(corpus, label) for label in LABELS)
    return tuple(sorted((kind for kind in each if kind.heads), key=lambda kind: -len(kind.heads)))


def _kind(corpus: Corpus, label: str) -> HeadKind:
    statistic, _ = THRESHOLDS[label]
    means = corpus.head_statistic.sel(source="all", statistic=statistic).values
    heads = np.argwhere(corpus.head_labels.values == label)
    largest = {layer: largest_values(corpus, label, layer).mean() for layer in {*heads[:, 0].tolist()}}
    values = means[tuple(heads.T)] / np.array([largest[layer] for layer in heads[:, 0].tolist()])
    order = np.argsort(-values, kind="stable")
    return HeadKind(
        label, tuple((int(layer), int(head)) for layer, head in heads[order]), tuple(values[order].tolist())
    )


def largest_values(corpus: Corpus, label: str, layer: int) -> NDArray[np.float64]:
    """The largest possible value of a label's statistic in each sentence for a head of a layer: (counted_sentences,)."""
    sizes = corpus.counted_lengths
    return even_entropy(sizes, corpus.masks[layer]) if label in OF_LARGEST else np.ones(len(sizes))


def divergence_info(about: str) -> html.Button:
    """The (i) of the divergence between heads."""
    return info("the divergence between heads", about)


def about_divergence(corpus: Corpus) -> str:
    """Definition of the divergence between heads, with the sample where the store has one."""
    try:
        return f"{_MEANING} {divergence_sample(corpus)}"
    except NotIngested:
        return _MEANING


def mean_divergence(corpus: Corpus) -> NDArray[np.float64]:
    """Divergence of every two heads, mean over the tokens of the sample: (layer, head, layer, head) in nats."""
    values: NDArray[np.float64] = corpus.divergence["mean_divergence"].values
    return values


def divergence_sample(corpus: Corpus) -> str:
    """The tokens that divergences are means over, in words."""
    attributes = corpus.divergence.attrs
    tokens, sentences = int(attributes["tokens"]), int(attributes["sentences"])
    return f"Mean over the first {tokens:,} of {all_of(corpus, 'token')} ({many(sentences, 'sentence')})."


@dataclass(frozen=True)
class Nearest:
    """The heads nearest to a head by divergence, and the labels (layer, head) of all heads."""

    about: str
    heads: list[NearHead]
    labels: NDArray[np.str_]

    @property
    def others(self) -> int:
        """Number of other heads of the model."""
        return int(self.labels.size) - 1


def read_nearest(
    corpus: Corpus, layer: int, head: int, running: IngestProgress | None, listed: int = LISTED
) -> Nearest | Unmade:
    """Read the heads nearest to a head; the list is empty where the model has one head."""
    labels, near = corpus.head_labels.values, []
    if corpus.layers * corpus.heads > 1:
        try:
            near = nearest_heads(mean_divergence(corpus), layer, head, listed)
        except NotIngested as error:
            return Unmade.of(error, running)
    return Nearest(about_divergence(corpus), near, labels)


def nearest(state: LinkState, read: Nearest | Unmade) -> list[object]:
    """The nearest heads, each a link of `state` to it; a message where the store has no divergences or the model one head."""
    about = _MEANING if isinstance(read, Unmade) else read.about
    title = html.H2([f"Nearest to {head_name(state.layer, state.head)}", divergence_info(about)])
    if isinstance(read, Unmade):
        return [title, unmade_line(read)]
    if not read.others:
        return [title, html.P("The model has one head. Ingest one with more to compare them.", className="caption")]
    rows = [_row(state, head, str(read.labels[head.layer, head.head])) for head in read.heads]
    table = html.Table(
        [heading(("head", "label", "nats per token"), {"nats per token"}), html.Tbody(rows)],
        className="rows even",
    )
    return [title, table, html.P(f"The nearest {len(rows)} of {read.others} heads.", className="caption")]


def _row(state: LinkState, head: NearHead, label: str) -> html.Tr:
    link = dcc.Link(
        head_name(head.layer, head.head),
        href=state.on(state.page).with_(layer=head.layer, head=head.head).href,
    )
    return html.Tr([html.Td(link), html.Td(label), html.Td(f"{head.divergence:.3f}", className="number")])
