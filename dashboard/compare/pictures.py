"""What stands round the pictures of a head or a feature point in two models: which, how it is drawn, on which axes."""

from typing import Any

from dash import html

from dashboard.compare.features import below_point, point_controls
from dashboard.compare.picture import chosen_of, shown_view
from dashboard.compare.places import both_places, common_views, drawn_of_both
from dashboard.compare.selected import selected_in_both
from dashboard.compare.two import Two, pictures_of
from dashboard.points.captions import caption, head_fidelity_caption
from dashboard.points.colours import legend_line, marks_line
from dashboard.points.filters import count_line, selection_count
from dashboard.points.search_results import no_hits
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.controls import choice, choices_of_views, colour_choice, head_choices, search_controls
from dashboard.ui.under_way import unmade
from dashboard.web.view import Place

#: Of what there are pictures in both models.
PICTURES = {"head": "a head", "point": "a feature point"}


def above_pictures(place: Place, two: Two) -> list[object]:
    """The title, the controls, and what colours mean; why there are no pictures, where there are none."""
    of_point = pictures_of(place, two) == "point"
    controls, below = point_controls(place, two) if of_point else _head_controls(place, two)
    of = [choice("pictures", "Pictures of", PICTURES, place.address.pictures, 130)] if two.same_heads else []
    title = html.H2("Pictures in both", id="pictures-of-both")
    return [title, html.Div([*of, *controls], className="controls"), *below]


def below_pictures(place: Place, two: Two) -> list[object]:
    """How to read them, n of N, and how well they lie on each other."""
    return below_point(place, two) if pictures_of(place, two) == "point" else _below_head(place, two)


def _head_controls(place: Place, two: Two) -> tuple[list[Any], list[Any]]:
    """The controls, and what stands below them."""
    view, heads = shown_view(place, two), head_choices(place)
    if view is None:
        missing = "The models have no picture of the same kind."
        return heads, [html.P(unmade(place, missing, "Run `make projections` with each of them."), role="status")]
    chosen, views = chosen_of(place, two), choices_of_views(view, common_views(two))
    colours = legend_line(chosen.legend) if chosen.coloured else marks_line()
    return [*heads, *views, colour_choice(place), search_controls(place)], [
        colours,
        _selected(place, two, chosen),
        *no_hits(place),
    ]


def _selected(place: Place, two: Two, chosen: ShownPoints) -> html.P:
    """How many points of each panel; a condition on what a head does is met by others in each model."""
    if not chosen.selection:
        return selection_count(chosen)
    own, other = drawn_of_both(two, place.address.layer, place.address.head, place.address.tokens)
    counts = selected_in_both(own, other, chosen.selection).sum(axis=(1, 2))
    drawn = 2 * len(own.rows)
    each = [f"{count:,} of {drawn:,} in {name}" for count, name in zip(counts, two.names, strict=True)]
    return count_line(chosen, f"Drawn queries and keys that are selected: {' and '.join(each)}.")


def _below_head(place: Place, two: Two) -> list[object]:
    view, address = shown_view(place, two), place.address
    if view is None:
        return []
    found = both_places(two, view, address.layer, address.head, address.tokens)
    shown = found.places.shape[1]
    title = two.own.view(view).attrs["title"]
    return [
        caption(
            f"Shown: the first {shown:,} of {two.tokens:,} tokens, the same in both. {title}, made for each model; the other's places were moved, "
            "turned or mirrored and scaled as a whole so that its queries and keys lie as near to this one's as they can (orthogonal "
            f"Procrustes). A token's two places are then {100 * found.apart:.1f} % of the side apart on average. Colours are on one scale."
        ),
        *_faithful(place, two, view),
        html.P(
            "Point at a token for its card, or press P and then Shift with the arrow keys; its twin has a ring too. A click opens the head in "
            "that model.",
            className="caption",
        ),
    ]


def _faithful(place: Place, two: Two, view: str) -> list[html.P]:
    address = place.address
    models = zip((two.own, two.other), two.names, strict=True)
    return [head_fidelity_caption(one, view, address.layer, address.head, of=f", {name}") for one, name in models]
