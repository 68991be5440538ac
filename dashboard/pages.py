"""The pages: each turns a place into what is written, and four of them into what is drawn."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dashboard.about import page as about
from dashboard.compare import page as compare
from dashboard.features import page as features
from dashboard.head_map import page as head_map
from dashboard.points import head_page as head
from dashboard.points import heads_page as heads
from dashboard.sentence import page as sentence
from dashboard.statistics import page as statistics
from dashboard.statistics.head_panel import head_statistics
from dashboard.ui.page import Page
from dashboard.web.view import Place

PAGES: dict[str, Callable[[Place], Page]] = {
    "heads": heads.layout,
    "head": partial(head.layout, statistics=head_statistics),
    "statistics": statistics.layout,
    "map": head_map.layout,
    "features": features.layout,
    "sentence": sentence.layout,
    "compare": compare.layout,
    "about": about.layout,
}
PICTURES = {"heads": heads.picture, "head": head.picture, "compare": compare.picture}
#: Parts of pages that take long, by their names (`dashboard.ui.page`).
LATER: dict[str, Callable[[Place], list[object]]] = {
    "changes": compare.later_part,
    "sentences": compare.later_sentences,
    "points": compare.later_points,
}


def picture_of(place: Place) -> dict[str, Any] | None:
    """What the canvas shows; None on a page without a picture, or where there are none yet."""
    if place.address.page == "features":
        return features.picture(place)
    drawn = PICTURES.get(place.address.page)
    return drawn(place) if drawn and place.corpus.views else None


def after_picture_of(place: Place) -> list[object]:
    """What a page shows below its picture once that is painted."""
    return features.after_picture(place) if place.address.page == "features" else []


def sentence_of(place: Place) -> dict[str, Any] | None:
    """What the views of a sentence show; None on another page."""
    return sentence.picture(place) if place.address.page == "sentence" else None
