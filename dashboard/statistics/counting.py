"""The wait for a count on page Statistics: its progress, Cancel, and the numbers once they are counted.

Progress is in small files, as any process of the server may be asked for it.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import dash_mantine_components as dmc
from dash import MATCH, Dash, Input, Output, State, dcc, html

from dashboard.statistics.parts import Counting, write_whole
from dashboard.ui.markup import condensed
from dashboard.ui.page import HEIGHT, problem
from dashboard.web.admission import reader_left
from dashboard.web.callbacks import STANDING, Named, Shown, Text, snapshot_of, validated
from dashboard.web.context import Context, resolve
from dashboard.web.errors import Refusal
from dashboard.web.library import Library

CANCELLED = "Counting was cancelled. Count again, or change the filter."
#: Seconds between two notes of how far a count is.
PAUSE = 0.1
_NAME = re.compile(r"[0-9a-f]{16}")
#: Milliseconds between two updates of the progress; most counts end before the first.
TICK = 300
#: The kind of each element, in its id beside the name of the count.
NUMBERS, STATE, CLOCK, CANCEL = "numbers", "state", "clock", "cancel"


class Cancelled(Refusal):
    """The reader pressed Cancel."""

    def __init__(self) -> None:
        super().__init__(CANCELLED, 409)


@dataclass(frozen=True)
class Progress:
    """How far a count is: the share that is done, 0 to 1, and the seconds since it began."""

    share: float
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds that it will take, at this rate; None where too little is done to say."""
        return self.seconds * (1 - self.share) / self.share if self.share > 0.05 else None


class CountProgress:
    """Notes on the counts that pages wait for, in a folder that all processes of the server share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of(cls, library: Library) -> "CountProgress":
        """Those of a library, in the folder of its server."""
        return cls(library.folder)

    def counting(self, name: str) -> "WatchedCounting":
        """The wait of a page; `name` is from `new_name`."""
        return WatchedCounting(self._folder, _checked(name))

    def find(self, name: str) -> Progress | None:
        """None where the count has not begun, or has ended."""
        try:
            noted = json.loads((self._folder / f"{_checked(name)}.progress").read_bytes())
        except FileNotFoundError:
            return None
        return Progress(noted["share"], max(0.0, time.time() - noted["began"]))

    def cancel(self, name: str) -> None:
        """End a count that waits or works; one that has ended stays as it is."""
        if (self._folder / f"{_checked(name)}.waits").exists():
            write_whole(self._folder / f"{name}.cancel", b"")


class WatchedCounting(Counting):
    """Notes how far the count is, and ends it where its reader cancelled it or left. A context manager: afterwards no note stays."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._began = self._noted = 0.0

    def __enter__(self) -> "WatchedCounting":
        write_whole(self._file("waits"), b"")
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        cancelled = self._file("cancel").exists()
        for kind in ("waits", "progress", "cancel"):
            self._file(kind).unlink(missing_ok=True)
        if cancelled and isinstance(error, Refusal):  # it may have waited for its turn
            raise Cancelled from error

    def begin(self) -> None:
        """Note when."""
        self._began = time.time()
        self._note(0.0)

    def watch(self, share: float) -> None:
        """Note the share, ten times a second at most."""
        if self.reader_left_or_cancelled:
            raise Cancelled
        if time.time() - self._noted >= PAUSE:
            self._note(share)

    @property
    def reader_left_or_cancelled(self) -> bool:
        """Whether the reader cancelled the count or left."""
        return self._file("cancel").exists() or reader_left()

    def _note(self, share: float) -> None:
        self._noted = time.time()
        write_whole(self._file("progress"), json.dumps({"share": share, "began": self._began}).encode())

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._name}.{kind}"


def new_name() -> str:
    """A name for a count that nobody guesses."""
    return token_hex(8)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Refusal("There is no such count. Reload the page.", 404)
    return name


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
    @validated
    def fill(count: Named, pathname: Text | None, search: Text | None, shown: Shown | None) -> list[object]:
        try:
            with library.get(CountProgress).counting(count.name) as counting:
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
    @validated
    def look(_ticks: int | None, count: Named) -> list[object]:
        return _progress(library.get(CountProgress).find(count.name))

    @app.callback(
        Output(_id(CANCEL, MATCH), "disabled"),
        Input(_id(CANCEL, MATCH), "n_clicks"),
        State(_id(CANCEL, MATCH), "id"),
        prevent_initial_call=True,
    )
    @validated
    def cancel(clicks: int | None, count: Named) -> bool:
        if clicks:
            library.get(CountProgress).cancel(count.name)
        return bool(clicks)


def _id(kind: str, name: Any) -> dict[str, Any]:
    """The id of an element of a count by its name, or of any count by Dash's wildcard."""
    return {"count": kind, "name": name}


def _progress(progress: Progress | None) -> list[object]:
    if progress is None:
        return [html.P("Waiting for another count to end.")]
    left = "" if progress.left is None else f", about {max(1, round(progress.left))} s left"
    bar = dmc.Progress(value=100 * progress.share, **{"aria-label": "Progress of the count"})
    return [html.P(f"Counting these tokens: {100 * progress.share:.0f} %{left}."), bar]


def _uncounted(reason: str, href: str) -> list[object]:
    """Why there are no numbers, and a link to count again."""
    return [dmc.Alert([reason, " ", html.A("Count again", href=href)], color="orange", variant="light")]
