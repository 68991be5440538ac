"""Points that a link shows, the selected ones among them, and the column that colours them; and the tab Selection.

The tab says how the selected points differ from the other drawn points. In a picture of all heads a point counts as selected if it is
selected in at least one head; the summary leaves out columns that differ from head to head.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.points.arrangement import arrangement
from dashboard.points.colours import Legend, legend
from dashboard.points.head_tokens import HeadTokens, columns
from dashboard.points.point_set import FIELDS, Column, Condition, PointSet, Selection, mask, parse_selection, values
from dashboard.points.search import Hits, hits
from dashboard.points.similar import PIECES as GROUPS
from dashboard.points.similar import FoundToken, groups_table
from dashboard.ui.files import provenance_of
from dashboard.ui.markup import file_links, heading, scrolling
from dashboard.ui.text import signed, spell
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.state import LinkState, encode_fields
from store import Corpus
from store.repository.ingest_status import IngestProgress
from store.schema.model import ROLES
from store.schema.pictures import ViewName

#: Sentences that the results of a search list.
LISTED = 50
P = TypeVar("P", bound=PointSet)
#: Most wordpieces that the tab compares.
PIECES = 12
CATEGORIES = ("role", "kind", "label")
NUMBERS = ("norm", "position", "sentence_length", "received", "entropy")
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]
#: Titles of columns of numbers.
NUMBER_COLUMNS = ("selected", "rest", "d", "points")
EMPTY = "Search, filter, or draw a lasso or box in the picture to compare the selected points with the rest."


@dataclass(frozen=True)
class Shown(Generic[P]):
    """A set of points as a link shows it.

    Attributes
    ----------
    state
        The link.
    points
        The drawn points.
    view
        The name of their picture; empty before the first picture.
    colour
        The column that colours the points.
    notices
        Notices on ignored parts of the link.
    origin
        Names of models, corpus and snapshot for a saved picture.
    """

    state: LinkState
    points: P
    view: str
    selection: Selection
    colour: Column
    notices: tuple[str, ...]
    origin: Mapping[str, str]
    ingest: IngestProgress | None

    @property
    def query(self) -> str:
        """The selection as the end of a URL; empty where nothing is selected."""
        return f"&{encode_fields(self.selection.fields)}" if self.selection else ""

    @property
    def components(self) -> int:
        """Dimensions of the picture: 2 for feature points."""
        return 2

    @cached_property
    def legend(self) -> Legend:
        """The legend of the colours."""
        return legend(self.colour, self.points)

    @cached_property
    def selected(self) -> NDArray[np.bool_]:
        """Whether each point is selected: (panel, token, role)."""
        return mask(self.points, self.selection)


@dataclass(frozen=True)
class ShownPoints(Shown[HeadTokens]):
    """Queries and keys of one head or of all; `filters` are the conditions of the selection without the isolated category."""

    filters: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, context: Context, points: HeadTokens) -> "ShownPoints":
        """The shown points of a link; `points` are those of one head or of all heads."""
        state, corpus, known = context.state, context.corpus, columns(context.corpus)
        fields = {name: state.fields[name] or "" for name in FIELDS}
        selection, notices = parse_selection(fields, corpus, known)
        if state.colour not in known:
            notices += (f"Ignored an invalid parameter: colour={state.colour}. Points are coloured by query and key.",)
        colour = known.get(state.colour, known["role"])
        filters = selection.where
        if state.only is not None and colour.code(state.only) is None:
            notices += (f"Ignored an invalid parameter: only={state.only}. Click an entry of the legend.",)
        elif state.only is not None:
            selection = replace(selection, where=(*filters, Condition(colour.name, (state.only,))))
        origin = provenance_of(context.snapshot, corpus, state)
        view = context.view if corpus.views else ""
        return cls(state, points, view, selection, colour, notices, origin, context.ingest, filters)

    @property
    def components(self) -> int:
        """Dimensions of the picture."""
        return ViewName.parse(self.view).components

    @property
    def corpus(self) -> Corpus:
        """The corpus of the points."""
        return self.points.corpus

    @property
    def tokens(self) -> int:
        """Number of tokens in every panel."""
        return self.points.tokens

    @property
    def coloured(self) -> bool:
        """Whether a column other than query or key colours the points."""
        return self.colour.name != "role"

    @cached_property
    def count(self) -> tuple[int, int]:
        """Numbers of selected and of drawn points; in a picture of several heads, the mean over heads."""
        return round(int(self._selected_in_drawn.sum()) / max(1, len(self._selected_in_drawn))), 2 * self.tokens

    @property
    def _selected_in_drawn(self) -> Mask:
        """The selected points of the heads that the picture shows: (panel, token, role), one panel where all agree."""
        is_of_all = self.points.head is None and len(self.selected) > 1
        return self.selected[list(arrangement(self.corpus, self.state).heads)] if is_of_all else self.selected

    @cached_property
    def hits(self) -> Hits | None:
        """The matches of the search in the whole corpus, and the first sentences; None without a search."""
        selection = self.selection
        return hits(self.corpus, selection.q, selection.within, limit=LISTED) if selection.q else None


def valid_fields(corpus: Corpus, state: LinkState) -> dict[str, object]:
    """The valid fields of a link that select queries and keys, or show a category alone."""
    known = columns(corpus)
    selection, _ = parse_selection({name: state.fields[name] or "" for name in FIELDS}, corpus, known)
    colour = known.get(state.colour, known["role"])
    is_there = state.only is not None and colour.code(state.only) is not None
    shown = {"colour": colour.name, "only": state.only if is_there else None}
    return dict.fromkeys(("where", "lasso")) | selection.fields | shown


@dataclass(frozen=True)
class Share:
    """Share of a category among the selected points and among the rest, 0 to 1; NaN where there is no rest."""

    category: str
    count: int
    selected: float
    rest: float


@dataclass(frozen=True)
class Comparison:
    """Shares of the categories of a column, the most frequent among the selected first."""

    column: str
    title: str
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class Difference:
    """Mean of a number among the selected points and among the rest; NaN where no point has a value.

    `standardized` is the difference of the means over the root of the mean of both variances (Cohen's d).
    """

    column: str
    title: str
    unit: str
    selected: float
    rest: float
    standardized: float


@dataclass(frozen=True)
class Summary:
    """Numbers of selected and of drawn points (queries and keys), and how the selected differ from the others."""

    count: int
    of: int
    share: float
    comparisons: tuple[Comparison, ...]
    differences: tuple[Difference, ...]


def summarize(drawn: HeadTokens, selected: Mask) -> Summary:
    """How the points of a mask (panel, token, role) differ from the other drawn points."""
    flat: Mask = np.any(selected, axis=0)
    known = columns(drawn.corpus)
    compared = [known[name] for name in CATEGORIES if name in known]
    numbers = [known[name] for name in NUMBERS if drawn.head is not None or not known[name].per_head]
    return Summary(
        count=int(flat.sum()),
        of=flat.size,
        share=float(flat.mean()),
        comparisons=(*(_comparison(drawn, column, flat) for column in compared), _pieces(drawn, flat)),
        differences=tuple(_difference(drawn, column, flat) for column in numbers),
    )


def _comparison(drawn: HeadTokens, column: Column, selected: Mask) -> Comparison:
    codes = values(column, drawn)[0].astype(np.int64)
    names = [column.category(code) for code in range(int(codes.max(initial=-1)) + 1)]
    return Comparison(column.name, column.title, _shares(codes, selected, names, len(names)))


def _pieces(drawn: HeadTokens, selected: Mask) -> Comparison:
    ids = np.broadcast_to(drawn.of_tokens("token_id")[:, None], selected.shape)
    names = drawn.corpus.vocab
    return Comparison("wordpiece", "wordpiece", _shares(ids, selected, names, PIECES))


def _shares(
    codes: NDArray[np.integer], selected: Mask, names: list[str] | NDArray[np.object_], most: int
) -> tuple[Share, ...]:
    """Shares of the `most` frequent codes among the selected points; points without a category (-1) count in the total."""
    known = codes >= 0
    different, inside, outside = count_codes(codes[known], selected[known])
    totals = int(selected.sum()), int((~selected).sum())
    order = [place for place in np.argsort(-inside, kind="stable")[:most] if inside[place]]
    return tuple(
        _share(str(names[different[place]]), int(inside[place]), int(outside[place]), *totals) for place in order
    )


def count_codes(codes: NDArray[np.integer], selected: Mask) -> tuple[NDArray[np.integer], Counts, Counts]:
    """The different codes of points (point,), and how often each occurs among the selected and among the others: (code,) each."""
    different, places = np.unique(codes, return_inverse=True)
    inside, outside = (np.bincount(places[part], minlength=len(different)) for part in (selected, ~selected))
    return different, inside, outside


def _share(name: str, inside: int, outside: int, selected: int, rest: int) -> Share:
    among_selected, among_rest = inside / selected, outside / rest if rest else float("nan")
    return Share(name, inside, among_selected, among_rest)


def _difference(drawn: HeadTokens, column: Column, selected: Mask) -> Difference:
    known = values(column, drawn)[0]
    inside, outside = (part[~np.isnan(part)] for part in (known[selected], known[~selected]))
    mean, rest = (float(part.mean()) if part.size else float("nan") for part in (inside, outside))
    spread = np.sqrt((inside.var() + outside.var()) / 2) if inside.size and outside.size else 0.0
    standardized = (mean - rest) / float(spread) if spread > 0 else float("nan")
    return Difference(column.name, column.title, column.unit, mean, rest, standardized)


def selection_panel(shown: ShownPoints) -> list[object]:
    """The tab Selection."""
    title = html.H2("Selection")
    if not shown.selection:
        return [title, html.P(EMPTY)]
    selected = shown.selected
    if not selected.any():
        return [title, html.P(_nothing(shown))]
    summary = summarize(shown.points, selected)
    return [
        title,
        html.P(f"{summary.count:,} of {summary.of:,} drawn queries and keys ({100 * summary.share:.1f}%)."),
        _differences(summary),
        *[_share_table(comparison) for comparison in summary.comparisons],
        _tokens(shown, selected),
        file_links(
            data_link(shown.corpus),
            "All selected points",
            f"selection/{shown.view}/{shown.state.layer}/{shown.state.head}",
            {"tokens": str(shown.tokens)} | shown.selection.fields,
        ),
    ]


def _nothing(shown: ShownPoints) -> str:
    """A sentence on why no drawn point is selected, and what to do."""
    selection, drawn = shown.selection, shown.points
    conditions = [
        *([f"the search “{selection.q}”"] if selection.q else []),
        *(["the filters"] if len(selection.where) > 1 else ["the filter"] if selection.where else []),
        *(["the lasso"] if selection.lasso else []),
    ]
    more = ", or show more tokens" if len(drawn.rows) < drawn.corpus.n_tokens else ""
    return f"No drawn point matches {' and '.join(conditions)}, so the picture shows all points alike. Clear all{more}."


def _differences(summary: Summary) -> html.Div:
    rows = [
        html.Tr(
            [
                html.Td(difference.title),
                html.Td(_number(difference.selected, difference.unit), className="number"),
                html.Td(_number(difference.rest, difference.unit), className="number"),
                html.Td(signed(difference.standardized, 2), className="number"),
            ]
        )
        for difference in summary.differences
    ]
    names = ("mean of", "selected", "rest", "d")
    return html.Div(
        [
            _rows(names, rows),
            html.P("d: Cohen's d, the difference of the means in standard deviations.", className="caption"),
        ]
    )


def _number(value: float, unit: str) -> str:
    return "" if value != value else spell(value, unit)


def _share_table(comparison: Comparison) -> html.Div:
    rows = [
        html.Tr(
            [
                html.Td(html.Bdi(share.category)),
                html.Td(f"{share.count:,}", className="number"),
                html.Td(f"{100 * share.selected:.1f}%", className="number"),
                html.Td("" if share.rest != share.rest else f"{100 * share.rest:.1f}%", className="number"),
            ]
        )
        for share in comparison.shares[:8]
    ]
    return html.Div([html.H3(comparison.title), _rows(("", "points", "selected", "rest"), rows)])


def _tokens(shown: ShownPoints, selected: Mask) -> html.Div:
    """Tables of the selected points by wordpiece, each role with its mark."""
    tokens, roles = np.nonzero(selected.any(axis=0))
    found = [
        FoundToken(token, ROLES[role], ROLES[role]) for token, role in zip(tokens.tolist(), roles.tolist(), strict=True)
    ]
    pieces = len(np.unique(shown.corpus.tokens.token_id.values[shown.corpus.rows[tokens]]))
    listed = f"the {GROUPS} most frequent of {pieces:,}" if pieces > GROUPS else f"all {pieces:,}"
    table = groups_table(shown.corpus, shown.state, found, ("wordpiece", "role"), unit="point")
    return html.Div([html.H3(f"Wordpieces: {listed}"), scrolling(table, "Selected tokens")])


def _rows(names: tuple[str, ...], rows: list[html.Tr]) -> html.Table:
    return html.Table([heading(names, NUMBER_COLUMNS), html.Tbody(rows)], className="rows even")
