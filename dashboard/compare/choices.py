"""What the controls of the page stand at where the link does not say it."""

from dashboard.compare.picture import shown_view
from dashboard.compare.point_picture import ShownPoint
from dashboard.compare.search import ranked_by, standard_ranking
from dashboard.compare.two import two_of
from dashboard.web.view import Place, on_same_corpus


def choices(place: Place) -> tuple[dict[str, object], dict[str, object]]:
    """What they stand at, and where they stand by default; nothing where no second model is there."""
    two = two_of(place)
    if two is None:
        return {}, {}
    stand: dict[str, object] = {"other": two.other.name}
    standard: dict[str, object] = {"other": on_same_corpus(place.snapshot, place.corpus)[0]}
    if two.same_heads:
        stand["by"], standard["by"] = ranked_by(place, two), standard_ranking(two)
    if view := shown_view(place, two):
        stand["view"] = view
    if found := ShownPoint.of(place, two):
        stand |= {"point": found.point, "fview": found.view, "fcolour": found.shown.colour.column.name}
        standard |= {"point": found.both.points[-1], "fview": found.both.own.views[0]}
    return stand, standard
