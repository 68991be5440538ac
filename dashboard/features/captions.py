"""The captions below the picture of feature points: which tokens, by which method, how trustworthy, and how to keep what the store has not."""

from collections.abc import Sequence

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.features.data import FeaturePanels
from dashboard.features.feature_tokens import NO_PREDICTION
from dashboard.features.picture import panel_texts, text_of
from dashboard.features.shown import FeatureView
from dashboard.features.trial import seed_of
from dashboard.points.controls import caption
from dashboard.ui.controls import info
from dashboard.ui.glossary import defined
from dashboard.ui.text import with_commands
from dashboard.web.token_sets import review_number
from store.schema.pictures import EACH, ViewName

_COMMAND = (
    "Add the model, the data and the place of the store as your ingest had them. It draws all tokens in place of a stored picture "
    "“{}”, and the values of the last layer, which have the same settings."
)
_OTHER_SEED = "A trial with seed {}, not in the store, whose pictures have seed {}. Choose that seed to see the command that keeps it."
_READ = "Read by the model for this page, not in the store. Keep it in the store: "
_READ_COMMAND = "Add the model, the data and the place of the store as your ingest had them. It also draws the review by UMAP and t-SNE."
_CUT = " The review is longer: its text after {:,} tokens is left out. Choose a shorter one to see all of it."
TRUST = defined("trustworthiness")
UNMEASURED = "Trustworthiness: too few tokens to measure. Ingest more sentences."
#: Parameters of a fit by their names for a person.
PARAMETERS = {
    "neighbors": "neighbours",
    "min_dist": "minimum distance",
    "perplexity": "perplexity",
    "steps": "steps",
    "metric": "metric",
    "seed": "seed",
}


def captions(shown: FeatureView) -> list[html.P]:
    """Which tokens, by which method, and how trustworthy every panel on screen is."""
    classifies = shown.series.features.class_probability is not None
    missing = [] if classifies else [html.P(with_commands(NO_PREDICTION), className="caption")]
    return [
        *_trial_caption(shown),
        *_read_caption(shown),
        caption(_tokens_text(shown)),
        caption(*_method(shown)),
        caption(*_trust(shown)),
        *missing,
    ]


def _trial_caption(shown: FeatureView) -> list[html.P]:
    """That the picture is a trial, and the command that makes it permanent; a store has pictures of one seed."""
    if shown.trial is None:
        return []
    if shown.trial.seed is not None:
        return [caption(_OTHER_SEED.format(shown.trial.seed, seed_of(shown.corpus)))]
    command = shown.trial.command(shown.corpus, shown.series.features)
    return [
        caption(
            "A trial, not in the store. Make it permanent: ",
            html.Code(command),
            info("the command", _COMMAND.format(shown.trial.view)),
        )
    ]


def _read_caption(shown: FeatureView) -> list[html.P]:
    """That a review was read when it was asked for, and the command that makes it permanent."""
    number = review_number(shown.series.features.name)
    if number is None or shown.series.features.name in shown.corpus.token_sets:
        return []
    return [caption(_READ, html.Code(f"headscape projections --reviews={number}"), info("the command", _READ_COMMAND))]


def _tokens_text(shown: FeatureView) -> str:
    features = shown.series.features
    some = f"the first {shown.tokens:,} of {features.n_tokens:,} are drawn here"
    drawn = "all of them are drawn" if shown.tokens == features.n_tokens else some
    drawn += "" if shown.tokens == shown.series.tokens(shown.view) else ", all of them in a large panel"
    cut = _CUT.format(features.n_tokens) if features.attributes.get("cut") else ""
    return f"Tokens: {str(features.attributes['says']).rstrip('.')}; {drawn}.{cut}"


def _method(shown: FeatureView) -> list[object]:
    """By which method, fitted on what; behind the (i) its parameters and the rules."""
    attributes = shown.series.attributes(shown.view)
    parameters = dict(attributes["parameters"])
    titles = [f"{title} {_spelled(parameters[name])}" for name, title in PARAMETERS.items() if name in parameters]
    placed = [f"Other tokens are placed {attributes['placed']}."] if attributes.get("placed") else []
    about = [f"{', '.join(titles)}." if titles else "", *placed, _axes(shown.series), _bases(shown)]
    sizes = " Each panel fits its tokens: do not compare sizes across panels." if shown.series.fitted else ""
    title, fitted_on = str(attributes["title"]), str(attributes["fitted_on"])
    fitted = fitted_on.partition(" at the place ")[0] if " fitted on " in title else f"fitted on {fitted_on}"
    return [
        f"{title}, {fitted}.{sizes}",
        info("the picture", " ".join(filter(None, about))),
    ]


def _spelled(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _axes(series: FeaturePanels) -> str:
    if series.layer is not None:
        return "Equal axis scales, own to each head."
    return "Equal axis scales." if series.fitted else "Equal axis scales, the same in every panel."


def _bases(shown: FeatureView) -> str:
    """A warning where all feature points are in one picture."""
    view = shown.view if shown.trial is None else str(shown.trial.view)
    if shown.series.layer is not None or ViewName.parse_points(view).vectors == EACH:
        return ""
    return "Head outputs have another basis (channels of heads): do not compare their positions with those of other points."


def _trust(shown: FeatureView) -> list[object]:
    means = mean_trust(shown.series.trustworthiness(shown.view), shown.series.titles)
    if means is None:
        return [UNMEASURED]
    judged = shown.series.attributes(shown.view)["judged_on"]
    about = info("trustworthiness", f"{TRUST} Measured on {judged}. Hover a panel for its own value.")
    if shown.panel is not None:
        return ["Trustworthiness (1: perfect): ", text_of("trust", panel_texts(shown, shown.panel)), ".", about]
    return [f"Trustworthiness (1: perfect): {means}", about]


def mean_trust(trust: NDArray[np.float64], titles: Sequence[str]) -> str | None:
    """The mean of the panels (panel,), and the panels with the ends; None where none could be measured."""
    if np.isnan(trust).all():
        return None
    low, high = int(np.nanargmin(trust)), int(np.nanargmax(trust))
    return f"mean {np.nanmean(trust):.2f}, from {trust[low]:.2f} ({titles[low]}) to {trust[high]:.2f} ({titles[high]})."
