"""Captions and titles of the pictures of feature points: how many tokens, by which method, how trustworthy."""

from collections.abc import Mapping

import numpy as np
from dash import html

from dashboard.features.columns import NO_PREDICTION
from dashboard.features.data import Series, pieces_of, token_set_title
from dashboard.features.shown import ShownFeatures
from dashboard.features.token import NEAR, where_of
from dashboard.points.captions import caption
from dashboard.ui.controls import info
from dashboard.ui.markup import Markup
from dashboard.ui.text import with_commands
from store.phrases import many
from store.schema.features import POINT_KINDS, point_kind
from store.schema.pictures import EACH, ViewName

_COMMAND = (
    "Add the model, the data and the place of the store as your ingest had them. It draws all tokens in place of a stored picture "
    "“{}”, and the values of the last layer, which have the same settings."
)
TRUST = "Whether neighbours in the picture are neighbours among the vectors; 1 is perfect (Venna and Kaski 2001)."
#: Parameters of a fit by their names for a person.
PARAMETERS = {
    "neighbors": "neighbours",
    "min_dist": "minimum distance",
    "perplexity": "perplexity",
    "steps": "steps",
    "metric": "metric",
    "seed": "seed",
}


def captions(shown: ShownFeatures) -> list[html.P]:
    """Which tokens, by which method, and how trustworthy every panel on screen is."""
    classifies = shown.series.features.class_probability is not None
    missing = [] if classifies else [html.P(with_commands(NO_PREDICTION), className="caption")]
    return [*_trial(shown), caption(_tokens(shown)), caption(*_method(shown)), caption(*_trust(shown)), *missing]


def headline(shown: ShownFeatures) -> str:
    """The title of the picture, up to the name of the large panel."""
    series = shown.series
    at = " at" if series.layer is None else ", values of"
    return f"{many(series.tokens(shown.view), 'token')} of {token_set_title(series.features.name)}{at} "


def panel_texts(shown: ShownFeatures, panel: str) -> dict[str, str]:
    """The texts that differ between panels, by name: the browser updates them while the tokens move to the next panel."""
    series = shown.series
    index = series.index(panel)
    trust = float(series.trustworthiness(shown.view)[index])
    return {
        "name": series.titles[index],
        "meaning": _meaning(shown, panel, series.titles[index]),
        "trust": "not known" if trust != trust else f"{trust:.2f}",
    }


def text_of(name: str, texts: Mapping[str, str]) -> html.Span:
    """One of the texts of a panel, with an id by which the browser updates it."""
    return html.Span(Markup(tree=[texts[name]]), id={"caption": name})


def focus_caption(shown: ShownFeatures, token: int) -> str:
    """What is drawn over the points for the chosen token."""
    features = shown.series.features
    return (
        f"Ringed: “{pieces_of(features)[token]}”, {where_of(features, token)}. Large: the tokens of its sentence; dashed: "
        f"lines to the {NEAR} tokens whose vectors have the largest cosine with its vector."
    )


def _meaning(shown: ShownFeatures, panel: str, title: str) -> str:
    if shown.series.layer is not None:
        return f"Value vectors of head {panel} in layer {shown.series.layer}."
    return f"{title[0].upper()}{title[1:]}: {POINT_KINDS[point_kind(panel)].meaning}."


def _trial(shown: ShownFeatures) -> list[html.P]:
    """That the picture is a trial, and the command that makes it permanent."""
    if shown.trial is None:
        return []
    command = shown.trial.command(shown.context.corpus, shown.series.features)
    return [
        caption(
            "A trial, not in the store. Make it permanent: ",
            html.Code(command),
            info("the command", _COMMAND.format(shown.trial.view)),
        )
    ]


def _tokens(shown: ShownFeatures) -> str:
    features = shown.series.features
    some = f"the first {shown.tokens:,} of {features.n_tokens:,} are drawn here"
    drawn = "all of them are drawn" if shown.tokens == features.n_tokens else some
    drawn += "" if shown.tokens == shown.series.tokens(shown.view) else ", all of them in a large panel"
    cut = " The review is longer than the model reads and was cut." if features.attributes.get("cut") else ""
    return f"Tokens: {str(features.attributes['says']).rstrip('.')}; {drawn}.{cut}"


def _method(shown: ShownFeatures) -> list[object]:
    """By which method, fitted on what; behind the (i) its parameters and the rules."""
    attributes = shown.series.attributes(shown.view)
    parameters = dict(attributes["parameters"])
    titles = [f"{title} {_spelled(parameters[name])}" for name, title in PARAMETERS.items() if name in parameters]
    placed = [f"Other tokens are placed {attributes['placed']}."] if attributes.get("placed") else []
    about = [f"{', '.join(titles)}." if titles else "", *placed, _axes(shown.series), _bases(shown)]
    sizes = " Each panel fits its tokens: do not compare sizes across panels." if shown.series.fitted else ""
    return [
        f"{attributes['title']}, fitted on {attributes['fitted_on']}.{sizes}",
        info("the picture", " ".join(filter(None, about))),
    ]


def _spelled(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _axes(series: Series) -> str:
    if series.layer is not None:
        return "Equal axis scales, own to each head."
    return "Equal axis scales." if series.fitted else "Equal axis scales, the same in every panel."


def _bases(shown: ShownFeatures) -> str:
    """A warning where all feature points are in one picture."""
    view = shown.view if shown.trial is None else str(shown.trial.view)
    if shown.series.layer is not None or ViewName.parse_points(view).vectors == EACH:
        return ""
    return "Head outputs have another basis (channels of heads): do not compare their positions with those of other points."


def _trust(shown: ShownFeatures) -> list[object]:
    trust = shown.series.trustworthiness(shown.view)
    if np.isnan(trust).all():
        return ["Trustworthiness: too few tokens to measure. Ingest more sentences."]
    judged = shown.series.attributes(shown.view)["judged_on"]
    about = info("trustworthiness", f"{TRUST} Measured on {judged}. Hover a panel for its own value.")
    if shown.panel is not None:
        return ["Trustworthiness (1: perfect): ", text_of("trust", panel_texts(shown, shown.panel)), ".", about]
    titles = shown.series.titles
    low, high = int(np.nanargmin(trust)), int(np.nanargmax(trust))
    means = (
        f"mean {np.nanmean(trust):.2f}, from {trust[low]:.2f} ({titles[low]}) to {trust[high]:.2f} ({titles[high]})."
    )
    return [f"Trustworthiness (1: perfect): {means}", about]
