"""What stands round the pictures of one head in two models: which head, how it is drawn, and how the axes were made the same."""

from dash import html

from dashboard.compare.picture import chosen_of, shown_view
from dashboard.compare.places import both_places, common_views
from dashboard.compare.two import Two
from dashboard.controls import choices_of_views, colour_choice, head_choices, search_controls
from dashboard.pictures.filters import selection_count
from dashboard.pictures.legends import legend, marks
from dashboard.place import Place
from store.schema import head_name


def above_pictures(place: Place, two: Two) -> list[object]:
    """The title, the controls, and what colours mean; why there are no pictures, where there are none."""
    address = place.address
    title = html.H2(f"Pictures of {head_name(address.layer, address.head)} in both", id="pictures-of-both")
    heads = html.Div(head_choices(place), className="controls")
    if not two.has(address.layer, address.head):
        missing = (
            f"{two.names[1]} has layers 0 to {two.other.layers - 1} with heads 0 to {two.other.heads - 1}. Choose a head that both have, "
            "for its pictures and its patterns."
        )
        return [title, heads, html.P(missing, role="status")]
    view = shown_view(place, two)
    if view is None:
        return [
            title,
            heads,
            html.P("The models have no picture of one kind. Make it for both with `make projections`.", role="status"),
        ]
    return [title, *_controls(place, two, view)]


def _controls(place: Place, two: Two, view: str) -> list[object]:
    chosen = chosen_of(place, two)
    choices = [*head_choices(place), *choices_of_views(view, common_views(two)), colour_choice(place)]
    rows = [html.Div(choices, className="controls"), search_controls(place)]
    return [
        html.Div(rows, className="control-rows"),
        legend(chosen.legend) if chosen.coloured else marks(),
        selection_count(chosen),
    ]


def below_pictures(place: Place, two: Two) -> list[object]:
    """How to read them, n of N, and how well they lie on each other."""
    view, address = shown_view(place, two), place.address
    if view is None:
        return []
    found = both_places(two, view, address.layer, address.head, address.tokens)
    shown = found.places.shape[1]
    title = two.own.view(view).attrs["title"]
    return [
        html.P(
            f"Shown: the first {shown:,} of {two.tokens:,} tokens, the same in both. {title}, made for each model; the other's places were moved, "
            "turned or mirrored and scaled as a whole so that its queries and keys lie as near to this one's as they can (orthogonal "
            f"Procrustes). A token's two places are then {100 * found.apart:.1f} % of the side apart on average. Point at a token for its card; "
            "its twin has a ring too. A click opens the head in that model.",
            className="caption",
        )
    ]
