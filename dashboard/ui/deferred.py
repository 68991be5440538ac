"""Deferred content of a page: parts that are filled once the page is painted, and jobs that a reader starts or waits for.

A part has a skeleton of its size, so that filling it moves nothing; a part that was computed before is on the page at once. A job
has a line of text until it is done. Both show their progress (`work.py`), can be cancelled, and can be requested again.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import dash_mantine_components as dmc
from dash import MATCH, Dash, Input, Output, State, dcc, html, set_props
from dash.exceptions import PreventUpdate
from flask import abort

from dashboard.ui.markup import condensed, problem
from dashboard.ui.text import with_commands
from dashboard.ui.work import Job, Jobs, Progress, WorkKind, new_name
from dashboard.web.context import Context, resolve
from dashboard.web.errors import NotYet, ReaderLeft, Refusal, sentence_for
from dashboard.web.http import STANDING, PartWait, Shown, Text, snapshot_of, validated
from dashboard.web.results import current_cache
from dashboard.web.served_store import ServedStore
from dashboard.web.special_names import in_names_of
from dashboard.web.state import LinkState
from store import Corpus

#: Height in pixels of a row of a table and of a line of text.
ROW, LINE = 30, 24
#: Kind of each element of a wait, in its id beside the part and the name of the wait: content of a part or of a job; line of
#: progress, its clock and Cancel; text for a screen reader; elements that request a job, or a part, again.
CONTENT, JOB = "content", "job"
STATE, CLOCK, CANCEL, STATUS = "state", "clock", "cancel", "said"
LATER_CLOCK, RETRY, RETRY_CLOCK, RETRY_PLACE = "later", "again", "retry", "retried"
#: Milliseconds between two updates of the progress (most work ends before the first), and before a page repeats a request that
#: a busy server refused.
TICK, LATER_PAUSE = 300, 2_000
CANCELLED = "This was cancelled before it was computed."
#: Fields of a link that every part depends on, besides the part's fields.
OF_EVERY_PART = ("model", "snapshot", "other")
#: Id of Dash's store whose change fetches the page again.
RELOADED = "reloaded"
T = TypeVar("T")
#: Computes the content of a part at a link.
Compute = Callable[[Context], list[object]]
#: Computes the content of a job.
Work = Callable[[Context, Job], list[object]]
#: Reads the context of the link in the address bar, with the snapshot that the browser's tab shows.
ReadLink = Callable[[Text | None, Text | None, Shown | None], Context]


@dataclass(frozen=True)
class DeferredPart:
    """A part that is filled after the page: its name in ids, and its title, which follows the word "Computing".

    Attributes
    ----------
    compute
        Makes its content. Long loops use `dashboard.ui.work.watched`, so that they can be cancelled.
    fields
        Fields of a link that its long work depends on: another value cancels the wait.
    height, narrow, middle
        Reserved height in pixels: in a wide window, in one as narrow as a telephone, and in one between, with a single column.
    outline
        Makes the skeleton from the quick parts of its content; None for a skeleton of the `shape` alone.
    shape
        Shape of the skeleton: rows of a table, lines of text or the box of a chart.
    reloads
        Whether the page is fetched again once it is computed.
    ready
        Whether the part can be computed with the page; None: only if it was computed before.
    """

    name: str
    title: str
    compute: Compute
    fields: tuple[str, ...]
    height: int
    narrow: int | None = None
    middle: int | None = None
    outline: Callable[[Corpus, LinkState], list[object]] | None = None
    shape: Literal["rows", "lines", "box"] = "rows"
    reloads: bool = False
    ready: Callable[[Corpus, LinkState], bool] | None = None

    @property
    def kind(self) -> WorkKind:
        """The kind of the job that computes the part."""
        return WorkKind(self.name, f"Computing {self.title} ...", CANCELLED, None, (*OF_EVERY_PART, *self.fields))


def of_corpus(compute: Callable[[Corpus, LinkState], list[object]]) -> Compute:
    """`compute` as a function of the context, for a part that depends on the corpus and the state of a link alone."""
    return lambda context: compute(context.corpus, context.state)


def deferred(context: Context, part: DeferredPart, *, ready: bool | None = None) -> html.Div:
    """The content of a part that was computed before or is `ready`; else its skeleton."""
    corpus, state = context.corpus, context.state
    if ready is None:
        ready = part.ready(corpus, state) if part.ready else was_computed(corpus, state, part)
    content: Any = part.compute(context) if ready else waiting(corpus, state, part)
    return html.Div(content, id={"place": part.name}, className="deferred", style=_reserved(part))


def _reserved(part: DeferredPart) -> dict[str, str]:
    """CSS variables with the reserved heights of a part (assets/waiting.css)."""
    narrow = part.narrow or part.height
    return {"--height": f"{part.height}px", "--middle": f"{part.middle or narrow}px", "--narrow": f"{narrow}px"}


def was_computed(corpus: Corpus, state: LinkState, part: DeferredPart) -> bool:
    """Whether the part of a link was computed for an earlier page and the cache still notes this."""
    return current_cache().find(corpus, _key(state, part)) is not None


def keep_computed(corpus: Corpus, state: LinkState, part: DeferredPart) -> None:
    """Note in the cache that the part of a link was computed: the next page has it at once."""
    current_cache().get(corpus, _key(state, part), lambda: True)


def _key(state: LinkState, part: DeferredPart) -> Hashable:
    return "deferred", part.name, *(state.fields[name] for name in part.fields)


def waiting(corpus: Corpus, link: LinkState, part: DeferredPart) -> html.Div:
    """The skeleton with the title of the part and Cancel; a callback replaces it by the content."""
    name = new_name()
    state = html.Div(f"Computing {part.title} ...", id=element_id(STATE, part.name, name), className="state")
    busy: Any = {"aria-busy": "true", "data-fields": " ".join(part.kind.fields)}
    skeleton = part.outline(corpus, link) if part.outline else [html.Div(className=f"skeleton {part.shape}")]
    content = [
        *skeleton,
        html.Div([_cancel(part.name, name), state, _clock(part.name, name)], className="wait"),
    ]
    said = html.Div(f"Computing {part.title}.", id=element_id(STATUS, part.name, name), role="status", className="said")
    return html.Div(
        [said, html.Div(html.Div(content, className="waiting", **busy), id=element_id(CONTENT, part.name, name))]
    )


def job_place(kind: WorkKind, height: int = 0, skeleton: list[Any] | tuple[Any, ...] = ()) -> html.Div:
    """The placeholder of a job's content, of at least this height."""
    name = new_name()
    waits = [
        html.Div(html.P(kind.waiting), id=element_id(STATE, kind.place, name), role="status"),
        _cancel(kind.place, name),
        _clock(kind.place, name),
        dcc.Interval(id=element_id(LATER_CLOCK, kind.place, name), interval=LATER_PAUSE, max_intervals=0),
        *skeleton,
    ]
    fields: dict[str, Any] = {"data-fields": " ".join(kind.fields)}  # assets/web/follow.mjs
    place = element_id(JOB, kind.place, name)
    return html.Div(waits, id=place, className="job", style={"minHeight": height}, **fields)


def _cancel(place: str, wait: str) -> dmc.Button:
    return dmc.Button(
        "Cancel", id=element_id(CANCEL, place, wait), size="compact-xs", variant="default", className="cancel"
    )


def _clock(place: str, wait: str) -> dcc.Interval:
    return dcc.Interval(id=element_id(CLOCK, place, wait), interval=TICK)


def uncomputed(part: DeferredPart, wait: str, sentence: str) -> html.Div:
    """Why the part was not computed, and a button that computes it again."""
    again = dmc.Button("Try again", id=element_id(RETRY, part.name, wait), size="compact-xs", variant="default")
    alert = dmc.Alert([*with_commands(sentence), " ", again], color="orange", variant="light")
    clock = dcc.Interval(id=element_id(RETRY_CLOCK, part.name, wait), disabled=True)
    return html.Div([alert, clock], id=element_id(RETRY_PLACE, part.name, wait))


def postponed(part: DeferredPart, wait: str, sentence: str) -> html.Div:
    """The reason for the delay on the skeleton of a part; the page asks again by itself, or at once on a click."""
    again = dmc.Button("Ask now", id=element_id(RETRY, part.name, wait), size="compact-xs", variant="default")
    clock = dcc.Interval(id=element_id(RETRY_CLOCK, part.name, wait), interval=LATER_PAUSE, max_intervals=1)
    state = html.Div([html.Div(asks_again(sentence), className="state"), again, clock], className="wait")
    return html.Div(
        [html.Div(className=f"skeleton {part.shape}"), state],
        id=element_id(RETRY_PLACE, part.name, wait),
        className="postponed",
    )


def _not_done(reason: str, kind: WorkKind, href: str) -> list[object]:
    """Why a job has no result, and a link that starts the job again."""
    again = [" ", html.A(kind.again, href=href)] if kind.again else []
    return [dmc.Alert([*with_commands(reason), *again], color="orange", variant="light")]


def asks_again(reason: str) -> str:
    """The reason for the delay without the advice to try again, as the page tries again by itself."""
    return f"{reason.partition(' Try again')[0]} This page asks again by itself."


def arrived(title: str) -> str:
    """Text of a screen reader when a part is filled: its title, without a clause such as `, once the model is loaded`."""
    return f"Ready: {title.partition(', once')[0]}."


def progress_lines(progress: Progress) -> list[object]:
    """The progress of a job, with a bar where the finished share is known."""
    line = html.P(progress.sentence)
    if progress.share is None:
        return [line]
    return [line, dmc.Progress(value=100 * progress.share, **{"aria-label": "Progress"})]


def element_id(kind: str, part: Any, wait: Any) -> dict[str, Any]:
    """The id of an element by its part and its wait; with Dash's wildcards, of any element."""
    return {"deferred": part, "is": kind, "wait": wait}


def _any(kind: str) -> dict[str, object]:
    return element_id(kind, MATCH, MATCH)


def register(
    app: Dash,
    served_store: ServedStore,
    parts: Mapping[str, DeferredPart],
    works: Mapping[WorkKind, Work],
    opened: Callable[[Context], Context] = lambda context: context,
) -> None:
    """Add the callbacks. They find a wait by its name, as another process of the server may do the work.

    `opened` completes the context of a bare link: a request for a part may come before the browser has completed the link.
    """

    def read(pathname: Text | None, search: Text | None, shown: Shown | None) -> Context:
        return opened(resolve(served_store, pathname, search, snapshot_of(shown)))

    _fill_parts(app, served_store, parts, read)
    _try_again(app, parts, read)
    _fill_jobs(app, served_store, {kind.place: (kind, work) for kind, work in works.items()}, read)
    _follow(app, served_store)


def _fill_parts(app: Dash, served_store: ServedStore, parts: Mapping[str, DeferredPart], read: ReadLink) -> None:
    @app.callback(
        Output(_any(CONTENT), "children"), Output(_any(STATUS), "children"), Input(_any(CONTENT), "id"), *STANDING
    )
    @validated
    def fill(
        wanted: PartWait, pathname: Text | None, search: Text | None, shown: Shown | None
    ) -> tuple[list[object], str]:
        part = _known(parts, wanted)
        try:
            with served_store.service(Jobs).job(wanted.wait, part.kind) as job:
                job.begin(f"Computing {part.title}")
                context = read(pathname, search, shown)
                computed = part.compute(context)
                keep_computed(context.corpus, context.state, part)
                content = in_names_of(context.corpus, condensed(computed, part.name))
        except NotYet as later:
            return [postponed(part, wanted.wait, str(later))], ""
        except Exception as error:
            sentence, _ = sentence_for(error)
            return [uncomputed(part, wanted.wait, sentence)], sentence
        if part.reloads:
            set_props(RELOADED, {"data": wanted.wait})
        return content, arrived(part.title)


def _try_again(app: Dash, parts: Mapping[str, DeferredPart], read: ReadLink) -> None:
    @app.callback(
        Output(_any(RETRY_PLACE), "children"),
        Input(_any(RETRY), "n_clicks"),
        Input(_any(RETRY_CLOCK), "n_intervals"),
        State(_any(RETRY), "id"),
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
        context = read(pathname, search, shown)
        return [waiting(context.corpus, context.state, _known(parts, wanted))]


def _fill_jobs(
    app: Dash, served_store: ServedStore, works: Mapping[str, tuple[WorkKind, Work]], read: ReadLink
) -> None:
    @app.callback(
        Output(_any(JOB), "children"),
        Input(_any(JOB), "id"),
        Input(_any(LATER_CLOCK), "n_intervals"),
        State(_any(CANCEL), "disabled"),
        *STANDING,
    )
    @validated
    def fill(
        wanted: PartWait,
        asked: int | None,
        is_cancelled: bool | None,
        pathname: Text | None,
        search: Text | None,
        shown: Shown | None,
    ) -> list[object]:
        kind, work = _known(works, wanted)
        try:
            if is_cancelled:  # its reader cancelled while the page waited to ask again
                raise ReaderLeft(kind.cancelled)
            with served_store.service(Jobs).job(wanted.wait, kind) as job:
                context = read(pathname, search, shown)
                return in_names_of(context.corpus, condensed(work(context, job), kind.place))
        except NotYet as later:
            _ask_later(wanted, str(later), (asked or 0) + 1)
            raise PreventUpdate from later
        except Refusal as refusal:
            return _not_done(str(refusal), kind, f"{pathname or ''}{search or ''}")
        except Exception as error:
            return [problem(error)]


def _ask_later(wanted: PartWait, reason: str, times: int) -> None:
    """Show why a job is delayed, and let the page ask again; skeleton and Cancel stay."""
    set_props(element_id(STATE, wanted.deferred, wanted.wait), {"children": [html.P(asks_again(reason))]})
    set_props(element_id(LATER_CLOCK, wanted.deferred, wanted.wait), {"max_intervals": times})


def _follow(app: Dash, served_store: ServedStore) -> None:
    @app.callback(
        Output(_any(STATE), "children"),
        Input(_any(CLOCK), "n_intervals"),
        State(_any(CLOCK), "id"),
        prevent_initial_call=True,
    )
    @validated
    def look(_ticks: int | None, wanted: PartWait) -> list[object]:
        notes = served_store.service(Jobs)
        if (progress := notes.find(wanted.wait)) is not None:
            return progress_lines(progress)
        if not (told := notes.waiting(wanted.wait)):  # the page is about to ask, for the first time or again
            raise PreventUpdate
        return [html.P(told)]

    @app.callback(
        Output(_any(CANCEL), "disabled"),
        Input(_any(CANCEL), "n_clicks"),
        State(_any(CANCEL), "id"),
        prevent_initial_call=True,
    )
    @validated
    def cancel(clicks: int | None, wanted: PartWait) -> bool:
        if clicks:
            served_store.service(Jobs).cancel(wanted.wait)
        return bool(clicks)


def _known(known: Mapping[str, T], wanted: PartWait) -> T:
    if wanted.deferred not in known:
        abort(404, "There is no such part of a page. Reload the page.")
    return known[wanted.deferred]
