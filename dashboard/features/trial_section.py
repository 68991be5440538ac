"""The section of page Features in which a reader tries parameters of UMAP: its controls, its job, what the job does."""

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import MATCH, Dash, Input, Output, dcc, html

from dashboard.features.shown import ShownFeatures
from dashboard.features.trial import number_text
from dashboard.features.trials import MISSING, Trials, can_try
from dashboard.ui.controls import choice, info
from dashboard.ui.deferred import job_place
from dashboard.ui.work import Job, Kind
from dashboard.web.context import Context
from dashboard.web.http import validated
from dashboard.web.state import MOST_NEIGHBORS, MOST_TRIED, TRIAL, TRIED
from store.schema.features import point_title
from store.schema.pictures import JOINT, METRICS

#: Fields of a link that say what is tried.
TRIED_FIELDS = ("trial", "fit", "neighbors", "mindist", "metric")
#: The fit of a trial that was not fitted before.
TRYING = Kind(
    place=TRIAL,
    waiting="Waiting for the trial of another reader to end.",
    cancelled="The trial was cancelled.",
    again=None,
    fields=("model", "snapshot", "material", "vectors", *TRIED_FIELDS),
)
#: Tokens to choose from.
TOKENS = (500, TRIED, MOST_TRIED)
#: Neighbours and minimum distances to choose from.
NEIGHBOURS = (5, 10, 15, 30, 50, 100, MOST_NEIGHBORS)
MIN_DISTS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
_ABOUT = (
    "UMAP of the first tokens, as an ingest with these parameters makes it. On one point: fitted there, the other points "
    "placed among their nearest. It takes seconds to a minute; leaving the page or changing a parameter stops it."
)
UNFITTED = "This link shows a trial that the server does not have yet. Press Run."


def trial_section(shown: ShownFeatures) -> list[object]:
    """The section, open where the link says what is tried; of the values of heads there is none."""
    state = shown.context.state
    if shown.series.layer is not None:
        return []
    defaults = type(state)()
    chosen = state.fview == TRIAL or any(getattr(state, name) != getattr(defaults, name) for name in TRIED_FIELDS)
    inner = _controls(shown) if can_try() else [html.P(MISSING, className="caption")]
    return [html.Details([html.Summary("Try UMAP on these tokens"), *inner], id="try-umap", open=chosen)]


def is_held(shown: ShownFeatures) -> bool:
    """Whether the trial of the link has been fitted."""
    series = shown.series
    if series.layer is not None or series.trials is None:
        return False
    return series.trials.find(series.corpus, series.features, shown.tried) is not None


def _controls(shown: ShownFeatures) -> list[object]:
    trial, points = shown.tried, shown.series.features.points
    fits = {JOINT: "all points together"} | {point: point_title(point) for point in points}
    run: dict[str, Any] = {"disabled": shown.trial == trial}
    controls = [
        choice("fit", "Fitted on", fits, trial.fitted, 190),
        choice(
            "neighbors", "Neighbours", _numbers(NEIGHBOURS, trial.neighbors), str(trial.neighbors), 104, of_data=True
        ),
        choice("mindist", "Min. distance", _numbers(MIN_DISTS, trial.min_dist), trial.min_dist_text, 110, of_data=True),
        choice("metric", "Metric", {metric: metric for metric in METRICS}, trial.metric, 110, of_data=True),
        choice("trial", "Number of tokens", _token_counts(shown), str(trial.tokens), 130, of_data=True),
        html.Div(
            [dmc.Button("Run", id={"run": TRIAL}, size="xs", className="run", **run), info("this trial", _ABOUT)],
            className="running",
        ),
    ]
    unfitted = shown.context.state.fview == TRIAL and shown.trial is None
    return [
        html.Div(controls, className="controls"),
        html.Div([html.Div(id={"place": TRIAL}), html.P(UNFITTED if unfitted else "")], className="trial"),
    ]


def _token_counts(shown: ShownFeatures) -> dict[str, str]:
    """Numbers of tokens to choose from, and the one of the link."""
    most = shown.series.features.n_tokens
    counts = sorted({shown.tried.tokens, *(min(count, most) for count in TOKENS)})
    return {str(count): f"{count:,}" for count in counts}


def _numbers(offered: Sequence[float], chosen: float) -> dict[str, str]:
    """The numbers to choose from, and the one of the link, as links write them."""
    texts = [number_text(number) for number in sorted({*offered, chosen})]
    return dict(zip(texts, texts, strict=True))


def tried(context: Context, job: Job) -> list[object]:
    """Fit the trial of the link; the fields of the link that shows it. Raises `Refusal` where it cannot be fitted now."""
    shown = ShownFeatures.of(context)
    context.library.get(Trials).fitted(context.corpus, shown.series.features, shown.tried, job)
    return [dcc.Store(id={"done": TRIAL}, data=shown.tried.fields)]


def add_run(app: Dash) -> None:
    """Add the callback of the button."""

    @app.callback(Output({"place": MATCH}, "children"), Input({"run": MATCH}, "n_clicks"), prevent_initial_call=True)
    @validated
    def run(clicks: int | None) -> list[object]:
        return [job_place(TRYING)] if clicks else []
