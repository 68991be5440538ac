"""Page Compare: two models of the store on the same corpus, their heads, pictures and sentences side by side."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.canvas.spec import Picture
from dashboard.compare.data import head_divergence_is_cached
from dashboard.compare.feature_points import (
    SIMILARITY,
    ShownPoint,
    below_point,
    both_features,
    point_controls,
    point_notices,
    point_picture,
    similarity_panel,
)
from dashboard.compare.head_differences import CHANGES, changed_heads, differences, is_computed, means_over_heads
from dashboard.compare.picture import (
    both_picture,
    both_places,
    common_views,
    drawn_of_both,
    picture_notices,
    selected_in_both,
    shown_points_of,
    shown_view,
)
from dashboard.compare.sentences import DIVERGENCE, patterns, ranked_by, search_in_both, standard_ranking
from dashboard.compare.two_models import ModelPair, is_cached, pair_of, pictures_of
from dashboard.points.captions import caption, head_fidelity_caption
from dashboard.points.colours import legend_line, marks_line
from dashboard.points.controls import colour_choice, count_line, selection_count
from dashboard.points.search_results import no_hits
from dashboard.points.shown_points import ShownPoints
from dashboard.sentence.finder import finder
from dashboard.ui.controls import choice, head_choices, info, search_controls, statistic_choice, view_choices
from dashboard.ui.page import Page, deferred
from dashboard.ui.progress import unmade
from dashboard.ui.text import QUERIES
from dashboard.web.state import telling
from dashboard.web.view import Place, on_same_corpus
from store import STATISTICS

#: Kinds of pictures.
PICTURES = {"head": "a head", "point": "a feature point"}
TITLE = "Two models on one corpus"
MAKE_SECOND_MODEL = "Run `make finetune`, then `make ingest MODEL=data/finetuned`."
RANKED = {"divergence": "attention divergence", "statistic": "difference of the statistic"}
COMPUTING = "Computing divergences and their intervals from the stored queries and keys of both models. This takes some seconds."
COMPUTING_SENTENCES = "Computing the divergence of the head in every sentence. This takes a second."
COMPUTING_POINTS = "Computing the similarity of the same tokens' vectors at every point. This takes some seconds."


def choices(place: Place) -> tuple[dict[str, object], dict[str, object]]:
    """The values of the controls and their defaults; empty without a second model."""
    two = pair_of(place)
    if two is None:
        return {}, {}
    current: dict[str, object] = {"other": two.other.name}
    defaults: dict[str, object] = {"other": on_same_corpus(place.snapshot, place.corpus)[0]}
    if two.same_heads:
        current["by"], defaults["by"] = ranked_by(place, two), standard_ranking(two)
    if view := shown_view(place, two):
        current["view"] = view
    if found := ShownPoint.of(place, two):
        current |= {"point": found.point, "fview": found.view, "fcolour": found.shown.colour.column.name}
        defaults |= {"point": found.both.points[-1], "fview": found.both.own.views[0]}
    return current, defaults


def above_pictures(place: Place, two: ModelPair) -> list[object]:
    """Title, controls and legend of the pictures, or why there are none."""
    of_point = pictures_of(place, two) == "point"
    controls, below = point_controls(place, two) if of_point else _head_controls(place, two)
    of = [choice("pictures", "Pictures of", PICTURES, place.address.pictures, 130)] if two.same_heads else []
    title = html.H2("Pictures in both models", id="pictures-of-both")
    return [title, html.Div([*of, *controls], className="controls"), *below]


def below_pictures(place: Place, two: ModelPair) -> list[object]:
    """Captions of the pictures: sample, alignment and fidelity."""
    return below_point(place, two) if pictures_of(place, two) == "point" else _below_head(place, two)


def _head_controls(place: Place, two: ModelPair) -> tuple[list[Any], list[Any]]:
    """The controls, and what is below them."""
    view, heads = shown_view(place, two), head_choices(place)
    if view is None:
        missing = "The models have no view in common."
        return heads, [html.P(unmade(place, missing, "Run `make projections` with each of them."), role="status")]
    points, views = shown_points_of(place, two), view_choices(view, common_views(two))
    colours = legend_line(points.legend) if points.coloured else marks_line()
    return [*heads, *views, colour_choice(place), search_controls(place)], [
        colours,
        _selected(place, two, points),
        *no_hits(place),
    ]


def _selected(place: Place, two: ModelPair, points: ShownPoints) -> html.P:
    """How many points are selected in each panel; conditions on a head's statistics select others in each model."""
    if not points.selection:
        return selection_count(points)
    own, other = drawn_of_both(two, place.address.layer, place.address.head, place.address.tokens)
    counts = selected_in_both(own, other, points.selection).sum(axis=(1, 2))
    drawn = 2 * len(own.rows)
    each = [f"{count:,} of {drawn:,} in {name}" for count, name in zip(counts, two.names, strict=True)]
    return count_line(points, f"Selected of the drawn queries and keys: {' and '.join(each)}.")


def _below_head(place: Place, two: ModelPair) -> list[object]:
    view, address = shown_view(place, two), place.address
    if view is None:
        return []
    aligned = both_places(two, view, address.layer, address.head, address.tokens)
    shown = aligned.places.shape[1]
    title = two.own.view(view).attrs["title"]
    return [
        caption(
            f"{shown:,} of {two.tokens:,} tokens, the same in both. {title}, fitted for each model; the other model's points are aligned to this "
            f"one's (orthogonal Procrustes), with a mean distance of {100 * aligned.apart:.1f} % of the side; one colour scale."
        ),
        *_faithful(place, two, view),
        html.P(
            "Hover a token for its card, or press P, then Shift with the arrow keys; the same token is ringed in both panels. A click opens "
            "the head in that model.",
            className="caption",
        ),
    ]


def _faithful(place: Place, two: ModelPair, view: str) -> list[html.P]:
    address = place.address
    models = zip((two.own, two.other), two.names, strict=True)
    return [head_fidelity_caption(model, view, address.layer, address.head, of=f", {name}") for model, name in models]


def picture(place: Place) -> Picture | None:
    """The picture of both models."""
    two = pair_of(place)
    if two is None:
        return None
    return point_picture(place, two) if pictures_of(place, two) == "point" else both_picture(place, two)


def layout(place: Place) -> Page:
    """The page of a link."""
    two = pair_of(place)
    return _without_other(place) if two is None else _of_two(place, two)


def deferred_changes(place: Place) -> list[object]:
    """The heads that changed most."""
    two = pair_of(place)
    return changed_heads(place, two) if two and two.same_heads else []


def deferred_similarity(place: Place) -> list[object]:
    """The similarity of the feature points."""
    two = pair_of(place)
    return similarity_panel(place, two) if two else []


def deferred_sentences(place: Place) -> list[object]:
    """The sentences in which the head of the link changed most, or those of a search."""
    two = pair_of(place)
    return finder(place, search_in_both(place, two)) if two and two.same_heads else []


def _without_other(place: Place) -> Page:
    name = place.corpus.attributes["model_id"]
    missing = (
        f"The store has one model on this corpus, {name}. Ingest a second one to compare them: another checkpoint with the same "
        "tokenizer on the same sentences, such as this model fine-tuned on the review labels."
    )
    text = html.P(unmade(place, missing, MAKE_SECOND_MODEL))
    return Page(above=[html.H1(TITLE), dmc.Alert(text, color="blue", variant="light", id="no-other")])


def _of_two(place: Place, two: ModelPair) -> Page:
    unlike = [dmc.Alert(text, color="orange", variant="light", mb="sm") for text in two.differences()]
    above = [html.H1(TITLE), _which(place, two), *unlike, *_heads(place, two), *above_pictures(place, two)]
    notices = _notices(place, two)
    below = [*below_pictures(place, two), *_sentences(place, two), *_points(place, two)]
    return Page(above=above, below=below, notices=notices)


def _notices(place: Place, two: ModelPair) -> tuple[str, ...]:
    """Notices on what of the link is ignored."""
    return point_notices(place, two) if pictures_of(place, two) == "point" else picture_notices(place, two)


def _sentences(place: Place, two: ModelPair) -> list[object]:
    layer, head = place.address.layer, place.address.head
    if not two.same_heads:
        return []
    ready = ranked_by(place, two) != DIVERGENCE or head_divergence_is_cached(two, layer, head)
    finding = deferred("sentences", COMPUTING_SENTENCES, ready, lambda: finder(place, search_in_both(place, two)))
    return [*patterns(place, two), html.H3("Find a sentence"), finding]


def _which(place: Place, two: ModelPair) -> html.Div:
    """The choice of the other model, the names of both, and a link that swaps them."""
    others = on_same_corpus(place.snapshot, place.corpus)
    models = {name: str(place.snapshot.models[name]["model_id"]) for name in others}
    repeated = {name: f"{title} ({name})" for name, title in models.items() if list(models.values()).count(title) > 1}
    swapped = place.address.with_(model=two.other.name, other=two.own.name)
    own, other = two.names
    return html.Div(
        [
            choice("other", "Other model", models | repeated, two.other.name, 300),
            html.P(["This: ", html.Strong(own), ", other: ", html.Strong(other), ". "]),
            dcc.Link("Swap", href=swapped.href),
        ],
        className="controls which",
    )


def _heads(place: Place, two: ModelPair) -> list[object]:
    if not two.same_heads:
        return [
            html.H2("Means over all heads"),
            html.Div(_source(place), className="controls"),
            means_over_heads(place, two),
        ]
    counted = deferred("changes", COMPUTING, is_computed(place, two), lambda: changed_heads(place, two))
    return [
        html.H2(["Heads that changed most", info("heads that changed most", CHANGES)]),
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
            statistic_choice("statistic", "Statistic", statistics, address.statistic, 230),
            _source(place),
        ],
        className="controls",
    )


def _source(place: Place) -> dmc.Select:
    return choice("source", "Mean over", QUERIES, place.address.source, 160)


def _points(place: Place, two: ModelPair) -> list[object]:
    ready = is_cached(two, "likeness") or both_features(two) is None
    return [
        html.H2(["Feature points of both models", info("CKA and cosine", SIMILARITY)]),
        deferred("points", COMPUTING_POINTS, ready, lambda: similarity_panel(place, two)),
    ]
