"""The legend below the picture of a head: what is drawn over its points, and how large points are."""

from typing import Any

from dash import html

from dashboard.points.captions import LASSO, RING, SENTENCE, overlay_legend
from dashboard.points.clicked_point import strongest_lines
from dashboard.points.colours import span
from dashboard.points.columns import column_of, values
from dashboard.points.contours import SHARES
from dashboard.points.drawn import Drawn
from dashboard.points.picture import ShownPoints, head_region, is_plane
from dashboard.ui.text import end_of_range
from dashboard.web.context import Context
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.schema.model import ROLES

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
    *first, last = (f"{100 * share:.0f}" for share in SHARES)
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
