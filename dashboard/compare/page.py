"""Page Compare: two models of the store on the same corpus, their heads, pictures and sentences side by side."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.compare.changes_panel import changed_heads, is_counted
from dashboard.compare.differences import differences, means_over_heads
from dashboard.compare.divergence import head_divergence_is_kept
from dashboard.compare.feature_points import both_features
from dashboard.compare.features import likeness
from dashboard.compare.kept import is_kept
from dashboard.compare.patterns import patterns
from dashboard.compare.picture import both_picture, picture_notices
from dashboard.compare.pictures import above_pictures, below_pictures
from dashboard.compare.point_picture import point_notices, point_picture
from dashboard.compare.search import DIVERGENCE, ranked_by, search_in_both
from dashboard.compare.two import Two, pictures_of, two_of
from dashboard.sentence.finder_panel import finder
from dashboard.statistics.definitions import ROWS, telling
from dashboard.ui.controls import choice
from dashboard.ui.deferred import later
from dashboard.ui.page import Page
from dashboard.ui.under_way import unmade
from dashboard.web.view import Place, on_same_corpus
from store import STATISTICS

TITLE = "Two models on one corpus"
MAKE_SECOND_MODEL = "Run `make finetune`, then `make ingest MODEL=data/finetuned`."
RANKED = {"divergence": "divergence of attention", "statistic": "difference of the statistic"}
COUNTING = (
    "Being counted: divergences from the stored queries and keys of both models, and their intervals. Some seconds."
)
COUNTING_SENTENCES = "Being counted: how far the head's patterns of every sentence are apart. A second."
COUNTING_POINTS = "Being counted: how alike the vectors of the same tokens are at every point. Some seconds."


def picture(place: Place) -> dict[str, Any] | None:
    """What the canvas shows."""
    two = two_of(place)
    if two is None:
        return None
    return point_picture(place, two) if pictures_of(place, two) == "point" else both_picture(place, two)


def layout(place: Place) -> Page:
    """The page at a place."""
    two = two_of(place)
    return _without_other(place) if two is None else _of_two(place, two)


def later_part(place: Place) -> list[object]:
    """The heads that changed most, once they are counted."""
    two = two_of(place)
    return changed_heads(place, two) if two and two.same_heads else []


def later_points(place: Place) -> list[object]:
    """How alike feature points are."""
    two = two_of(place)
    return likeness(place, two) if two else []


def later_sentences(place: Place) -> list[object]:
    """The sentences in which the chosen head changed most, or others that are sought."""
    two = two_of(place)
    return finder(place, search_in_both(place, two)) if two and two.same_heads else []


def _without_other(place: Place) -> Page:
    name = place.corpus.attributes["model_id"]
    missing = (
        f"The store holds one model on this corpus, {name}. A second one can be compared with it: another checkpoint with the same "
        "tokenizer, run on the same sentences, such as this model fine-tuned on the labels of the reviews."
    )
    said = html.P(unmade(place, missing, MAKE_SECOND_MODEL))
    return Page(above=[html.H1(TITLE), dmc.Alert(said, color="blue", variant="light", id="no-other")])


def _of_two(place: Place, two: Two) -> Page:
    unlike = [dmc.Alert(said, color="orange", variant="light", mb="sm") for said in two.differences()]
    above = [html.H1(TITLE), _which(place, two), *unlike, *_heads(place, two), *above_pictures(place, two)]
    notices = _notices(place, two)
    below = [*below_pictures(place, two), *_sentences(place, two), *_points(place, two)]
    return Page(above=above, below=below, notices=notices)


def _notices(place: Place, two: Two) -> tuple[str, ...]:
    """What of the link cannot be followed."""
    return point_notices(place, two) if pictures_of(place, two) == "point" else picture_notices(place, two)


def _sentences(place: Place, two: Two) -> list[object]:
    layer, head = place.address.layer, place.address.head
    if not two.same_heads:
        return []
    ready = ranked_by(place, two) != DIVERGENCE or head_divergence_is_kept(two, layer, head)
    found = later("sentences", COUNTING_SENTENCES, ready, lambda: finder(place, search_in_both(place, two)))
    return [*patterns(place, two), html.H3("Find a sentence in both"), found]


def _which(place: Place, two: Two) -> html.Div:
    """Which two, and the same with their places changed."""
    others = on_same_corpus(place.snapshot, place.corpus)
    models = {name: str(place.snapshot.models[name]["model_id"]) for name in others}
    repeated = {name: f"{title} ({name})" for name, title in models.items() if list(models.values()).count(title) > 1}
    swapped = place.address.with_(model=two.other.name, other=two.own.name)
    own, other = two.names
    return html.Div(
        [
            choice("other", "Other model", models | repeated, two.other.name, 300),
            html.P(["This: ", html.Strong(own), ", other: ", html.Strong(other), ". "]),
            dcc.Link("Swap them", href=swapped.href),
        ],
        className="controls which",
    )


def _heads(place: Place, two: Two) -> list[object]:
    if not two.same_heads:
        return [
            html.H2("Means over all heads"),
            html.Div(_source(place), className="controls"),
            means_over_heads(place, two),
        ]
    counted = later("changes", COUNTING, is_counted(place, two), lambda: changed_heads(place, two))
    return [
        html.H2("Heads that changed most"),
        _choices(place),
        counted,
        html.H2("Differences of every head"),
        *differences(place, two),
        means_over_heads(place, two),
    ]


def _choices(place: Place) -> html.Div:
    address = place.address
    statistics = {name: STATISTICS[name].title for name in telling(address.source)}
    return html.Div(
        [
            choice("ranked", "Ranked by", RANKED, address.ranked, 210),
            choice("statistic", "Statistic", statistics, address.statistic, 230),
            _source(place),
        ],
        className="controls",
    )


def _source(place: Place) -> dmc.Select:
    return choice("source", "Mean over the rows of", ROWS, place.address.source, 160)


def _points(place: Place, two: Two) -> list[object]:
    ready = is_kept(two, "likeness") or both_features(two) is None
    return [html.H2("Feature points in both"), later("points", COUNTING_POINTS, ready, lambda: likeness(place, two))]
