"""What a page shows at a link: its picture and its parts, in one answer, so that a title never names another head than its picture."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dash import html

from dashboard import shell
from dashboard.pages import PAGES, picture_of, sentence_of
from dashboard.ui.markup import condensed
from dashboard.ui.page import problem
from dashboard.web.admission import asker_gone
from dashboard.web.errors import ReaderLeft
from dashboard.web.library import Library
from dashboard.web.view import Place, find


@dataclass(frozen=True)
class Asked:
    """A link, and the snapshot of the tab that follows it: the newest where it has none yet."""

    pathname: str
    search: str
    snapshot: str


def written(library: Library, asked: Asked) -> dict[str, Any]:
    """Everything that a link changes, by the names that assets/page/follow.js knows."""
    try:
        place = find(library, asked.pathname, asked.search, asked.snapshot)
    except Exception as error:
        return {"picture": None, "sentence": None, "said": None} | _nowhere(error)
    return _picture(place) | _text(place, asked.search, library.newest)


def _picture(place: Place) -> dict[str, Any]:
    try:
        return {"picture": _asked_still(picture_of, place), "sentence": sentence_of(place), "said": None}
    except Exception as error:
        return {"picture": None, "sentence": None, "said": condensed([problem(error)], "said")}


def _text(place: Place, search: str, newest: str) -> dict[str, Any]:
    try:
        page = _asked_still(PAGES[place.address.page], place)
        above = [*shell.notices(place, page.notices), *page.above]
        parts = {"above": above, "beside": page.beside, "below": page.below}
        parts |= {"navigation": shell.navigation(place), "drawer": shell.drawer(place, newest)}
        parts |= {"header": shell.what_is_shown(place, newest)}
        return _condensed(parts) | {"shown": shell.shown(place, search)}
    except Exception as error:
        return _nowhere(error)


def _asked_still(part: Callable[[Place], Any], place: Place) -> Any:
    """A part of the page, where its reader has not gone on to another one meanwhile."""
    if asker_gone():
        raise ReaderLeft
    return part(place)


def _condensed(parts: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: condensed(part, name) for name, part in parts.items()}


def _nowhere(error: Exception) -> dict[str, Any]:
    """One sentence instead of a page; what is around it stays."""
    above = [html.H1("Headscape"), problem(error)]
    return _condensed({"above": above, "beside": [], "below": []})
