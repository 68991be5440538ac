"""Captions and legends below a picture: its sample, its fidelity, what is drawn over the points, how large these are."""

from typing import Any

from dash import html

from dashboard.points.clicked_point import strongest_lines
from dashboard.points.colours import span
from dashboard.points.columns import column_of, values
from dashboard.points.density import ENCLOSED
from dashboard.points.drawn import Drawn
from dashboard.points.picture import ShownPoints, head_region, is_plane, shown_fidelity
from dashboard.ui.controls import info
from dashboard.ui.text import all_of, decimal, end_of_range, every_of, of_first
from dashboard.web.context import Context
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.schema.model import ROLES, head_name
from store.schema.pictures import ATTENTIONVIZ_TOKENS, ViewName

#: The measures of fidelity, explained.
FIDELITY = (
    "Spearman: rank correlation of attention weight and distance in the picture, query by query; −1 is perfect. Across: the same "
    "over keys of other sentences. Recall@3: the share of a query's 3 most attended keys among its 3 nearest. Trustworthiness: "
    "whether neighbours in the picture are neighbours of the vectors; 1 is perfect."
)
RING, SENTENCE = ("ring", "clicked point"), ("sentence", "tokens of its sentence, larger")
LASSO = ("lasso", "lasso")


def caption(*parts: object) -> html.P:
    """A caption that is also written into a saved picture."""
    return html.P(list(parts), className="caption of-picture")


def sample_caption(context: Context, tokens: int) -> html.P:
    """How many of the corpus' tokens are shown, and how they were projected."""
    corpus = context.corpus
    attributes = corpus.view(context.view).attrs
    every = tokens >= corpus.n_tokens
    shown = every_of(corpus, "token") if every else f"{tokens:,} of {all_of(corpus, 'token')}, a uniform sample"
    about = (
        f"Fitted on {attributes['fitted_on']}{authors_size(context.view)}; tokens beyond the fit are placed {attributes['placed']}. "
        f"Equal axis scales. The corpus has {all_of(corpus, 'sentence')}, ordered by hash: the first are a uniform sample.{of_first(corpus)}"
    )
    return caption(f"{attributes['title']}; {shown}.", info("the sample", about))


def scale_caption(context: Context, points: ShownPoints) -> list[html.P]:
    """Whose scale both heads have, where colours or sizes are numbers of a head."""
    state = context.state
    scaled = [
        *(["Colours"] if points.colour.kind == "number" and points.colour.per_head else []),
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
    """How many tokens the authors of AttentionViz fitted, for its projection; empty for others."""
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
        f"Spearman {decimal(values['spearman'])} within and {decimal(values['across'])} across sentences (−1 is perfect), "
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
    """The legend of the marks; empty without any, with the same room: a click moves nothing."""
    chips = [html.Span([html.Span(className=f"over {kind}"), meaning], className="chip") for kind, meaning in marks]
    return html.P([html.Span("Over the points:"), *chips] if chips else [], className="legend over-points")


Mark = tuple[str, str]


def marks_legend(context: Context, points: ShownPoints) -> html.P:
    """An entry for everything that is drawn, and no other."""
    state = context.state
    plane = is_plane(context)
    sizes = norm_sizes(norm_ends(context.corpus, points.drawn.tokens, state.layer, state.head)) if state.size else []
    return overlay_legend(
        [
            *marks_of_point(state, lines=_has_lines(context)),
            *sizes,
            *(contour_marks(coloured=points.coloured) if state.contours and plane else []),
            *([("cluster", "cluster, by what it has most of")] if state.clusters and plane else []),
            *([LASSO] if _has_outline(context) else []),
        ]
    )


def _has_outline(context: Context) -> bool:
    """Whether the region of the link was drawn in a shown picture."""
    lasso = context.state.lasso or ""
    return any(lasso.startswith(f"{head_region(context, *head)},") for head in context.state.shown_heads)


def _has_lines(context: Context) -> bool:
    """Whether a weight in the sentence of the clicked point is drawn, in one of the shown heads; of a typed one some are."""
    corpus, state = context.corpus, context.state
    if state.token is None:
        return True
    row = corpus.rows[state.token]
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    chosen: Any = {"role": state.role, "lines": state.lines, "top": state.top, "least": state.least}
    patterns = (corpus.weights(sentence, layer=layer, head=head) for layer, head in state.shown_heads)
    return any(strongest_lines(pattern, position, **chosen) for pattern in patterns)


def marks_of_point(state: LinkState, *, lines: bool = True) -> list[Mark]:
    """Marks of the clicked point, its sentence, or the typed one: the kind and the meaning of each."""
    line = [("line", "attention weight: thicker is more")] if lines else []
    if state.token is None:
        return [("sentence", "tokens of the typed sentence, larger"), *line] if state.text else []
    others = "keys" if state.role == ROLES[0] else "queries"
    pair = [("pair", "marked pair")] if state.marks else []
    return [RING, SENTENCE, *line, ("near", f"highest-scoring {others} in the corpus"), *pair]


def contour_marks(*, coloured: bool) -> list[Mark]:
    """A line for each role: in its colour, or in ink where colours say something else."""
    *first, last = (f"{100 * share:.0f}" for share in ENCLOSED)
    kinds = ("ink", "ink dashed") if coloured else ROLES
    shares = f"{', '.join(first)} and {last}%"
    texts = f"regions with {shares} of the queries", "of the keys"
    return [(f"contour {kind}", text) for kind, text in zip(kinds, texts, strict=True)]


def norm_sizes(ends: tuple[float, float]) -> list[Mark]:
    """The smallest and the largest size of a point, with the norms at which it has them."""
    low, high = (end_of_range(end, "") for end in ends)
    return [("size small", f"norm {low} or less"), ("size", f"norm {high} or more")]


@cached
def norm_ends(corpus: Corpus, tokens: int, layer: int, head: int) -> tuple[float, float]:
    """The norms between which sizes differ."""
    column = column_of(corpus, "norm")
    return span(column, values(column, Drawn(corpus, tokens, layer, head)))
