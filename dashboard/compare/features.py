"""Feature points in two models: how alike they are, point by point, and what stands round the pictures of one of them."""

from typing import Any

from dash import html

from dashboard.compare.feature_points import PointLikeness, both_features, point_likeness, point_places
from dashboard.compare.point_picture import ShownPoint
from dashboard.compare.two_models import Two
from dashboard.features.captions import TRUST
from dashboard.features.point_curves import point_curves
from dashboard.features.series import ROLES
from dashboard.points.captions import caption
from dashboard.points.colours import legend_line
from dashboard.points.search_results import no_hits
from dashboard.ui.charts import chart
from dashboard.ui.controls import choice, search_controls
from dashboard.ui.file_links import file_href
from dashboard.ui.under_way import unmade
from dashboard.web.view import Place
from store.schema.features import SAMPLE, point_title

NOTHING = "Not both models have feature points of the sample."
RUN_BOTH = "Run `make ingest` with each of them."
NO_PREDICTIONS = "Each model predicts its own labels: colour by prediction on page Features, a model at a time."
NO_PICTURE = "The models have no picture of feature points in common."


def likeness(place: Place, two: Two) -> list[object]:
    """CKA and cosine of the same points as a chart; found when first asked for."""
    both = both_features(two)
    if both is None:
        return [html.P(unmade(place, NOTHING, RUN_BOTH), role="status")]
    found = point_likeness(two, both)
    lines = {"CKA": found.cka} | ({} if found.cosine is None else {"cosine": found.cosine})
    return chart(
        point_curves(lines, found.points),
        of="likeness",
        says=_says(two, found, both.tokens),
        label="CKA and cosine of every feature point between the models",
        data=file_href(place, f"compare/{two.other.name}/features/likeness.csv"),
        height=320,
    )


def _says(two: Two, found: PointLikeness, tokens: int) -> str:
    cosine = (
        "cosine: mean over tokens of that between a token's vector in one and in the other model, which says something "
        "only where one was made of the other, as by fine-tuning. "
        if found.cosine is not None
        else f"{_sizes(two)}there is no cosine. "
    )
    each = [len(one.features(SAMPLE).points) for one in (two.own, two.other)]
    some = f"Shown are the {len(found.points)} points that both have by name, of {each[0]} of this and {each[1]} of the other. "
    missing = "" if each == [len(found.points)] * 2 else some
    return (
        f"The same {found.tokens:,} tokens of {tokens:,} at the same point of both models. Linear CKA (Kornblith et al. 2019): 1 where they are "
        f"the same up to rotation and scale; {cosine}{missing}"
    )


def _sizes(two: Two) -> str:
    return "" if two.same_size else "vectors of the two have unequal sizes, so "


def point_controls(place: Place, two: Two) -> tuple[list[Any], list[Any]]:
    """The controls of the pictures of a point, and below them what colours mean; why there are none, where there are none."""
    found = ShownPoint.of(place, two)
    if found is None:
        missing = NO_PICTURE if both_features(two) else NOTHING
        return [], [html.P(unmade(place, missing, RUN_BOTH), role="status")]
    shown = found.shown
    points = {name: point_title(name) for name in found.both.points}
    views = {name: _title(found, name) for name in found.both.views}
    colours = {name: one.column.title for name, one in found.columns.items()}
    controls = [
        choice("point", "Point", points, found.point, 140),
        choice("fview", "Picture", views, found.view, 200),
        choice("fcolour", "Colour", colours, shown.colour.column.name, 170),
        search_controls(place),
    ]
    meaning = legend_line(shown.legend, roles=ROLES, rest=shown.colour.rest)
    return controls, [meaning, *_no_predictions(found), *_selected(found), *no_hits(place)]


def _no_predictions(found: ShownPoint) -> list[html.P]:
    if found.columns.keys() == found.shown.columns.keys():
        return []
    return [html.P(NO_PREDICTIONS, className="caption")]


def _selected(found: ShownPoint) -> list[html.P]:
    if not found.shown.selection:
        return []
    count, drawn = int(found.shown.selected.sum()), found.shown.tokens
    return [
        html.P(
            f"{count:,} of {drawn:,} drawn tokens are selected, the same in both.",
            className="count of-picture",
            role="status",
        )
    ]


def below_point(place: Place, two: Two) -> list[object]:
    """How to read the pictures, n of N, and how well they lie on each other."""
    found = ShownPoint.of(place, two)
    if found is None:
        return []
    apart = point_places(two, found.both, found.view, found.point).apart
    return [
        caption(
            f"Shown: {found.both.tokens:,} of {two.tokens:,} tokens, the same in both. {_title(found, found.view)}, made for each model; the other's places were "
            "moved, turned or mirrored and scaled as a whole so that its tokens lie as near to this one's as they can (orthogonal Procrustes). A "
            f"token's two places are then {100 * apart:.1f} % of the side apart on average. {_trust(two, found)}"
        ),
        html.P(
            "Point at a token for its card; its twin has a ring too. A click opens the point in that model.",
            className="caption",
        ),
    ]


def _trust(two: Two, found: ShownPoint) -> str:
    """How far each model's own picture of the point can be trusted."""
    models = zip((found.both.own, found.both.other), two.names, strict=True)
    trust = {name: float(one.view(found.view).trustworthiness.sel(point=found.point)) for one, name in models}
    said = " and ".join(f"{value:.2f} in {name}" for name, value in trust.items() if value == value)
    return f"{TRUST}: {said}." if said else ""


def _title(found: ShownPoint, view: str) -> str:
    return str(found.both.own.view(view).attrs["title"])
