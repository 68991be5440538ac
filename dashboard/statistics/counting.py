"""The wait for a count on page Statistics: its progress, Cancel, and the numbers once they are counted."""

from collections.abc import Callable
from typing import Any

import dash_mantine_components as dmc
from dash import MATCH, Dash, Input, Output, State, dcc, html

from dashboard.statistics.count_progress import CountProgress, Progress, new_name
from dashboard.statistics.counts import Counting
from dashboard.ui.markup import condensed
from dashboard.ui.page import HEIGHT, problem
from dashboard.web.callbacks import STANDING, Named, Shown, Text, snapshot_of, typed
from dashboard.web.context import Context, resolve
from dashboard.web.errors import Refusal
from dashboard.web.library import Library

#: Milliseconds between two updates of the progress; most counts end before the first.
TICK = 300
#: The kind of each element, in its id beside the name of the count.
NUMBERS, STATE, CLOCK, CANCEL = "numbers", "state", "clock", "cancel"


def counting_place() -> html.Div:
    """The placeholder of the numbers; the callbacks below fill it and show the progress."""
    name = new_name()
    waits = [
        html.Div(id=_id(STATE, name), role="status"),
        dmc.Button("Cancel", id=_id(CANCEL, name), size="compact-xs", variant="default", className="cancel"),
        dcc.Interval(id=_id(CLOCK, name), interval=TICK),
    ]
    return html.Div(waits, id=_id(NUMBERS, name), className="counting", style={"minHeight": HEIGHT})


def register(app: Dash, library: Library, numbers: Callable[[Context, Counting], list[object]]) -> None:
    """Add the callbacks. They find a count by its name: another process of the server may be the one that counts."""
    _fill_numbers(app, library, numbers)
    _follow_count(app, library)


def _fill_numbers(app: Dash, library: Library, numbers: Callable[[Context, Counting], list[object]]) -> None:
    @app.callback(Output(_id(NUMBERS, MATCH), "children"), Input(_id(NUMBERS, MATCH), "id"), *STANDING)
    @typed
    def fill(asked: Named, pathname: Text | None, search: Text | None, shown: Shown | None) -> list[object]:
        try:
            with library.get(CountProgress).counting(asked.name) as counting:
                context = resolve(library, pathname, search, snapshot_of(shown))
                return condensed(numbers(context, counting), "numbers")
        except Refusal as refusal:
            return _uncounted(str(refusal), f"{pathname or ''}{search or ''}")
        except Exception as error:
            return [problem(error)]


def _follow_count(app: Dash, library: Library) -> None:
    @app.callback(
        Output(_id(STATE, MATCH), "children"),
        Input(_id(CLOCK, MATCH), "n_intervals"),
        State(_id(CLOCK, MATCH), "id"),
        prevent_initial_call=True,
    )
    @typed
    def look(_count: int | None, asked: Named) -> list[object]:
        return _progress(library.get(CountProgress).find(asked.name))

    @app.callback(
        Output(_id(CANCEL, MATCH), "disabled"),
        Input(_id(CANCEL, MATCH), "n_clicks"),
        State(_id(CANCEL, MATCH), "id"),
        prevent_initial_call=True,
    )
    @typed
    def cancel(clicks: int | None, asked: Named) -> bool:
        if clicks:
            library.get(CountProgress).cancel(asked.name)
        return bool(clicks)


def _id(kind: str, name: Any) -> dict[str, Any]:
    """The id of an element of a count by its name, or of any count by Dash's wildcard."""
    return {"count": kind, "name": name}


def _progress(progress: Progress | None) -> list[object]:
    if progress is None:
        return [html.P("Waiting for another count to end.")]
    left = "" if progress.left is None else f", about {max(1, round(progress.left))} s left"
    bar = dmc.Progress(value=100 * progress.share, **{"aria-label": "Share that is counted"})
    return [html.P(f"Counting these tokens: {100 * progress.share:.0f} %{left}."), bar]


def _uncounted(reason: str, href: str) -> list[object]:
    """Why there are no numbers, and a link to count again."""
    return [dmc.Alert([reason, " ", html.A("Count again", href=href)], color="orange", variant="light")]
