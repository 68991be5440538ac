"""The pages: what a link shows, its picture and its texts in one answer, so that both are of the same head."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dash import html

from dashboard import shell
from dashboard.canvas.spec import Picture
from dashboard.compare import page as compare
from dashboard.compare import typed
from dashboard.features import page as features
from dashboard.head_map import page as head_map
from dashboard.notes import page as notes
from dashboard.overview import page as overview
from dashboard.points import page as points
from dashboard.points import similar
from dashboard.relations import example as relations_by_example
from dashboard.relations import page as relations
from dashboard.sentence import page as sentence
from dashboard.sentence.opening import opened
from dashboard.sentence.sentence_positions import head_positions
from dashboard.server_page.page import server
from dashboard.statistics import page as statistics
from dashboard.statistics.head_panel import head_statistics
from dashboard.store_page import page as store_page
from dashboard.ui.markup import condensed
from dashboard.ui.page import Page, problem
from dashboard.web.admission import reader_left
from dashboard.web.context import Context, resolve
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.library import Library

PAGES: dict[str, Callable[[Context], Page]] = {
    "overview": overview.layout,
    "heads": points.all_heads,
    "head": partial(points.one_head, statistics=head_statistics, positions=head_positions),
    "statistics": statistics.layout,
    "map": head_map.layout,
    "relations": relations.layout,
    "features": features.layout,
    "sentence": sentence.layout,
    "compare": compare.layout,
    "notes": notes.layout,
    "store": store_page.layout,
    "server": server,
}
PICTURES = {"heads": points.picture_of_heads, "head": points.picture_of_head, "compare": compare.picture}
#: The status of what a person may not see; the browser shows its sentence instead of the page.
FORBIDDEN = 403
#: Parts of pages that may take long and are filled after the page, by their names.
DEFERRED = {
    part.name: part
    for part in (
        overview.CARDS,
        overview.UNUSUAL,
        relations.RANKED,
        relations.EXAMPLES,
        relations_by_example.MARKED,
        similar.SIMILAR,
        sentence.FOUND,
        sentence.TYPED,
        compare.CHANGED,
        compare.LARGEST,
        compare.SENTENCES,
        compare.SIMILAR_POINTS,
        typed.TYPED,
    )
}


@dataclass(frozen=True)
class TabLink:
    """A link, and the snapshot that the tab shows; empty before its first page."""

    pathname: str
    search: str
    snapshot: str


def page_content(library: Library, link: TabLink) -> dict[str, Any]:
    """Everything on screen that a link changes, by the names that the browser's script reads."""
    try:
        context = opened(resolve(library, link.pathname, link.search, link.snapshot))
    except Exception as error:
        return {"picture": None, "sentence": None, "message": None} | _error_page(error)
    return _picture(context) | _text(context, link.search, library.newest)


def picture_of(context: Context) -> Picture | None:
    """What the canvas shows; None on a page without a picture, and where no picture has been computed."""
    if context.state.page == "features":
        return features.picture(context)
    drawn = PICTURES.get(context.state.page)
    return drawn(context) if drawn and context.corpus.views else None


def after_picture_of(context: Context) -> list[object]:
    """What follows below the picture once it is painted."""
    return features.after_picture(context) if context.state.page == "features" else []


def sentence_of(context: Context) -> dict[str, Any] | None:
    """What the views of a sentence show; None on other pages."""
    return sentence.picture(context) if context.state.page == "sentence" else None


def _picture(context: Context) -> dict[str, Any]:
    try:
        picture = _for_reader(picture_of, context)
        message = condensed(sentence.before_views(context), "message") if context.state.page == "sentence" else None
        return {"picture": picture and picture.json(), "sentence": sentence_of(context), "message": message or None}
    except Exception as error:
        return {"picture": None, "sentence": None, "message": condensed([problem(error)], "message")}


def _text(context: Context, search: str, newest: str) -> dict[str, Any]:
    try:
        page = _for_reader(PAGES[context.state.page], context)
        above = [*shell.notices(context, page.notices), *page.above]
        parts = {"above": above, "beside": page.beside, "below": page.below}
        parts |= {"navigation": shell.navigation(context), "drawer": shell.drawer(context, newest)}
        parts |= {"header": shell.what_is_shown(context, newest)}
        return _condensed(parts) | {"shown": shell.shown(context, search, page.notices)}
    except Exception as error:
        if isinstance(error, Refusal) and error.status == FORBIDDEN:
            raise
        return _error_page(error)


def _for_reader(part: Callable[[Context], Any], context: Context) -> Any:
    """A part of the page; not computed where the reader has gone to another page meanwhile."""
    if reader_left():
        raise ReaderLeft
    return part(context)


def _condensed(parts: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: condensed(part, name) for name, part in parts.items()}


def _error_page(error: Exception) -> dict[str, Any]:
    """What is wrong instead of the page; navigation and header stay."""
    above = [html.H1("Headscape"), problem(error)]
    return _condensed({"above": above, "beside": [], "below": []})
