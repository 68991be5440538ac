"""Feature points of two models on the page: their similarity, and the controls and captions of the pictures of one."""

from typing import Any

from dash import html

from dashboard.compare.feature_points import PointSimilarity, both_features, point_places, point_similarity
from dashboard.compare.point_picture import ShownPoint
from dashboard.compare.two_models import Two
from dashboard.features.captions import TRUST
from dashboard.features.data import ROLES
from dashboard.features.point_curves import point_curves
from dashboard.points.captions import caption
from dashboard.points.colours import legend_line
from dashboard.points.search_results import no_hits
from dashboard.ui.charts import chart
from dashboard.ui.controls import choice, search_controls
from dashboard.ui.progress import unmade
from dashboard.ui.tables import file_href
from dashboard.web.view import Place
from store.schema.features import SAMPLE, point_title

NOTHING = "One of the models has no feature points of the sample."
RUN_BOTH = "Run `make ingest` with each model."
#: The measures of similarity, explained.
SIMILARITY = (
    "Linear CKA (Kornblith et al. 2019) of the same tokens' vectors in both models: 1 where they are equal up to rotation and "
    "scale. Cosine of a token's two vectors: meaningful only where one model was fine-tuned from the other."
)
NO_PREDICTIONS = "Predicted labels differ between the models: colour by prediction on page Features."
NO_PICTURE = "The models have no view of feature points in common."


def similarity_panel(place: Place, two: Two) -> list[object]:
    """A chart of CKA and cosine of the common points; computed at the first request."""
    both = both_features(two)
    if both is None:
        return [html.P(unmade(place, NOTHING, RUN_BOTH), role="status")]
    similarity = point_similarity(two, both)
    lines = {"CKA": similarity.cka} | ({} if similarity.cosine is None else {"cosine": similarity.cosine})
    return chart(
        point_curves(lines, similarity.points),
        of="likeness",
        says=_caption(two, similarity, both.tokens),
        label="CKA and cosine of every feature point between the models",
        data=file_href(place, f"compare/{two.other.name}/features/likeness.csv"),
        height=320,
    )


def _caption(two: Two, similarity: PointSimilarity, tokens: int) -> str:
    cosine = "cosine: mean over tokens. " if similarity.cosine is not None else f"no cosine{_sizes(two)}. "
    each = [len(model.features(SAMPLE).points) for model in (two.own, two.other)]
    some = f"Only the {len(similarity.points)} common points, of {each[0]} of this and {each[1]} of the other model. "
    missing = "" if each == [len(similarity.points)] * 2 else some
    return f"{similarity.tokens:,} of {tokens:,} tokens; {cosine}{missing}"


def _sizes(two: Two) -> str:
    return "" if two.same_size else ", as vector sizes differ"


def point_controls(place: Place, two: Two) -> tuple[list[Any], list[Any]]:
    """The controls and the legend of the pictures of a point, or why there are none."""
    point = ShownPoint.of(place, two)
    if point is None:
        missing = NO_PICTURE if both_features(two) else NOTHING
        return [], [html.P(unmade(place, missing, RUN_BOTH), role="status")]
    shown = point.shown
    points = {name: point_title(name) for name in point.both.points}
    views = {name: _title(point, name) for name in point.both.views}
    colours = {name: column.column.title for name, column in point.columns.items()}
    controls = [
        choice("point", "Point", points, point.point, 140),
        choice("fview", "Picture", views, point.view, 200),
        choice("fcolour", "Colour", colours, shown.colour.column.name, 170),
        search_controls(place),
    ]
    meaning = legend_line(shown.legend, roles=ROLES, rest=shown.colour.rest)
    return controls, [meaning, *_no_predictions(point), *_selected(point), *no_hits(place)]


def _no_predictions(point: ShownPoint) -> list[html.P]:
    if point.columns.keys() == point.shown.columns.keys():
        return []
    return [html.P(NO_PREDICTIONS, className="caption")]


def _selected(point: ShownPoint) -> list[html.P]:
    if not point.shown.selection:
        return []
    count, drawn = int(point.shown.selected.sum()), point.shown.tokens
    return [
        html.P(
            f"{count:,} of {drawn:,} drawn tokens selected, the same in both.",
            className="count of-picture",
            role="status",
        )
    ]


def below_point(place: Place, two: Two) -> list[object]:
    """Captions of the pictures: sample, alignment and fidelity."""
    point = ShownPoint.of(place, two)
    if point is None:
        return []
    apart = point_places(two, point.both, point.view, point.point).apart
    return [
        caption(
            f"{point.both.tokens:,} of {two.tokens:,} tokens, the same in both. {_title(point, point.view)}, fitted for each model; the other model's "
            f"points are aligned to this one's (orthogonal Procrustes), with a mean distance of {100 * apart:.1f} % of the side. {_trustworthiness(two, point)}"
        ),
        html.P(
            "Hover a token for its card; it is ringed in both panels. A click opens the point in that model.",
            className="caption",
        ),
    ]


def _trustworthiness(two: Two, point: ShownPoint) -> str:
    """Trustworthiness of each model's own picture of the point."""
    models = zip((point.both.own, point.both.other), two.names, strict=True)
    trust = {name: float(features.view(point.view).trustworthiness.sel(point=point.point)) for features, name in models}
    values = " and ".join(f"{value:.2f} in {name}" for name, value in trust.items() if value == value)
    return f"{TRUST}: {values}." if values else ""


def _title(point: ShownPoint, view: str) -> str:
    return str(point.both.own.view(view).attrs["title"])
