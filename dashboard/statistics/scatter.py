"""Two numbers of every head against each other: statistics, importance, and what its roles and rules explain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from dash import html

from dashboard.roles.shares import KINDS, NO_ROLE, RoleShares, groups_by_kind, known_shares, summary
from dashboard.statistics.data import Values, importance_of, values_of
from dashboard.ui.charts import DotGroup, chart, dot_groups, layout
from dashboard.ui.controls import choice, info
from dashboard.ui.markup import file_href
from dashboard.ui.text import all_of, brief, unit_title
from dashboard.ui.theme import KIND_COLOURS
from dashboard.web.http import data_link
from dashboard.web.state import SCORES, LinkState
from store import STATISTICS, Corpus
from store.kernels.roles import UNEXPLAINED
from store.schema.model import head_name, varying_statistics

#: Axes where the link chooses none: the first that are known.
ACROSS, UP = ("to_sink", "layer"), ("explained", "entropy")
#: Pixels of a dot with a role.
DOT = 10
_SHARE_OF = "share_"
_ABOUT = (
    "Each dot is a head, with the colour and shape of the kind of its clearest role. Statistics are means over all queries; shares "
    "of roles and what rules explain are of sentences that they were not fitted on (docs: heads)."
)


class Score(NamedTuple):
    """A number of every head: its title, its unit, and its values (layer, head)."""

    title: str
    unit: str
    values: Values

    @property
    def axis(self) -> str:
        """What stands beside its axis."""
        return f"{self.title}, {unit_title(self.unit)}" if self.unit else self.title

    def written(self, head: tuple[int, int]) -> str:
        """The value of a head with its name."""
        value = float(self.values[head])
        number = (
            "none"
            if value != value
            else brief(value, self.unit)
            if self.unit
            else f"{value:.2f}".rstrip("0").rstrip(".")
        )
        return f"{self.title} {number}"


@dataclass(frozen=True)
class HeadScatter:
    """What the chart shows.

    Attributes
    ----------
    scores
        Titles of what can be chosen, by their names in a link.
    across, up
        Names of the two scores that are shown.
    x, y
        Their numbers.
    shares
        Roles of the heads; None of a store without.
    of
        In words, which sentences the numbers are of.
    files
        The beginning of the URLs of the corpus' files.
    """

    scores: Mapping[str, str]
    across: str
    up: str
    x: Score
    y: Score
    shares: RoleShares | None
    of: str
    files: str


def scores_of(corpus: Corpus, shares: RoleShares | None) -> dict[str, Score]:
    """Every number of heads that the store has, by its name in a link."""
    layers = np.repeat(np.arange(corpus.layers, dtype=np.float64)[:, None], corpus.heads, axis=1)
    scores = {"layer": Score("layer", "", layers)}
    if shares is not None:
        rules = corpus.rules
        scores["explained"] = Score("attention that roles explain", "share", 1 - shares.share[-1])
        scores["iou"] = Score("IoU of at most six rules", "", rules.iou.sel(rules="six").values)
        scores["context"] = Score(
            "variance of logits by context", "share", rules.variance_share.sel(part="context").values
        )
        for kind, values in zip(KINDS, shares.of_kinds, strict=True):
            if kind != UNEXPLAINED:
                scores[_SHARE_OF + kind.replace(" ", "_")] = Score(f"attention to {KINDS[kind]}", "share", values)
    importance = importance_of(corpus)
    if importance is not None:
        scores["importance"] = Score("importance: change of the loss without the head", "nats", importance)
    for name in varying_statistics("all"):
        if name not in corpus.missing_statistics:
            known = STATISTICS[name]
            scores[name] = Score(known.title, known.unit, values_of(corpus.head_statistic, name, "all"))
    return {name: scores[name] for name in SCORES if name in scores}


def read_scatter(corpus: Corpus, state: LinkState) -> HeadScatter:
    """The two scores of the link."""
    shares = known_shares(corpus)
    scores = scores_of(corpus, shares)
    across, up = (
        next(name for name in (chosen, *usual) if name in scores)
        for chosen, usual in ((state.across, ACROSS), (state.up, UP))
    )
    titles = {name: score.title for name, score in scores.items()}
    return HeadScatter(
        titles, across, up, scores[across], scores[up], shares, all_of(corpus, "sentence"), data_link(corpus)
    )


def scatter(shown: HeadScatter) -> list[object]:
    """The chart with the choices of its axes."""
    controls = [
        choice("across", "Across", shown.scores, shown.across, 260),
        choice("up", "Up", shown.scores, shown.up, 260),
    ]
    heads = shown.x.values.size
    return [
        html.H2(["Heads by two numbers", info("heads by two numbers", _ABOUT)]),
        html.Div(controls, className="controls"),
        *chart(
            scatter_figure(shown),
            name="scatter",
            caption="Click a dot to open the head. ",
            label=f"{heads} heads: {shown.x.title} across, {shown.y.title} up",
            of=shown.of,
            data=file_href(shown.files, "scores.csv"),
            height=420,
            opens=True,
            turns=True,
        ),
    ]


def scatter_figure(shown: HeadScatter) -> go.Figure:
    """A dot for each head; those without a role that a test finds are small and grey."""
    no_kinds = np.full(shown.x.values.shape, "")
    groups = (
        groups_by_kind(shown.shares, DOT)
        if shown.shares
        else dot_groups(no_kinds, KINDS, KIND_COLOURS, size=DOT, without=NO_ROLE)
    )
    traces = [_dots(shown, group) for group in groups]
    across, up = ({"title": score.axis, "zeroline": False} for score in (shown.x, shown.y))
    return go.Figure(traces, layout(across, up | {"showgrid": True})).update_layout(showlegend=shown.shares is not None)


def _dots(shown: HeadScatter, group: DotGroup) -> Any:
    heads = [(int(layer), int(head)) for layer, head in np.argwhere(group.heads)]
    return go.Scatter(
        x=shown.x.values[group.heads],
        y=shown.y.values[group.heads],
        mode="markers",
        marker=group.marker,
        name=group.title,
        customdata=[head_name(*head) for head in heads],
        text=[_hover(shown, head) for head in heads],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )


def _hover(shown: HeadScatter, head: tuple[int, int]) -> str:
    numbers = f"{shown.x.written(head)}, {shown.y.written(head)}"
    return f"{numbers}<br>{summary(shown.shares, *head)}" if shown.shares else numbers
