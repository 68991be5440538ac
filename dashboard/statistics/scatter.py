"""Chart of two numbers of every head: statistics, importance, shares that roles and rules explain; a box selects heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import dash_mantine_components as dmc
import numpy as np
import plotly.graph_objects as go
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.roles.shares import KINDS, NO_ROLE, RoleShares, groups_by_kind, known_shares, summary
from dashboard.statistics.data import Values
from dashboard.ui.charts import QUIET, STEPS, DotGroup, chart, colour_bar, dot_groups, layout
from dashboard.ui.controls import choice, info
from dashboard.ui.markup import file_href
from dashboard.ui.text import all_of, brief, decimal, unit_title
from dashboard.ui.theme import KIND_COLOURS
from dashboard.web.http import data_link
from dashboard.web.results import cached
from dashboard.web.state import SCORES, LinkState
from store import STATISTICS, Corpus
from store.head_numbers import HeadNumbers, RoleNumbers
from store.kernels.roles import UNEXPLAINED
from store.phrases import many
from store.schema.model import head_name, varying_statistics

#: Default axes across and up: the first number of each list that is known.
ACROSS, UP = ("to_sink", "layer"), ("explained", "entropy")
#: Fields of a link that name the two numbers.
AXES = ("across", "up")
#: Pixels of a dot with a role, and of the smallest and the largest dot where sizes show a number.
DOT, SIZES = 10, (5, 22)
#: Value of a link's field for colours by role.
_ROLE = "role"
_SHARE_OF = "share_"
ABOUT_HEADS = (
    "Each dot is a head, with the colour and shape of the kind of its clearest role. Statistics are means over all queries; shares "
    "of roles and what rules explain are of sentences that they were not fitted on (docs: heads)."
)


class Score(NamedTuple):
    """A number of every head: title, unit, and values (layer, head), or (head,) for several models."""

    title: str
    unit: str
    values: Values

    @property
    def drawn(self) -> Values:
        """The values in the unit of its axis: shares in per cent."""
        return 100 * self.values if self.unit == "share" else self.values

    @property
    def axis(self) -> str:
        """The title of its axis, with the unit."""
        return f"{self.title}, {unit_title(self.unit)}" if self.unit else self.title

    def written(self, head: tuple[int, ...]) -> str:
        """The title of the number, and its value at a head."""
        return f"{self.title} {self.number(head)}"

    def number(self, head: tuple[int, ...]) -> str:
        """The value of a head, without its unit."""
        value = float(self.values[head])
        if value != value:
            return "none"
        return brief(value, self.unit) if self.unit else decimal(value).rstrip("0").rstrip(".")


@dataclass(frozen=True)
class HeadScatter:
    """Data of the chart.

    Attributes
    ----------
    scores
        Titles of the numbers that can be chosen, by their names in a link.
    across, up
        Names of the two scores that are shown.
    x, y
        Values of these scores.
    tint, hue
        Name of the number that colours show, or `role`; its values, None for roles.
    sized, area
        Name of the number that sizes show, and its values; None without one.
    inside
        Heads in the box of the link: (layer, head); None without a box.
    within
        The sides of the box across and up, as in the link.
    names
        Name of each head, which a click opens: `L3 H7`, or of another model `L3 H7 of KEY`.
    groups, by
        Groups of dots of one look where colours show no number, and what distinguishes the groups; "none" for a single look.
    shares
        Roles of the heads; None for a store without roles, and for several models.
    of
        In words, the sentences that the numbers are means over.
    files
        The beginning of the URLs of the corpus' files.
    """

    scores: Mapping[str, str]
    across: str
    up: str
    x: Score
    y: Score
    tint: str
    hue: Score | None
    sized: str
    area: Score | None
    inside: NDArray[np.bool_] | None
    within: tuple[str, str]
    names: NDArray[np.object_]
    groups: Sequence[DotGroup]
    by: str
    shares: RoleShares | None
    of: str
    files: str


@cached
def scores_of(corpus: Corpus) -> dict[str, Score]:
    """Every number of heads that the store has, by its name in a link: for the chart, and for the table that its box filters."""
    return named_scores(corpus.head_numbers)


def named_scores(numbers: HeadNumbers) -> dict[str, Score]:
    """The numbers of the heads of a model by their names in a link, in the order of the choice."""
    layers = np.repeat(np.arange(numbers.shape[0], dtype=np.float64)[:, None], numbers.shape[1], axis=1)
    scores = {"layer": Score("layer", "", layers)}
    if numbers.roles is not None:
        scores |= _scores_of_roles(numbers.roles)
    if numbers.importance is not None:
        scores["importance"] = Score("importance: change of the loss without the head", "nats", numbers.importance)
    for name in varying_statistics("all"):
        if name in numbers.statistics:
            known = STATISTICS[name]
            scores[name] = Score(known.title, known.unit, numbers.statistics[name])
    return {name: scores[name] for name in SCORES if name in scores}


def _scores_of_roles(roles: RoleNumbers) -> dict[str, Score]:
    none = np.zeros_like(roles.iou)
    scores = {
        "explained": Score("attention that roles explain", "share", 1 - roles.of_kinds[UNEXPLAINED]),
        "iou": Score("IoU of at most six rules", "", roles.iou),
        "context": Score("variance of logits by context", "share", roles.context),
    }
    return scores | {
        _SHARE_OF + kind.replace(" ", "_"): Score(f"attention to {title}", "share", roles.of_kinds.get(kind, none))
        for kind, title in KINDS.items()
        if kind != UNEXPLAINED
    }


def read_scatter(corpus: Corpus, state: LinkState) -> HeadScatter:
    """Read the scores of the link."""
    shares = known_shares(corpus)
    names = np.array([head_name(*head) for head in np.ndindex(corpus.layers, corpus.heads)], object)
    return scatter_of(
        state,
        scores_of(corpus),
        names=names.reshape(corpus.layers, corpus.heads),
        groups=groups_by_kind(shares, DOT) if shares else _alike((corpus.layers, corpus.heads)),
        by="clearest role" if shares else "none",
        shares=shares,
        of=all_of(corpus, "sentence"),
        files=data_link(corpus),
    )


def scatter_of(
    state: LinkState,
    scores: Mapping[str, Score],
    *,
    names: NDArray[np.object_],
    groups: Sequence[DotGroup],
    by: str,
    shares: RoleShares | None,
    of: str,
    files: str,
) -> HeadScatter:
    """The scores of the link among `scores`, all of the shape of `names`; for the other parameters see `HeadScatter`."""
    across, up = axes_of(state, scores)
    # A side of the box holds for the axis that the reader chose, not for a default in place of a number that the model lacks.
    within = (
        state.acrossin if state.across in (None, across) else None,
        state.upin if state.up in (None, up) else None,
    )
    titles = {name: score.title for name, score in scores.items()}
    return HeadScatter(
        scores=titles,
        across=across,
        up=up,
        x=scores[across],
        y=scores[up],
        tint=state.tint if state.tint in scores else _ROLE,
        hue=scores.get(state.tint),
        sized=state.sized if state.sized and state.sized in scores else "",
        area=scores.get(state.sized or ""),
        inside=_inside([(scores[across], within[0]), (scores[up], within[1])]),
        within=(within[0] or "", within[1] or ""),
        names=names,
        groups=groups,
        by=by,
        shares=shares,
        of=of,
        files=files,
    )


def axes_of(state: LinkState, scores: Mapping[str, Score]) -> tuple[str, str]:
    """Names of the numbers across and up: the link's, else the defaults among `scores`."""
    across, up = (
        next(name for name in (chosen or "", *usual) if name in scores)
        for chosen, usual in ((state.across, ACROSS), (state.up, UP))
    )
    return across, up


def heads_inside(corpus: Corpus, state: LinkState) -> NDArray[np.bool_] | None:
    """Heads in the box of the link: (layer, head); None without one."""
    return read_scatter(corpus, state).inside if state.acrossin or state.upin else None


def _inside(axes: Sequence[tuple[Score, str | None]]) -> NDArray[np.bool_] | None:
    """Heads whose numbers lie in the intervals; None where there is no interval."""
    within = [_lies_in(score.drawn, interval) for score, interval in axes if interval]
    return np.logical_and.reduce(within) if within else None


def _lies_in(values: Values, interval: str) -> NDArray[np.bool_]:
    low, high = _ends(interval)
    return (values >= low) & (values <= high)


def _ends(interval: str) -> tuple[float, float]:
    """The two numbers of `20..50` or `50..20`, the smaller first; infinite where a number is missing."""
    low, _, high = interval.partition("..")
    smaller, larger = sorted((float(low or "-inf"), float(high or "inf")))
    return smaller, larger


def scatter(state: LinkState, shown: HeadScatter) -> list[object]:
    """The chart with the choices of its axes, colours and sizes, and the heads in its box, which a table above lists."""
    return [*scatter_choices(shown, about=ABOUT_HEADS), *scatter_chart(state, shown, table="above")]


def scatter_choices(shown: HeadScatter, *, about: str) -> list[object]:
    """The heading and the choices of axes, colours and sizes."""
    colours = {_ROLE: shown.by} | dict(shown.scores)
    controls = [
        choice("across", "Across", shown.scores, shown.across, 230),
        _interval("acrossin", "Across", shown.x, shown.within[0]),
        choice("up", "Up", shown.scores, shown.up, 230),
        _interval("upin", "Up", shown.y, shown.within[1]),
        choice("tint", "Colour", colours, shown.tint, 180),
        choice("sized", "Size", {"": "the same"} | dict(shown.scores), shown.sized, 180),
    ]
    return [
        html.H2(["Heads by two numbers", info("heads by two numbers", about)]),
        html.Div(controls, className="controls"),
    ]


def scatter_chart(
    state: LinkState, shown: HeadScatter, *, table: str, file: Mapping[str, str | None] | None = None
) -> list[object]:
    """The chart and the number of heads in its box; `table` says where they are listed, `file` are the fields of the numbers' URL."""
    heads = shown.x.values.size
    sizes = [f"Larger dots: more {shown.area.title}. "] if shown.area else []
    return [
        _box_line(state, shown, table),
        *chart(
            scatter_figure(shown),
            name="scatter",
            caption=["Click a dot to open the head. ", *sizes],
            label=f"{heads} heads: {shown.x.title} across, {shown.y.title} up",
            of=shown.of,
            data=file_href(shown.files, "scores.csv", file or {}),
            height=420,
            opens=True,
            turns=True,
        ),
    ]


def _interval(field: str, axis: str, score: Score, value: str) -> dmc.TextInput:
    """Text field for the interval of the box along one axis, for readers with a keyboard."""
    unit = f", {unit_title(score.unit)}" if score.unit else ""
    return dmc.TextInput(
        id={"choose": field, "by": "scatter"},
        label=f"{axis} from..to{unit}",
        placeholder="any, or 20..50",
        value=value,
        debounce=True,
        size="xs",
        w=130,
    )


def _box_line(state: LinkState, shown: HeadScatter, table: str) -> html.P:
    """One line: the number of heads in the box and a link to clear it; without a box, how to draw one."""
    if shown.inside is None:
        return html.P(f"Draw a box or type its sides to filter the table {table}.", className="caption one-row")
    count = f"{int(shown.inside.sum()):,} of {many(shown.inside.size, 'head')} in the box, listed {table}. "
    clear = dcc.Link("Clear the box", href=without_box(state).href)
    return html.P([count, clear], className="caption one-row", role="status")


def without_box(state: LinkState) -> LinkState:
    """The state without the box of its link."""
    return state.with_(acrossin=None, upin=None)


def scatter_figure(shown: HeadScatter) -> go.Figure:
    """A dot for each head; where colours show roles, heads without a role that a test finds are small and grey."""
    traces = [_dots(shown, group) for group in _groups(shown)]
    across, up = ({"title": score.axis, "zeroline": False} for score in (shown.x, shown.y))
    figure = go.Figure(traces, layout(across, up | {"showgrid": True}, dragmode="select"))
    figure.update_layout(showlegend=shown.by != "none" and shown.hue is None, selections=_box(shown))
    return figure


def _groups(shown: HeadScatter) -> Sequence[DotGroup]:
    """Groups of dots: all heads in one group where colours show a number, else the groups of the chart."""
    if shown.hue is None:
        return shown.groups
    return [DotGroup("", np.ones(shown.names.shape, bool), _scale(shown.hue) | {"size": DOT})]


def _alike(shape: tuple[int, int]) -> list[DotGroup]:
    return dot_groups(np.full(shape, ""), KINDS, KIND_COLOURS, size=DOT, without=NO_ROLE)


def _scale(hue: Score) -> dict[str, Any]:
    """Plotly's marker for colours that show a number, with a colour bar."""
    steps = [(step / (len(STEPS) - 1), colour) for step, colour in enumerate(STEPS)]
    bar = colour_bar("") | {"title": {"text": hue.axis, "side": "right"}}
    return {"color": hue.drawn.ravel(), "colorscale": steps, "colorbar": bar, "line": {"color": QUIET, "width": 1}}


def _sizes(area: Score) -> Values:
    """Pixels of the dot of each head (layer, head): areas grow with the number, heads without one are smallest."""
    low, high = np.nanmin(area.values), np.nanmax(area.values)
    share = np.nan_to_num((area.values - low) / (high - low if high > low else 1))
    small, large = SIZES
    return np.sqrt(small**2 + share * (large**2 - small**2))


def _box(shown: HeadScatter) -> list[dict[str, Any]]:
    """The box of the link as plotly draws it; where the link leaves an end open, the box ends at the outermost dot."""
    if shown.inside is None:
        return []
    sides = zip("xy", (shown.x, shown.y), shown.within, strict=True)
    ends = {axis: np.clip(_ends(interval or ".."), *_room(score.drawn)) for axis, score, interval in sides}
    corners = {f"{axis}{number}": float(end) for axis, pair in ends.items() for number, end in enumerate(pair)}
    return [{"type": "rect", "line": {"color": QUIET, "width": 1, "dash": "dot"}, **corners}]


def _room(values: Values) -> tuple[float, float]:
    """Range of an axis: a little below the smallest number, and a little above the largest."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    beside = 0.03 * (high - low) or 1.0
    return low - beside, high + beside


def _dots(shown: HeadScatter, group: DotGroup) -> Any:
    heads = list(zip(*np.nonzero(group.heads), strict=True))
    return go.Scatter(
        x=shown.x.drawn[group.heads],
        y=shown.y.drawn[group.heads],
        mode="markers",
        marker=group.marker | ({"size": _sizes(shown.area)[group.heads]} if shown.area else {}),
        name=group.title,
        customdata=shown.names[group.heads].tolist(),
        text=[_hover(shown, head) for head in heads],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )


def _hover(shown: HeadScatter, head: tuple[int, ...]) -> str:
    scores = [shown.x, shown.y, *(score for score in (shown.hue, shown.area) if score is not None)]
    numbers = ", ".join(dict.fromkeys(score.written(head) for score in scores)) + _overlap(shown)
    return f"{numbers}<br>{summary(shown.shares, *head)}" if shown.shares else numbers


def _overlap(shown: HeadScatter) -> str:
    """A remark where shares are no parts of one whole, so that their sum may be above 100%; the kinds of roles are such parts."""
    drawn = {shown.across: shown.x, shown.up: shown.y, shown.tint: shown.hue, shown.sized: shown.area}
    shares = [name for name, score in drawn.items() if score is not None and score.unit == "share"]
    parts = all(name.startswith(_SHARE_OF) for name in shares)
    return "" if len(shares) < 2 or parts else "; these shares may overlap"
