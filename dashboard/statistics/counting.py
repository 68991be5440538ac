"""Callbacks of a page that waits for a count: its numbers, how far they are, Cancel."""

from dash import MATCH, Dash, Input, Output, State

from dashboard import shell
from dashboard.statistics import page as statistics
from dashboard.statistics.count_progress import CountProgress
from dashboard.statistics.part_progress import CANCEL, CLOCK, NUMBERS, STATE, part_id, state, uncounted
from dashboard.ui.markup import condensed
from dashboard.web.callbacks import STANDING, Named, Shown, Text, snapshot_of, typed
from dashboard.web.errors import Refusal
from dashboard.web.library import Library
from dashboard.web.view import find


def register(app: Dash, library: Library) -> None:
    """Add the callbacks. Each finds a count by its name: another process of the server may be the one that counts."""
    _fill_numbers(app, library)
    _follow_count(app, library)


def _fill_numbers(app: Dash, library: Library) -> None:
    @app.callback(
        Output(part_id(NUMBERS, MATCH), "children"),
        Input(part_id(NUMBERS, MATCH), "id"),
        *STANDING,
    )
    @typed
    def fill(asked: Named, pathname: Text | None, search: Text | None, shown: Shown | None) -> list[object]:
        try:
            with library.get(CountProgress).counting(asked.name) as counting:
                place = find(library, pathname, search, snapshot_of(shown))
                return condensed(statistics.numbers(place, counting), "numbers")
        except Refusal as refusal:
            return uncounted(str(refusal), f"{pathname or ''}{search or ''}")
        except Exception as error:
            return [shell.problem(error)]


def _follow_count(app: Dash, library: Library) -> None:
    @app.callback(
        Output(part_id(STATE, MATCH), "children"),
        Input(part_id(CLOCK, MATCH), "n_intervals"),
        State(part_id(CLOCK, MATCH), "id"),
        prevent_initial_call=True,
    )
    @typed
    def look(_count: int | None, asked: Named) -> list[object]:
        return state(library.get(CountProgress).find(asked.name))

    @app.callback(
        Output(part_id(CANCEL, MATCH), "disabled"),
        Input(part_id(CANCEL, MATCH), "n_clicks"),
        State(part_id(CANCEL, MATCH), "id"),
        prevent_initial_call=True,
    )
    @typed
    def cancel(clicks: int | None, asked: Named) -> bool:
        if clicks:
            library.get(CountProgress).cancel(asked.name)
        return bool(clicks)
