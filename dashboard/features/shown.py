"""The feature points that a link shows: panels, tokens, colours and selection."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dashboard.features.columns import TokenColumn, token_columns
from dashboard.features.data import Series, is_drawn
from dashboard.features.selection import FIELDS, TokenSelection, coloured_by, parse_token_selection, token_mask
from dashboard.features.trial import Trial
from dashboard.features.trials import Trials
from dashboard.points.colours import Legend, legend_of
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.state import TRIAL, TRIED, encode_fields
from store.features import Features


@dataclass(frozen=True)
class ShownFeatures:
    """The panels, one of them or all; the colour; the selection."""

    context: Context
    series: Series
    view: str
    selection: TokenSelection
    notices: tuple[str, ...]
    drawn: int | None = None

    @classmethod
    def of(cls, context: Context, drawn: int | None = None) -> "ShownFeatures":
        """From a link whose token set `is_drawn`; `drawn` limits the tokens."""
        state, corpus = context.state, context.corpus
        features = corpus.features(state.material or corpus.token_sets[0])
        trials = context.library.get(Trials)
        series = Series(corpus, features, state.vectors, state.vectors is None and state.fscale == "each", trials)
        written = {name: str(value) for name in FIELDS if (value := state.fields[name]) is not None}
        selection, notices = parse_token_selection(written, corpus, features, trials)
        stored = state.fview if state.fview in series.views else series.views[0]
        view = _trial_view(context, features, trials) or stored
        return cls(context, series, view, selection, notices, drawn)

    @property
    def panel(self) -> str | None:
        """The large panel, None where all are small."""
        return self.context.state.point

    @property
    def tokens(self) -> int:
        """Tokens drawn in every panel."""
        if self.drawn is not None:
            return self.drawn
        held = self.series.tokens(self.view)
        return min(self.series.grid_tokens, held) if self.panel is None else held

    @property
    def trial(self) -> Trial | None:
        """The trial that is shown; None where the picture is the store's."""
        return Trial.parse(self.view, self.series.features)

    @property
    def tried(self) -> Trial:
        """The trial of the link, fitted or not."""
        return Trial.of(self.context.state, self.series.features)

    @property
    def base(self) -> str:
        """The start of the URLs of the token set."""
        return f"{data_link(self.context.corpus)}/features/{self.series.features.name}"

    @property
    def query(self) -> str:
        """The selection as the end of a URL; empty where nothing is selected."""
        return f"&{encode_fields(self.selection.fields)}" if self.selection else ""

    @cached_property
    def columns(self) -> dict[str, TokenColumn]:
        """All columns to colour by."""
        return token_columns(self.series.features, self.context.state.ftoken)

    @property
    def colour(self) -> TokenColumn:
        """The column of the colours."""
        return coloured_by(self.columns, self.context.state.fcolour)

    @property
    def colours(self) -> str:
        """URL of the colour codes."""
        name, token = self.colour.column.name, self.context.state.ftoken
        chosen = f"&token={token}" if name == "sentence" and token is not None else ""
        return f"{self.base}/colours/{name}.bin?tokens={self.tokens}{chosen}"

    @cached_property
    def legend(self) -> Legend:
        """The legend of the drawn tokens."""
        return legend_of(self.colour.column, self.colour.values()[None, : self.tokens, None])

    @cached_property
    def selected(self) -> NDArray[np.bool_]:
        """Which of the drawn tokens are selected: (token,)."""
        return token_mask(self.context.corpus, self.series.features, self.selection, self.tokens, self.series.trials)


def _trial_view(context: Context, features: Features, trials: Trials) -> str | None:
    """The view of the link's trial, where the link shows it and it has been fitted."""
    if context.state.fview != TRIAL:
        return None
    trial = Trial.of(context.state, features)
    return str(trial) if trials.find(context.corpus, features, trial) else None


def choices(context: Context) -> tuple[dict[str, object], dict[str, object]]:
    """Values of the controls and their defaults; empty where there is no picture."""
    if not is_drawn(context):
        return {}, {}
    shown = ShownFeatures.of(context)
    features = shown.series.features
    values: dict[str, object] = {
        "material": features.name,
        "fview": shown.view if shown.trial is None else TRIAL,
        "fcolour": shown.colour.column.name,
        "fit": shown.tried.fitted,
        "trial": shown.tried.tokens,
    }
    unsaid = Trial.of(context.state.with_(fit=None, trial=TRIED), features)
    defaults = {"material": context.corpus.token_sets[0], "fview": shown.series.views[0]}
    return values, defaults | {"fit": unsaid.fitted, "trial": unsaid.tokens}
