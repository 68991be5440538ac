"""The feature points that a link shows: panels, tokens, colours and selection, and how the selected tokens differ from the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.features.data import FeaturePanels
from dashboard.features.feature_tokens import FIELDS, FeatureTokens, coloured_by, parse_token_selection
from dashboard.features.trial import Trial, seed_of
from dashboard.features.trials import Trials
from dashboard.points.point_set import Column, Condition, Mask, parse_conditions, values, write_conditions
from dashboard.points.shown import Shown, count_codes
from dashboard.ui.files import provenance_of
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.text import signed
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.state import TRIAL, TRIED, LinkState
from dashboard.web.token_sets import TokenSets, shown_token_set
from store import Corpus
from store.schema.features import SAMPLE

#: Wordpieces with the largest differences that are listed.
LISTED_WORDPIECES = 8
COLUMNS = ("group", "value", "selected", "share", "others", "share ", "difference, points")


@dataclass(frozen=True)
class FeatureView(Shown[FeatureTokens]):
    """Tokens at all feature points, or at the feature point of the large panel."""

    @classmethod
    def of(cls, context: Context, most: int | None = None) -> "FeatureView":
        """The view of a link whose token set `is_drawn`; `most` is the number of drawn tokens, by default that of the picture."""
        state, corpus = context.state, context.corpus
        features = context.served_store.service(TokenSets).open(corpus, shown_token_set(corpus, state))
        fitted, trials = state.vectors is None and state.fscale == "each", context.served_store.service(Trials)
        series = FeaturePanels(corpus, features, state.vectors, fitted, trials)
        written = {name: str(value) for name in FIELDS if (value := state.fields[name]) is not None}
        selection, notices = parse_token_selection(written, series)
        stored = state.fview if state.fview in series.views else series.views[0]
        view = _trial_view(series, state) or stored
        held = series.tokens(view)
        drawn = min(series.grid_tokens, held) if state.point is None else held
        points = FeatureTokens(series, drawn if most is None else most, state.point, state.ftoken)
        colour = coloured_by(points.columns, state.fcolour)
        origin = provenance_of(context.snapshot, corpus, state)
        return cls(state, points, view, selection, colour, notices, origin, context.ingest)

    @property
    def series(self) -> FeaturePanels:
        """The panels in order."""
        return self.points.series

    @property
    def corpus(self) -> Corpus:
        """The corpus of the model."""
        return self.series.corpus

    @property
    def panel(self) -> str | None:
        """The large panel; None where all panels are small."""
        return self.points.panel

    @property
    def tokens(self) -> int:
        """Tokens drawn in every panel."""
        return self.points.tokens

    @property
    def trial(self) -> Trial | None:
        """The trial that is shown; None where the picture is the store's."""
        return Trial.parse(self.view, self.series.features)

    @property
    def tried(self) -> Trial:
        """The trial of the link, fitted or not."""
        return Trial.of(self.state, self.corpus, self.series.features)

    @property
    def base(self) -> str:
        """The start of the URLs of the token set."""
        return f"{data_link(self.corpus)}/features/{self.series.features.name}"

    @property
    def colours(self) -> str:
        """URL of the colour codes."""
        name, token = self.colour.name, self.points.chosen
        chosen = f"&token={token}" if name == "sentence" and token is not None else ""
        return f"{self.base}/colours/{name}.bin?tokens={self.tokens}{chosen}"

    @property
    def mask(self) -> str | None:
        """URL of the mask of selected tokens; None without a selection."""
        return f"{self.base}/mask.bin?tokens={self.tokens}{self.query}" if self.selection else None

    @property
    def filters(self) -> tuple[Condition, ...]:
        """The conditions of the selection without the isolated category."""
        return parse_conditions(self.state.where or "", self.points.columns)[0]

    @property
    def valid_fields(self) -> dict[str, object]:
        """The fields of the link that select tokens, or show a category alone, without ignored parts."""
        selection = self.selection
        is_alone = len(selection.where) > len(self.filters)
        where, region = write_conditions(self.filters) or None, selection.lasso and str(selection.lasso)
        alone = self.state.fonly if is_alone else None
        return {"within": selection.within, "where": where, "flasso": region, "fonly": alone}

    @property
    def offered(self) -> dict[str, Column]:
        """The columns that tokens can be filtered by: the sentence of the clicked token only where one is clicked."""
        named = self.points.chosen is not None or self.series.features.name != SAMPLE
        return {name: column for name, column in self.points.columns.items() if named or name != "sentence"}

    @property
    def choices(self) -> tuple[dict[str, object], dict[str, object]]:
        """Values of the controls of the picture, and their defaults."""
        seed, tried = seed_of(self.corpus), self.tried
        values: dict[str, object] = {
            "fview": self.view if self.trial is None else TRIAL,
            "fcolour": self.colour.name,
            "fit": tried.fitted,
            "trial": tried.tokens,
            "seed": seed if tried.seed is None else tried.seed,
        }
        unsaid = Trial.of(self.state.with_(fit=None, trial=TRIED), self.corpus, self.series.features)
        defaults: dict[str, object] = {"fview": self.series.views[0], "seed": seed}
        return values, defaults | {"fit": unsaid.fitted, "trial": unsaid.tokens}

    @property
    def selected_tokens(self) -> Mask:
        """Whether each drawn token is selected: (token,)."""
        return self.selected[0, :, 0]


def _trial_view(series: FeaturePanels, state: LinkState) -> str | None:
    """The view of the link's trial, where the link shows it and it has been fitted."""
    if state.fview != TRIAL or series.trials is None:
        return None
    trial = Trial.of(state, series.corpus, series.features)
    return str(trial) if series.trials.find(series.corpus, series.features, trial) else None


@dataclass(frozen=True)
class Contrast:
    """Number and share of the selected tokens with a value, and of the other tokens."""

    group: str
    value: str
    inside: int
    outside: int
    share: float
    share_outside: float

    @property
    def difference(self) -> float:
        """The difference of the shares."""
        return self.share - self.share_outside


def selection_contrast(shown: FeatureView) -> list[object]:
    """The table of contrasts; nothing where no tokens are selected, or all."""
    selected = shown.selected_tokens
    if not shown.selection or not selected.any() or selected.all():
        return []
    rows = [html.Tr(_cells(contrast)) for contrast in contrasts(shown)]
    table = html.Table([heading(COLUMNS, COLUMNS[2:]), html.Tbody(rows)], className="rows")
    caption = f"Shares of the {int(selected.sum()):,} selected tokens and of the {int((~selected).sum()):,} others. "
    listed = f"Wordpieces: the {LISTED_WORDPIECES} with the largest differences."
    return [
        html.H2("Selected tokens against the others"),
        html.P(caption + listed, className="caption"),
        scrolling(table, "Selected tokens against the others"),
    ]


def contrasts(shown: FeatureView) -> list[Contrast]:
    """Token types and labels, then wordpieces, each by the size of the difference."""
    found: list[Contrast] = []
    for name, title in (("kind", "token type"), ("label", "label")):
        if name in shown.points.columns:
            column = shown.points.columns[name]
            codes = values(column, shown.points)[0, :, 0].astype(np.int64)
            found += contrast_of(title, [*column.names, "none"], codes, shown.selected_tokens)
    features = shown.series.features
    pieces = features.tokens.token_id.values[: shown.tokens]
    return found + contrast_of("wordpiece", shown.corpus.vocab, pieces, shown.selected_tokens)[:LISTED_WORDPIECES]


def contrast_of(
    group: str, names: Sequence[str] | NDArray[np.object_], codes: NDArray[np.integer], selected: NDArray[np.bool_]
) -> list[Contrast]:
    """The contrast of every value that occurs, the largest difference first.

    Parameters
    ----------
    names
        Name of each code.
    codes
        Code of each token: (token,); -1 for the last name.
    selected
        Whether each token is selected: (token,).
    """
    different, *counts = count_codes(codes, selected)
    shares = [count / count.sum() for count in counts]
    order = np.argsort(-np.abs(shares[0] - shares[1]), kind="stable")
    columns = (column[order].tolist() for column in (different, *counts, *shares))
    return [Contrast(group, str(names[value]), *numbers) for value, *numbers in zip(*columns, strict=True)]


def _cells(contrast: Contrast) -> list[html.Td]:
    shares = [f"{100 * share:.1f}%" for share in (contrast.share, contrast.share_outside)]
    change = signed(100 * contrast.difference, 1)
    numbers = (f"{contrast.inside:,}", shares[0], f"{contrast.outside:,}", shares[1], change)
    return [
        html.Td(contrast.group),
        html.Td(html.Bdi(contrast.value)),
        *(html.Td(text, className="number") for text in numbers),
    ]
