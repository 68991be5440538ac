"""The pages: what a link shows, its picture and its texts in one answer, so that both are of the same head."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dash import html

from dashboard import shell
from dashboard.canvas.spec import Picture
from dashboard.topics import TOPICS
from dashboard.ui.markup import condensed
from dashboard.ui.page import problem
from dashboard.web.admission import reader_left
from dashboard.web.context import Context, resolve
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.library import Library

#: The status of what a person may not see; the browser shows its sentence instead of the page.
FORBIDDEN = 403


@dataclass(frozen=True)
class TabLink:
    """A link, and the snapshot that the tab shows; empty before its first page."""

    pathname: str
    search: str
    snapshot: str


def page_content(library: Library, link: TabLink) -> dict[str, Any]:
    """Everything on screen that a link changes, by the names that the browser's script reads."""
    try:
        context = resolve(library, link.pathname, link.search, link.snapshot)
        open_page = TOPICS[context.state.page].open
        context = open_page(context) if open_page else context
    except Exception as error:
        return {"picture": None, "sentence": None, "message": None} | _error_page(error)
    return _picture(context) | _text(context, link.search, library.newest)


def picture_of(context: Context) -> Picture | None:
    """What the canvas shows; None on a page without a picture, and where no picture has been computed."""
    picture = TOPICS[context.state.page].picture
    return picture(context) if picture else None


def after_picture_of(context: Context) -> list[object]:
    """What follows below the picture once it is painted."""
    after = TOPICS[context.state.page].after_picture
    return after(context) if after else []


def sentence_of(context: Context) -> dict[str, Any] | None:
    """What the views of a sentence show; None on other pages."""
    sentence = TOPICS[context.state.page].sentence
    return sentence(context) if sentence else None


def _picture(context: Context) -> dict[str, Any]:
    try:
        picture = _for_reader(picture_of, context)
        before = TOPICS[context.state.page].before_sentence
        message = condensed(before(context), "message") if before else None
        return {"picture": picture and picture.json(), "sentence": sentence_of(context), "message": message or None}
    except Exception as error:
        return {"picture": None, "sentence": None, "message": condensed([problem(error)], "message")}


def _text(context: Context, search: str, newest: str) -> dict[str, Any]:
    try:
        page = _for_reader(TOPICS[context.state.page].layout, context)
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
