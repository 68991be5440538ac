"""A part of a page that may take long: a skeleton of its size, filled once the page is painted, without moving anything.

`dashboard/waiting.py` fills it. A part that was computed before is on the page at once.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.ui.job import CANCEL, CLOCK, LATER, LATER_PAUSE, STATE, TICK, Kind, asks_again, new_name
from dashboard.ui.text import with_commands
from dashboard.web.cache import current_cache
from dashboard.web.context import Context

#: Pixels of a row of a table and of a line of text.
ROW, LINE = 30, 24
#: The kind of each element, in its id beside the name of the part and of the wait.
CONTENT, SAID, AGAIN, RETRIED = "content", "said", "again", "retried"
CANCELLED = "This was cancelled before it was computed."
#: Fields of a link that every part depends on, beside its own.
OF_EVERY_PART = ("model", "snapshot", "other")


@dataclass(frozen=True)
class DeferredPart:
    """A part by its name in ids, with its title after "Computing".

    Attributes
    ----------
    compute
        Its content. What takes long in it calls `dashboard.ui.job.watched`, to be cancelled.
    fields
        Fields of a link that its long work depends on: another value cancels the wait.
    height, narrow
        Pixels that are reserved for it, and in a narrow window.
    outline
        Its content without what takes long, where the skeleton is not just rows of a table, lines of text or a box.
    shape
        What the skeleton looks like: rows of a table, lines of text or the box of a chart.
    reloads
        Whether the page is fetched again once it is computed.
    """

    name: str
    title: str
    compute: Callable[[Context], list[object]]
    fields: tuple[str, ...]
    height: int
    narrow: int | None = None
    outline: Callable[[Context], list[object]] | None = None
    shape: Literal["rows", "lines", "box"] = "rows"
    reloads: bool = False

    @property
    def kind(self) -> Kind:
        """The job that computes it."""
        return Kind(self.name, f"Computing {self.title} ...", CANCELLED, None, (*OF_EVERY_PART, *self.fields))


def deferred(context: Context, part: DeferredPart, *, ready: bool | None = None) -> html.Div:
    """The part where it was computed before, or where it is `ready`; else its skeleton."""
    is_there = was_computed(context, part) if ready is None else ready
    content: Any = part.compute(context) if is_there else waiting(context, part)
    reserved = {"--height": f"{part.height}px", "--narrow": f"{part.narrow or part.height}px"}
    return html.Div(content, id={"place": part.name}, className="deferred", style=reserved)


def was_computed(context: Context, part: DeferredPart) -> bool:
    """Whether `computed` was called for the same part of a link before, not too long ago."""
    return current_cache().find(context.corpus, _key(context, part)) is not None


def computed(context: Context, part: DeferredPart) -> list[object]:
    """The content, computed now."""
    content = part.compute(context)
    current_cache().get(context.corpus, _key(context, part), lambda: True)
    return content


def _key(context: Context, part: DeferredPart) -> Hashable:
    return "deferred", part.name, *(context.state.fields[name] for name in part.fields)


def waiting(context: Context, part: DeferredPart) -> html.Div:
    """The skeleton, what is computed, and Cancel; the callbacks of `dashboard/waiting.py` replace it by the content."""
    name = new_name()
    clock = dcc.Interval(id=element_id(CLOCK, part.name, name), interval=TICK)
    cancel = dmc.Button(
        "Cancel", id=element_id(CANCEL, part.name, name), size="compact-xs", variant="default", className="cancel"
    )
    state = html.Div(f"Computing {part.title} ...", id=element_id(STATE, part.name, name), className="state")
    busy: Any = {"aria-busy": "true", "data-fields": " ".join(part.kind.fields)}
    skeleton = part.outline(context) if part.outline else [html.Div(className=f"skeleton {part.shape}")]
    content = [*skeleton, html.Div([cancel, state, clock], className="wait")]
    said = html.Div(f"Computing {part.title}.", id=element_id(SAID, part.name, name), role="status", className="said")
    return html.Div(
        [said, html.Div(html.Div(content, className="waiting", **busy), id=element_id(CONTENT, part.name, name))]
    )


def uncomputed(part: DeferredPart, wait: str, sentence: str) -> html.Div:
    """Why the part is not there, and a button that computes it again."""
    again = dmc.Button("Try again", id=element_id(AGAIN, part.name, wait), size="compact-xs", variant="default")
    alert = dmc.Alert([*with_commands(sentence), " ", again], color="orange", variant="light")
    clock = dcc.Interval(id=element_id(LATER, part.name, wait), disabled=True)
    return html.Div([alert, clock], id=element_id(RETRIED, part.name, wait))


def postponed(part: DeferredPart, wait: str, sentence: str) -> html.Div:
    """What keeps the part waiting, on its skeleton; the page asks again by itself, or at once where its reader wants it."""
    again = dmc.Button("Ask now", id=element_id(AGAIN, part.name, wait), size="compact-xs", variant="default")
    clock = dcc.Interval(id=element_id(LATER, part.name, wait), interval=LATER_PAUSE, max_intervals=1)
    state = html.Div([html.Div(asks_again(sentence), className="state"), again, clock], className="wait")
    return html.Div(
        [html.Div(className=f"skeleton {part.shape}"), state],
        id=element_id(RETRIED, part.name, wait),
        className="postponed",
    )


def element_id(kind: str, part: Any, wait: Any) -> dict[str, Any]:
    """The id of an element by its part and its wait, or of any by Dash's wildcards."""
    return {"deferred": part, "is": kind, "wait": wait}
