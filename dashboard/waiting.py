"""The callbacks of deferred parts: they fill a part, say how far it is, cancel it and try again."""

from collections.abc import Mapping

from dash import MATCH, Dash, Input, Output, State, set_props
from dash.exceptions import PreventUpdate
from flask import abort

from dashboard.ui.deferred import (
    AGAIN,
    CONTENT,
    RETRIED,
    SAID,
    DeferredPart,
    computed,
    element_id,
    postponed,
    uncomputed,
    waiting,
)
from dashboard.ui.job import CANCEL, CLOCK, LATER, STATE, JobNotes, progress_lines
from dashboard.ui.markup import condensed
from dashboard.web.context import resolve
from dashboard.web.errors import NotYet, sentence_for
from dashboard.web.http import STANDING, PartWait, Shown, Text, snapshot_of, validated
from dashboard.web.library import Library

Parts = Mapping[str, DeferredPart]
#: The store whose change fetches the page again.
RELOADED = "reloaded"


def register(app: Dash, library: Library, parts: Parts) -> None:
    """Add the callbacks. They find a wait by its name: another process of the server may be the one that computes."""
    _fill(app, library, parts)
    _follow(app, library, parts)
    _try_again(app, library, parts)


def _fill(app: Dash, library: Library, parts: Parts) -> None:
    @app.callback(
        Output(_any(CONTENT), "children"), Output(_any(SAID), "children"), Input(_any(CONTENT), "id"), *STANDING
    )
    @validated
    def fill(
        wanted: PartWait, pathname: Text | None, search: Text | None, shown: Shown | None
    ) -> tuple[list[object], str]:
        part = _part(parts, wanted)
        try:
            with library.get(JobNotes).job(wanted.wait, part.kind) as job:
                job.begin(f"Computing {part.title}")
                context = resolve(library, pathname, search, snapshot_of(shown))
                content = condensed(computed(context, part), part.name)
        except NotYet as later:
            return [postponed(part, wanted.wait, str(later))], ""
        except Exception as error:
            sentence, _ = sentence_for(error)
            return [uncomputed(part, wanted.wait, sentence)], sentence
        if part.reloads:
            set_props(RELOADED, {"data": wanted.wait})
        return content, f"Computed {part.title}."


def _follow(app: Dash, library: Library, parts: Parts) -> None:
    @app.callback(
        Output(_any(STATE), "children"),
        Input(_any(CLOCK), "n_intervals"),
        State(_any(CLOCK), "id"),
        prevent_initial_call=True,
    )
    @validated
    def look(_ticks: int | None, wanted: PartWait) -> list[object]:
        progress = library.get(JobNotes).find(wanted.wait)
        return [_part(parts, wanted).kind.waiting] if progress is None else progress_lines(progress)

    @app.callback(
        Output(_any(CANCEL), "disabled"),
        Input(_any(CANCEL), "n_clicks"),
        State(_any(CANCEL), "id"),
        prevent_initial_call=True,
    )
    @validated
    def cancel(clicks: int | None, wanted: PartWait) -> bool:
        if clicks:
            library.get(JobNotes).cancel(wanted.wait)
        return bool(clicks)


def _try_again(app: Dash, library: Library, parts: Parts) -> None:
    @app.callback(
        Output(_any(RETRIED), "children"),
        Input(_any(AGAIN), "n_clicks"),
        Input(_any(LATER), "n_intervals"),
        State(_any(AGAIN), "id"),
        *STANDING,
        prevent_initial_call=True,
    )
    @validated
    def again(
        clicks: int | None,
        ticks: int | None,
        wanted: PartWait,
        pathname: Text | None,
        search: Text | None,
        shown: Shown | None,
    ) -> list[object]:
        if not (clicks or ticks):  # Dash calls this for a button that has just appeared, too
            raise PreventUpdate
        return [waiting(resolve(library, pathname, search, snapshot_of(shown)), _part(parts, wanted))]


def _any(kind: str) -> dict[str, object]:
    return element_id(kind, MATCH, MATCH)


def _part(parts: Parts, wanted: PartWait) -> DeferredPart:
    if wanted.deferred not in parts:
        abort(404, "There is no such part of a page. Reload the page.")
    return parts[wanted.deferred]
