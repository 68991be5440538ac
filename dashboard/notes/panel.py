"""Notes on one thing of a page: closed until they are asked for, and read by the browser after the page."""

from collections.abc import Mapping
from typing import Any

from dash import html

from dashboard.notes.target import Target
from dashboard.ui.component import BrowserComponent

EMPTY = "There is no note yet."


class NotePanel(BrowserComponent):
    """A list of notes and, for an author, what writes them. Its JavaScript is in assets/notes/component.mjs.

    Parameters
    ----------
    id
        Dash id.
    about
        `target`: the key of what the notes are on. Instead, `search`: the fields by which page Notes finds them. `title`:
        the line that opens the list; without it the list is open. `empty`: what stands there without notes. `parts`: several
        targets below one title, each with a title of its own.
    """

    properties = ("id", "about")


class SavedViews(BrowserComponent):
    """The saved views, the newest first. Its JavaScript is in assets/notes/component.mjs.

    Parameters
    ----------
    id
        Dash id.
    """

    properties = ("id",)


def noted_legend() -> html.Span:
    """What the mark of a noted point is; seen where a point has it, in a room of its own (assets/notes.css)."""
    return html.Span([html.Span(className="over noted"), "token with notes"], className="chip noted-legend")


def note_panel(place: str, target: Target, title: str | None = "Notes") -> NotePanel:
    """Notes on a target, open where they have no title; `place` tells the panels of a page apart."""
    return NotePanel(id=f"notes-{place}", about=_about(target, title))


def note_panels(place: str, targets: Mapping[str, Target], title: str) -> NotePanel:
    """Notes on several targets, by their titles, below one line that opens them."""
    parts = [_about(target, name) for name, target in targets.items()]
    return NotePanel(id=f"notes-{place}", about={"title": title, "parts": parts})


def _about(target: Target, title: str | None) -> dict[str, Any]:
    return {"target": target.key, "title": title, "empty": EMPTY}
