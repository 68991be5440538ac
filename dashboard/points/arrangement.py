"""Which heads the picture of all heads shows, in which order, and the controls that choose them."""

from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.roles.shares import known_shares, role_choice
from dashboard.ui.controls import choice, explained, info, number, statistic_info
from dashboard.ui.text import brief, spell, unit_title
from dashboard.web.state import UNLABELLED, LinkState
from store import STATISTICS, Corpus
from store.kernels.heads import LABELS
from store.schema.model import varying_statistics

_LABELS = (
    "A head is labelled by thresholds of its statistics (Clark et al. 2019). "
    + "; ".join(f"{label}: {rule}" for label, rule in LABELS.items())
    + "."
)
_SORTING = "By the mean of a statistic over all queries, descending. Each panel then shows its value."


@dataclass(frozen=True)
class Arrangement:
    """The shown heads in their order, by their numbers layer by layer.

    `values` has the sorting statistic of every head; None where heads stand layer by layer. `packed` says whether heads stand
    one after the other instead of in the row of their layer.
    """

    heads: tuple[int, ...]
    of: int
    packed: bool
    values: NDArray[np.float64] | None

    @property
    def slots(self) -> list[int]:
        """The place of every head in the picture, -1 of a head that is left out."""
        place = dict(zip(self.heads, range(len(self.heads)), strict=True))
        return [place.get(head, -1) for head in range(self.of)]


def arrangement(corpus: Corpus, state: LinkState) -> Arrangement:
    """The heads that a link shows: largest value first, heads without a value last and below every minimum."""
    labels = corpus.head_labels.values.ravel()
    label = "" if state.tagged == UNLABELLED else state.tagged
    shown = np.ones(labels.size, bool) if label is None else labels == label
    if state.does is not None:
        shown &= _with_role(corpus, state.does)
    values = None if state.arranged is None else _values(corpus, state.arranged)
    if values is not None and state.above is not None:
        shown &= np.nan_to_num(values, nan=-np.inf) >= minimum(state)
    order = np.arange(labels.size) if values is None else np.argsort(-values, kind="stable")
    heads = tuple(int(head) for head in order if shown[head])
    packed = not {state.arranged, state.tagged, state.does} <= {None}
    return Arrangement(heads, labels.size, packed, values)


def _with_role(corpus: Corpus, role: str) -> NDArray[np.bool_]:
    """Whether a test finds the role in each head: (head,), layer after layer."""
    shares = known_shares(corpus)
    return shares.with_role(role).ravel() if shares else np.zeros(corpus.layers * corpus.heads, bool)


def minimum(state: LinkState) -> float:
    """The minimum of the sorting statistic in its own unit: a link has shares in per cent."""
    share = state.arranged is not None and STATISTICS[state.arranged].unit == "share"
    return float(state.above or 0) / (100 if share else 1)


def _values(corpus: Corpus, statistic: str) -> NDArray[np.float64]:
    values: NDArray[np.float64] = corpus.head_statistic.sel(source="all", statistic=statistic).values.ravel()
    return values


def value_text(state: LinkState, value: float) -> str:
    """A value of the sorting statistic, without its unit except per cent; empty where no statistic sorts."""
    if state.arranged is None:
        return ""
    unit = STATISTICS[state.arranged].unit
    return spell(value, unit) if unit == "share" and value == value else brief(value, unit)


def arrangement_controls(corpus: Corpus, state: LinkState, shown: Arrangement) -> html.Div:
    """The controls that sort and choose heads, and the number of shown heads."""
    named: Any = {"aria-label": "Heads: sort, role, label"}
    shares = known_shares(corpus)
    role = [role_choice(state, shares, "Role")] if shares else []
    count = html.P(f"{len(shown.heads):,} of {shown.of:,} heads", className="heads-shown", role="status")
    return html.Div(
        [_sorting(state), _least(state), *role, _labels(corpus, state), count],
        className="controls arrangement",
        role="group",
        **named,
    )


def _sorting(state: LinkState) -> html.Div:
    titles = {"": "by layer"} | {name: STATISTICS[name].title for name in varying_statistics("all")}
    about = statistic_info(state.arranged) if state.arranged else info("sorting heads", _SORTING)
    return explained(choice("arranged", "Order", titles, state.arranged or "", 165), about)


def _least(state: LinkState) -> dmc.NumberInput:
    """The field for the minimum of the sorting statistic; disabled where no statistic sorts."""
    unit = unit_title(STATISTICS[state.arranged].unit) if state.arranged else ""
    label, least = f"Minimum, {unit}" if unit else "Minimum", None if state.above is None else float(state.above)
    optional = {"placeholder": "any", "decimalScale": 3, "disabled": state.arranged is None}
    return number("above", label, least, 0, 99_999, 1, **optional)


def _labels(corpus: Corpus, state: LinkState) -> html.Div:
    labels, counts = np.unique(corpus.head_labels.values, return_counts=True)
    count = dict(zip(map(str, labels), map(int, counts), strict=True))
    titles = {"": "any"} | {label: f"{label} ({count[label]})" for label in LABELS if label in count}
    titles |= {UNLABELLED: f"unlabelled ({count['']})"} if "" in count else {}
    return explained(choice("tagged", "Label", titles, state.tagged or "", 130), info("labels", _LABELS))


def nothing_shown(state: LinkState) -> html.P:
    """A line that says what to do where no head passes the conditions."""
    everything = state.with_(arranged=None, tagged=None, does=None, above=None).href
    link = dcc.Link("Show all heads", href=everything)
    return html.P(
        ["No head passes. Lower the minimum, or choose another role or label. ", link, "."], className="no-heads"
    )
