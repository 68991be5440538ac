"""Parts around a picture of points: above it the view, colours and search; below it captions, legends, filters and the selection's size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
import numpy as np
from dash import html

from dashboard.points.clicked_point import sentence_lines
from dashboard.points.colours import isolating, legend_line, marks_line
from dashboard.points.colours import span as colour_span
from dashboard.points.density import ENCLOSED
from dashboard.points.head_tokens import HeadTokens, column_of, columns
from dashboard.points.picture import head_region, is_plane, shown_fidelity
from dashboard.points.point_set import Column, Condition, PointSet, Values, values
from dashboard.points.search import no_hits
from dashboard.points.shown import ShownPoints
from dashboard.ui.controls import OF_DATA, choice, control_rows, explained, info, search_controls, switch, view_choices
from dashboard.ui.glossary import defined
from dashboard.ui.text import all_of, decimal, end_of_range, every_of, first_of, has_part, of_first, span
from dashboard.web.bounds import matches_of
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.phrases import many
from store.schema.model import ROLES, head_name
from store.schema.pictures import ATTENTIONVIZ_TOKENS, ViewName

#: Most categories that a control offers: the most frequent ones.
OFFERED = 100
#: Explanations of the lines and of the names over the points.
CONTOURS = (
    "Lines around the smallest regions of the picture with 25, 50 and 75% of the drawn queries, and of the drawn keys: highest-density "
    "regions of a histogram of 256 by 256 cells, smoothed by a Gaussian (0.6 of Scott's bandwidth)."
)
CLUSTERS = (
    "A cluster is a connected region of density that no higher level divides into two with at least 1.5% of the queries, or keys, each. "
    "Its name is what it has most of against the rest: up to three wordpieces, or a token type or positions that more than half of its "
    "points share, by log-odds ratios with a prior (Monroe et al. 2008), 5 standard deviations and twice the odds at least. A cluster "
    "with more than half of the points has no name. Hover a name for the number of points."
)
#: The measures of fidelity, explained.
FIDELITY = defined(
    "rank",
    "Here of attention weight and distance in the picture, query by query: −1 would be perfect. Across: the same over keys of other "
    "sentences. Recall@3: the share of a query's 3 most attended keys among its 3 nearest.",
    defined("trustworthiness"),
)
RING, SENTENCE = ("ring", "clicked point"), ("sentence", "tokens of its sentence, larger")
LASSO = ("lasso", "lasso")
Mark = tuple[str, str]


def around_picture(shown: ShownPoints, *more: html.Div, head: bool) -> list[object]:
    """Every control and the rows of `more`, then the colour legend, the filters, and the number of selected points."""
    offered = columns(shown.corpus)
    menu = filter_menu(shown.filters, offered)
    rows = [
        picture_controls(shown, head=head),
        search_controls(shown.state, matches_of(shown.corpus)),
        menu,
        *more,
    ]
    count = no_hits(shown.corpus, shown.state) or selection_count(shown)
    return [
        *control_rows(*rows),
        colour_legend(shown),
        filter_row(read_filters(shown.points, shown.filters), count),
    ]


def colour_legend(shown: ShownPoints) -> html.P | html.Div:
    """The legend of the colours; a click on a category shows it alone, a second click shows all categories."""
    if not shown.coloured:
        return marks_line()
    return legend_line(shown.legend, isolate=isolating(shown.state, "only"))


def picture_controls(shown: ShownPoints, *, head: bool) -> html.Div:
    """View, colour, size and, on the page of a head, labels."""
    return html.Div(
        [
            *view_choices(shown.view, shown.corpus.views),
            colour_choice(shown),
            _switches(shown) if head else _size_switch(shown),
        ],
        className="controls",
    )


def _size_switch(shown: ShownPoints) -> dmc.Switch:
    return switch("size", "size by norm", shown.state.size == "norm")


def _switches(shown: ShownPoints) -> html.Div:
    """Switches of what is drawn with the points of a head, two below each other; those of densities in 2D pictures alone."""
    state = shown.state
    densities = [
        explained(switch("contours", "contours", bool(state.contours)), info("contours", CONTOURS)),
        explained(switch("clusters", "clusters", bool(state.clusters)), info("clusters", CLUSTERS)),
    ]
    labels = switch("labels", "labels", bool(state.labels))
    return html.Div([_size_switch(shown), labels, *(densities if is_plane(shown.view) else [])], className="switches")


def colour_choice(shown: ShownPoints) -> dmc.Select:
    """The choice of the column that colours the points."""
    titles = {name: column.title for name, column in columns(shown.corpus).items()}
    return choice("colour", "Colour", titles, shown.state.colour, 155)


def filter_menu(where: Sequence[Condition], offered: Mapping[str, Column]) -> html.Div:
    """A menu of the columns without a filter; the choice of one adds it."""
    used = {condition.column for condition in where}
    data = [{"value": name, "label": column.title} for name, column in offered.items() if name not in used]
    menu = dmc.Select(
        id={"add": "condition"},
        label="Filter",
        placeholder="Add filter...",
        data=data,
        value=None,
        size="xs",
        w=110,  # beside the other controls at 1440 pixels less a scroll bar
        searchable=True,
        maxDropdownHeight=420,
        comboboxProps={"width": "max-content", "position": "bottom-start"},
    )
    return html.Div(menu, className="controls")


@dataclass(frozen=True)
class Filter:
    """A condition, and what its control offers: the categories of a column in words, or the range of its numbers."""

    condition: Condition
    column: Column
    categories: Mapping[str, str] | None = None
    #: The least and the greatest number, and the step of the slider.
    low: float = 0
    high: float = 0
    step: float = 1
    #: Whether any point has a number.
    is_known: bool = True


def read_filters(drawn: PointSet, where: Sequence[Condition], *, roles: int | None = None) -> list[Filter]:
    """The conditions with the values of the drawn points.

    `roles` is the number of points that each token counts as; None for all of its points, 1 where tokens are counted.
    """
    return [_filter(drawn, condition, len(drawn.roles) if roles is None else roles) for condition in where]


def filter_row(filters: Sequence[Filter], count: html.P) -> html.Div:
    """A control for every condition, and the count, in one row that scrolls sideways.

    The row keeps its height without a filter: adding a filter moves nothing.
    """
    return html.Div([*map(_filter_control, filters), count], className="filters")


def selection_count(shown: ShownPoints) -> html.P:
    """How many of the drawn points are selected, and how often a search matches in the corpus."""
    if not shown.selection:
        return html.P(className="count one-row", role="status")
    selected, drawn = shown.count
    average = ", mean over heads" if shown.points.head is None and any(_per_head(shown)) else ""
    share = f"{100 * selected / drawn:.1f}%{average}"
    return count_line(shown, f"{selected:,} of {drawn:,} drawn queries and keys are selected ({share}).")


def count_line(shown: ShownPoints, text: str) -> html.P:
    """The number of selected points, the matches of a search in the whole corpus, and a button that clears the selection."""
    if hits := shown.hits:
        text += f" The search finds {many(hits.tokens, 'token')} in {many(hits.sentences, 'sentence')} of {_searched(shown)}."
    return selected_line(text, clears=bool(shown.selection))


def selected_line(text: str, *, clears: bool) -> html.P:
    """How many points are selected, after a button that clears the selection."""
    # The button comes first: the text, whose numbers change, would move it.
    content = [clear_all(), " ", text] if clears else text
    return html.P(content, className="count one-row of-picture", role="status")


def clear_all() -> dmc.Button:
    """A button that clears the filters, the search, the lasso and the isolated category (assets/web/address.mjs)."""
    return dmc.Button("Clear all", id={"remove": "all"}, size="compact-xs", variant="subtle")


def _searched(shown: ShownPoints) -> str:
    corpus = shown.corpus
    return first_of(corpus, "sentence") if has_part(corpus) else "the corpus"


def _per_head(shown: ShownPoints) -> list[bool]:
    known = columns(shown.corpus)
    return [known[condition.column].per_head for condition in shown.selection.where]


def _filter(drawn: PointSet, condition: Condition, roles: int) -> Filter:
    column = drawn.columns[condition.column]
    known = values(column, drawn)
    if column.kind == "category":
        return Filter(condition, column, categories=_categories(column, condition, known[..., :roles]))
    known = known[~np.isnan(known)]
    if not known.size:
        return Filter(condition, column, is_known=False)
    low, high = float(known.min()), float(known.max())
    return Filter(condition, column, None, low, high, 1.0 if np.all(known % 1 == 0) else _step(high - low))


def _categories(column: Column, condition: Condition, values_of_tokens: Values) -> dict[str, str]:
    """Categories -> their names with numbers of tokens, the chosen categories first."""
    counts = np.bincount(values_of_tokens[values_of_tokens >= 0].astype(np.int64)) // len(values_of_tokens)
    codes = [int(code) for code in np.argsort(-counts, kind="stable")[:OFFERED] if counts[code]]
    names = {column.category(code): f"{column.category(code)} ({counts[code]:,})" for code in codes}
    return {name: name for name in condition.categories} | names


def _filter_control(offered: Filter) -> html.Div:
    column = offered.column
    control = _range_filter(offered) if offered.categories is None else _category_filter(offered, offered.categories)
    remove = dmc.Button(
        "✕",
        id={"remove": column.name},
        size="compact-xs",
        variant="subtle",
        **{"aria-label": f"Remove filter {column.title}"},
    )
    return html.Div([html.Span(column.title, className="filter-title"), control, remove], className="filter")


def _category_filter(offered: Filter, names: Mapping[str, str]) -> dmc.MultiSelect:
    column, condition = offered.column, offered.condition
    return dmc.MultiSelect(
        id={"condition": column.name, "kind": "category"},
        data=[{"value": name, "label": label} for name, label in names.items()],
        value=list(condition.categories),
        placeholder="any" if not condition.categories else "",
        size="xs",
        w=200,
        className="one-line",
        searchable=len(names) > 8,
        **OF_DATA,
        **{"aria-label": f"Filter {column.title}"},
    )


def _range_filter(offered: Filter) -> html.Div:
    """A slider; a thumb at a bound is an open end (assets/web/address.mjs). A note in its place where no point has a value."""
    if not offered.is_known:
        return html.Div(html.Span("no point has a value", className="caption"), className="range")
    column, condition, step = offered.column, offered.condition, offered.step
    steps = np.floor(offered.low / step), np.ceil(offered.high / step)
    least, most = (round(float(bound * step), 10) for bound in steps)
    slider = dmc.RangeSlider(
        id={"condition": column.name, "kind": "number"},
        min=least,
        max=most,
        step=step,
        minRange=0,
        value=[round(end, 10) for end in _ends(condition, least, most)],
        size="sm",
        w=140,
        labelAlwaysOn=False,
        thumbFromLabel=f"{column.title} from",
        thumbToLabel=f"{column.title} to",
    )
    low, high = _ends(condition, offered.low, offered.high)
    return html.Div([slider, html.Span(span(low, high, column.unit), className="caption")], className="range")


def _ends(condition: Condition, low: float, high: float) -> tuple[float, float]:
    """The ends of a condition's range; `low` and `high` replace open ends."""
    return low if condition.low is None else condition.low, high if condition.high is None else condition.high


def _step(width: float) -> float:
    """A power of ten that divides a range into about two hundred steps."""
    return float(10.0 ** np.floor(np.log10(max(width, 1e-6) / 100)))


def caption(*parts: object) -> html.P:
    """A caption that is also written into a saved picture."""
    return html.P(list(parts), className="caption of-picture")


def sample_caption(shown: ShownPoints) -> html.P:
    """How many of the corpus' tokens are shown, and how they were projected."""
    corpus, tokens = shown.corpus, shown.tokens
    attributes = corpus.view(shown.view).attrs
    every = tokens >= corpus.n_tokens
    drawn = every_of(corpus, "token") if every else f"{tokens:,} of {all_of(corpus, 'token')}, a uniform sample"
    about = (
        f"Fitted on {attributes['fitted_on']}{authors_size(shown.view)}; tokens beyond the fit are placed {attributes['placed']}. "
        f"Equal axis scales. The corpus has {all_of(corpus, 'sentence')}, ordered by hash: the first are a uniform sample.{of_first(corpus)}"
    )
    return caption(f"{attributes['title']}; {drawn}.", info("the sample", about))


def scale_caption(shown: ShownPoints) -> list[html.P]:
    """A caption that names the head whose colour or size scale both heads have; none where nothing is scaled by head."""
    state = shown.state
    scaled = [
        *(["Colours"] if shown.colour.kind == "number" and shown.colour.per_head else []),
        *(["sizes"] if state.size else []),
    ]
    if state.second_head is None or not scaled:
        return []
    return [
        caption(
            f"{' and '.join(scaled).capitalize()} of both heads are on the scale of {head_name(state.layer, state.head)}."
        )
    ]


def authors_size(view: str) -> str:
    """In the AttentionViz look, the number of tokens that its authors fitted; empty for other projections."""
    return f" (AttentionViz: {ATTENTIONVIZ_TOKENS:,})" if ViewName.parse(view).projection == "attentionviz" else ""


def fidelity_caption(corpus: Corpus, view: str) -> html.P:
    """Mean fidelity of a view over all heads, and the head with the lowest."""
    opened = corpus.view(view)
    fidelity = shown_fidelity(opened)
    worst = fidelity.sel(measure="spearman").argmax(("layer", "head"))
    name = head_name(int(worst["layer"]), int(worst["head"]))
    measures = _measures(fidelity.mean(("layer", "head")).to_series().to_dict())
    text = f"Fidelity, mean of all heads (worst: {name}): {measures}; on {opened.attrs['judged_on']}."
    return caption(text, info("fidelity", FIDELITY))


def head_fidelity_caption(corpus: Corpus, view: str, layer: int, head: int, *, of: str = "") -> html.P:
    """Fidelity of one head's picture; `of` names the head where two are shown."""
    opened = corpus.view(view)
    measures = _measures(shown_fidelity(opened)[:, layer, head].to_series().to_dict())
    return caption(f"Fidelity{of}: {measures}; on {opened.attrs['judged_on']}.", info("fidelity", FIDELITY))


def _measures(values: dict[str, float]) -> str:
    return (
        f"rank correlation {decimal(values['spearman'])} within and {decimal(values['across'])} across sentences (−1 would be perfect), "
        f"recall@3 {values['recall']:.2f}, trustworthiness {values['trustworthiness']:.2f}"
    )


def overlays_of_feature(state: LinkState) -> list[tuple[str, str]]:
    """Marks over the tokens at one feature point."""
    drawn = (
        [RING, SENTENCE, ("near", "tokens with the nearest vectors")]
        if state.point and state.ftoken is not None
        else []
    )
    return [*drawn, LASSO] if state.flasso and state.point else drawn


def overlay_legend(marks: list[tuple[str, str]]) -> html.P:
    """The legend of the marks; without marks an empty line of the same height, so that a click moves nothing."""
    chips = [html.Span([html.Span(className=f"over {kind}"), meaning], className="chip") for kind, meaning in marks]
    if not chips:
        return html.P([], className="legend over-points")
    named: Any = {"aria-label": "Marks over the points", "role": "group"}  # a narrow window scrolls it
    return html.P([html.Span("Over the points:"), *chips], className="legend over-points", tabIndex=0, **named)


def marks_legend(shown: ShownPoints) -> html.P:
    """The legend of everything that is drawn over the points."""
    state = shown.state
    plane = is_plane(shown.view)
    sizes = norm_sizes(norm_ends(shown.corpus, shown.tokens, state.layer, state.head)) if state.size else []
    return overlay_legend(
        [
            *marks_of_point(state, lines=_has_lines(shown)),
            *sizes,
            *(contour_marks(coloured=shown.coloured) if state.contours and plane else []),
            *([("cluster", "clusters, named after what sets them apart")] if state.clusters and plane else []),
            *([LASSO] if _has_outline(shown) else []),
        ]
    )


def _has_outline(shown: ShownPoints) -> bool:
    """Whether the region of the link was drawn in a shown picture."""
    lasso = shown.state.lasso or ""
    return any(lasso.startswith(f"{head_region(shown.view, *head)},") for head in shown.state.shown_heads)


def _has_lines(shown: ShownPoints) -> bool:
    """Whether a shown head draws a line in the sentence of the clicked point; always True for a typed sentence."""
    corpus, state = shown.corpus, shown.state
    if state.token is None:
        return True
    row = corpus.rows[state.token]
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    chosen: Any = {"role": state.role, "lines": state.lines, "top": state.top, "least": state.least}
    return any(sentence_lines(corpus, (sentence, position), of_head, **chosen) for of_head in state.shown_heads)


def marks_of_point(state: LinkState, *, lines: bool = True) -> list[Mark]:
    """Marks of the clicked point and its sentence, or of the typed sentence: the kind and the meaning of each."""
    line = [("line", "attention weight: thicker is more")] if lines else []
    if state.token is None:
        return [("sentence", "tokens of the typed sentence, larger"), *line] if state.text else []
    others = "keys" if state.role == ROLES[0] else "queries"
    pair = [("pair", "marked pair")] if state.marks else []
    return [RING, SENTENCE, *line, ("near", f"highest-scoring {others} in the corpus"), *pair]


def contour_marks(*, coloured: bool) -> list[Mark]:
    """The mark of the contours of each role: in the colour of the role, or in ink where a column colours the points."""
    *first, last = (f"{100 * share:.0f}" for share in ENCLOSED)
    kinds = ("ink", "ink dashed") if coloured else ROLES
    shares = f"{', '.join(first)} and {last}%"
    texts = f"regions with {shares} of the queries", "of the keys"
    return [(f"contour {kind}", text) for kind, text in zip(kinds, texts, strict=True)]


def norm_sizes(ends: tuple[float, float]) -> list[Mark]:
    """The smallest and the largest size of a point, each with its norm."""
    low, high = (end_of_range(end, "") for end in ends)
    return [("size small", f"norm {low} or less"), ("size", f"norm {high} or more")]


@cached
def norm_ends(corpus: Corpus, tokens: int, layer: int, head: int) -> tuple[float, float]:
    """The norms of the smallest and of the largest points."""
    column = column_of(corpus, "norm")
    return colour_span(column, values(column, HeadTokens(corpus, tokens, layer, head)))
