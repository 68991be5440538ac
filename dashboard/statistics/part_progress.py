"""What stands in the place of numbers while a part of the corpus is counted: how far it is, and a way to cancel it."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.statistics.count_progress import Progress, new_name
from dashboard.ui.deferred import HEIGHT

#: Milliseconds between two looks at how far a count is; most counts end before the first.
TICK = 300
#: What each element is, in its id: beside it stands the name of the count.
NUMBERS, STATE, CLOCK, CANCEL = "numbers", "state", "clock", "cancel"


def counting_place() -> html.Div:
    """The place of the numbers; the page's callbacks (`dashboard.statistics.counting`) fill it and say how far they are."""
    name = new_name()
    waits = [
        html.Div(id=part_id(STATE, name), role="status"),
        dmc.Button("Cancel", id=part_id(CANCEL, name), size="compact-xs", variant="default", className="cancel"),
        dcc.Interval(id=part_id(CLOCK, name), interval=TICK),
    ]
    return html.Div(waits, id=part_id(NUMBERS, name), className="counting", style={"minHeight": HEIGHT})


def part_id(what: str, name: Any) -> dict[str, Any]:
    """The id of an element of a count by its name, or of any count by Dash's wildcard."""
    return {"count": what, "name": name}


def state(progress: Progress | None) -> list[object]:
    """How far it is."""
    if progress is None:
        return [html.P("Waiting for another count to end.")]
    left = "" if progress.left is None else f", about {max(1, round(progress.left))} s left"
    bar = dmc.Progress(value=100 * progress.share, **{"aria-label": "Share that is counted"})
    return [html.P(f"Counting these tokens: {100 * progress.share:.0f} %{left}."), bar]


def uncounted(sentence: str, href: str) -> list[object]:
    """Why there are no numbers, and how to count again."""
    return [dmc.Alert([sentence, " ", html.A("Count again", href=href)], color="orange", variant="light")]
