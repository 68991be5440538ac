"""The pages: content of a link, picture and texts in one answer, so that both show the same head; and how a page follows the link.

`window.headscape.address`, `window.headscape.follow` and `window.headscape.room` are the modules of these names in `assets/web/`.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from dash import ALL, Dash, Input, Output, State, html, no_update
from flask import Flask, Response, jsonify, request
from plotly.io.json import to_json_plotly

from dashboard import documentation, shell
from dashboard.access.person import current_person
from dashboard.canvas.spec import Picture
from dashboard.compare.page import COMPARE
from dashboard.features.page import FEATURES
from dashboard.head_map.page import HEAD_MAP
from dashboard.lessons.page import LESSONS
from dashboard.models.page import MODELS
from dashboard.notes.page import NOTES, notes_version
from dashboard.overview.page import OVERVIEW
from dashboard.points.page import HEADS, EndOfRole, head_topic
from dashboard.programs import routes as programs
from dashboard.relations.page import RELATIONS
from dashboard.sentence.charts import head_positions
from dashboard.sentence.page import SENTENCE
from dashboard.sentence.replaced_head import REPLACED, is_asked, replaced_head
from dashboard.server_page.page import SERVER
from dashboard.statistics.head_panel import head_statistics
from dashboard.statistics.page import STATISTICS_OF_HEADS
from dashboard.store_page.page import STORE_PAGE
from dashboard.topic import topics_by_name
from dashboard.ui import deferred
from dashboard.ui.files import SERVED_STORE
from dashboard.ui.markup import UNDER_WAY, condensed, problem, title_of, under_way
from dashboard.ui.work import PAGE as PAGE_JOB
from dashboard.ui.work import Jobs
from dashboard.web import assets, http
from dashboard.web.admission import reader_left
from dashboard.web.context import Context, resolve
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.http import STANDING, Painted, Shown, Text, share, snapshot_of, validated
from dashboard.web.paths import declare_pages, first_page, page_name
from dashboard.web.served_store import ServedStore
from dashboard.web.special_names import in_names_of

#: The pages in the order of the navigation, the first page first. No other module lists them.
TOPICS = topics_by_name(
    OVERVIEW,
    LESSONS,
    HEADS,
    head_topic(head_statistics, head_positions, EndOfRole(REPLACED, is_asked, replaced_head)),
    STATISTICS_OF_HEADS,
    HEAD_MAP,
    RELATIONS,
    FEATURES,
    SENTENCE,
    COMPARE,
    MODELS,
    NOTES,
    STORE_PAGE,
    SERVER,
)
declare_pages({name: topic.links for name, topic in TOPICS.items()})

#: The URL of the content of pages.
PAGE = "/data/page"
#: The URL of the server's progress with a page, for the browser that waits for the page.
PROGRESS = f"{PAGE}/progress"
#: Placeholders of the parts of a page, in the order of assets/web/follow.mjs.
PARTS = ("above", "beside", "below", "navigation", "drawer-navigation", "what-is-shown")
T = TypeVar("T")
#: The status of a page that a person may not see; the browser shows the error's sentence instead of the page.
FORBIDDEN = 403


@dataclass(frozen=True)
class TabLink:
    """A link, and the snapshot that the browser's tab shows; empty before the first page."""

    pathname: str
    search: str
    snapshot: str


def page_content(served_store: ServedStore, link: TabLink) -> dict[str, Any]:
    """Everything on screen that a link changes, by the names that the browser's script reads."""
    try:
        context = opened(resolve(served_store, link.pathname, link.search, link.snapshot))
    except Exception as error:
        return {"picture": None, "sentence": None, "message": None} | _error_page(error)
    return in_names_of(context.corpus, _picture(context) | _text(context, link.search, served_store.newest))


def opened(context: Context) -> Context:
    """The context of a page; for a bare link, the page itself chooses the fields that the link leaves open."""
    open_page = TOPICS[context.state.page].open if context.bare else None
    state = open_page(context.snapshot, context.corpus, context.state) if open_page else None
    return context if state is None else replace(context, state=state, completed=True)


def _read(context: Context) -> Any:
    """Data that the page of a link reads, once for its picture, its texts and its controls."""
    page = context.state.page
    return context.share(("page", page), lambda: TOPICS[page].layout.read(context))


def picture_of(context: Context) -> Picture | None:
    """Picture on the canvas; None on a page without a picture, and where no picture has been computed."""
    picture = TOPICS[context.state.page].picture
    return picture(_read(context)) if picture else None


def _picture(context: Context) -> dict[str, Any]:
    try:
        picture = _for_reader(lambda: picture_of(context))
        views = TOPICS[context.state.page].sentence
        sentence, before = views(context) if views else (None, [])
        message = condensed(before, "message") or None
        return {"picture": picture and picture.json(), "sentence": sentence, "message": message}
    except Exception as error:
        return {"picture": None, "sentence": None, "message": condensed([problem(error)], "message")}


def _text(context: Context, search: str, newest: str) -> dict[str, Any]:
    try:
        topic = TOPICS[context.state.page]
        page = _for_reader(lambda: topic.layout.draw(_read(context)))
        above = [*shell.notices([*context.every_notice, *page.notices]), *page.above]
        parts = {"above": above, "beside": page.beside, "below": page.below}
        navigation = shell.navigation(context.snapshot, context.corpus, context.state, TOPICS)
        parts |= {"navigation": navigation, "drawer": shell.drawer(navigation, context.snapshot, context.state, newest)}
        parts |= {"header": shell.what_is_shown(context.snapshot, context.corpus, context.state, newest)}
        shown = shell.shown(context, topic, _read(context), search, page.notices)
        what = {"shown": shown, "title": title_of(page.above)}
        return _condensed(parts) | what
    except Exception as error:
        if isinstance(error, Refusal) and error.status == FORBIDDEN:
            raise
        return _error_page(error)


def _for_reader(part: Callable[[], T]) -> T:
    """A part of the page; not computed where the reader has gone to another page meanwhile."""
    if reader_left():
        raise ReaderLeft
    return part()


def _condensed(parts: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: condensed(part, name) for name, part in parts.items()}


def _error_page(error: Exception) -> dict[str, Any]:
    """The error instead of the page; navigation and header stay."""
    above = [html.H1("Headscape"), problem(error)]
    return _condensed({"above": above, "beside": [], "below": []})


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the data routes to the server."""
    server.extensions[SERVED_STORE] = served_store
    of_topics = (routes for topic in TOPICS.values() for routes in topic.routes)
    for routes in (assets.register, *of_topics, http.register, programs.register):
        routes(server, served_store)
    _add_page_routes(server, served_store)


def _add_page_routes(server: Flask, served_store: ServedStore) -> None:
    """Add the routes of a page's content. The request is a form, not JSON: a form has no nested values that could be malformed."""

    @server.post(PAGE)
    def page() -> Response:
        link = _tab_link()
        with _job_of_request(served_store):
            content = page_content(served_store, link)
        if _is_shared(content.get("shown"), link, served_store.newest):
            share()
        return Response(to_json_plotly(content), mimetype="application/json")

    @server.post(PROGRESS)
    def progress() -> Response:
        found = served_store.service(Jobs).find(request.form.get("wait", ""))
        return jsonify({"said": found and found.sentence})


def _job_of_request(served_store: ServedStore) -> AbstractContextManager[object]:
    """The job that reports progress of the page, under the name that its browser sends; no job without a name."""
    wait = request.form.get("wait")
    return served_store.service(Jobs).job(wait, PAGE_JOB) if wait else nullcontext()


def _is_shared(shown: Mapping[str, object] | None, link: TabLink, newest: str) -> bool:
    """Whether the page depends on its link alone and no other link shows the page: each field has the shown value."""
    if shown is None or _changes(str(shown["path"])) or shown["snapshot"] != newest:
        return False
    written = _fields(link)
    is_own = link.pathname == shown["path"] and link.snapshot in ("", newest)
    is_completed = "written" in shown and len(written) > 1  # the browser compares the whole link
    each_once = len(dict(written)) == len(written)
    return is_own and not is_completed and each_once and all(str(shown.get(name, "")) == text for name, text in written)


def _changes(path: str) -> bool:
    """Whether the page at a path depends on more than its link."""
    return TOPICS[page_name(path) or first_page()].changes


def _fields(link: TabLink) -> list[tuple[str, str]]:
    return sorted(parse_qsl(link.search.lstrip("?"), keep_blank_values=True))


def page_key(served_store: ServedStore) -> str | None:
    """Cache key of a page, all that it depends on; None for another request, and during an ingest, as pages show its progress.

    The newest snapshot is a part of the key: an older snapshot may be deleted at any time, so its pages are not shared.
    """
    if request.path != PAGE or request.method != "POST" or served_store.ingest is not None:
        return None
    link = _tab_link()
    return json.dumps([PAGE, served_store.newest, current_person().role, link.pathname, _fields(link), link.snapshot])


def _tab_link() -> TabLink:
    return TabLink(*(request.form.get(name, "") for name in ("pathname", "search", "snapshot")))


def follow_links(app: Dash, served_store: ServedStore) -> None:
    """Add the callbacks by which the page follows the link, of deferred parts and jobs, and of the topics."""
    topics = TOPICS.values()
    _follow_address(app)
    parts = {part.name: part for topic in topics for part in topic.deferred}
    works = {kind: work for topic in topics for kind, work in topic.jobs.items()}
    deferred.register(app, served_store, parts, works, opened)
    for add in (add for topic in topics for add in topic.callbacks):
        add(app)
    _follow_painting(app, served_store)
    _follow_choices(app)
    _follow_canvas(app)
    _follow_charts(app)
    _follow_sentence(app)
    _follow_notes(app)
    _notice_new_data(app, served_store)
    documentation.register_help(app, served_store)


def _follow_address(app: Dash) -> None:
    """The browser fetches the page of a link itself, and waits only for the last of several links."""
    app.clientside_callback(
        "(pathname, search) => window.headscape.follow.followPage(pathname, search)",
        *_outputs(),
        Input("location", "pathname"),
        Input("location", "search"),
        Input("reloaded", "data"),
    )
    app.clientside_callback(
        "(done) => window.headscape.follow.showDone(done)",
        *_outputs(allow_duplicate=True),
        Input({"done": ALL}, "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        "(shown) => window.headscape.follow.dropInvalid(shown)", Input("shown", "data"), prevent_initial_call=True
    )
    app.clientside_callback(
        "(burger, drawer) => window.headscape.room.toggleDrawer(burger, drawer)",
        Output("burger", "opened"),
        Output("drawer", "opened"),
        Input("burger", "opened"),
        Input("drawer", "opened"),
        Input("location", "pathname"),
        prevent_initial_call=True,
    )


def _outputs(**options: bool) -> list[Output]:
    """Components on screen that a link changes."""
    return [
        Output("points", "picture", **options),
        Output("sentence", "sentence", **options),
        Output("no-picture", "children", **options),
        *(Output(part, "children", **options) for part in PARTS),
        Output("shown", "data", **options),
    ]


def _follow_painting(app: Dash, served_store: ServedStore) -> None:
    @app.callback(Output("after-picture", "children"), Input("points", "painted"), *STANDING, prevent_initial_call=True)
    @validated
    def add(painted: Painted | None, pathname: Text | None, search: Text | None, shown: Shown | None) -> list[object]:
        if not (painted and painted.after):
            return []
        context = opened(resolve(served_store, pathname, search, snapshot_of(shown)))
        after = TOPICS[context.state.page].after_picture
        return condensed(after(_read(context)) if after else [], "after-picture")


def _follow_choices(app: Dash) -> None:
    """The browser makes a link of every choice, without a request."""
    for kind, value in (("choose", "value"), ("toggle", "checked")):
        app.clientside_callback(
            "(values, shown) => window.headscape.address.chosen(shown)",
            Output("location", "search", allow_duplicate=True),
            Input({kind: ALL, "by": ALL}, value),
            State("shown", "data"),
            prevent_initial_call=True,
        )
    app.clientside_callback(
        "(values, clicks, added, ids, least, most, shown) => window.headscape.address.filtered(shown, ids, least, most)",
        Output("location", "search", allow_duplicate=True),
        Input({"condition": ALL, "kind": ALL}, "value"),
        Input({"remove": ALL}, "n_clicks"),
        Input({"add": ALL}, "value"),
        *(State({"condition": ALL, "kind": "number"}, name) for name in ("id", "min", "max")),
        State("shown", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        "(clicks, shown) => window.headscape.address.copy(clicks, shown)",
        Output("copy-link", "children"),
        Input("copy-link", "n_clicks"),
        State("shown", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback("(shown) => !shown", Output("copy-link", "disabled"), Input("shown", "data"))


def _follow_canvas(app: Dash) -> None:
    """The browser makes a link of what a reader does in the picture."""
    app.clientside_callback(
        "(opened, left, picture) => window.headscape.address.go(opened, left, picture)",
        Output("location", "href", allow_duplicate=True),
        Input("points", "opened"),
        Input("points", "left"),
        State("points", "picture"),
        prevent_initial_call=True,
    )
    for sent, act in (("picked", "pick"), ("lassoed", "lasso"), ("arrived", "arrived")):
        app.clientside_callback(
            f"(sent, picture) => window.headscape.address.{act}(sent, picture)",
            Output("location", "search", allow_duplicate=True),
            Input("points", sent),
            State("points", "picture"),
            prevent_initial_call=True,
        )
    app.clientside_callback(
        "(step, places, picture) => window.headscape.address.stepTexts(step, places, picture)",
        Output({"caption": ALL}, "children"),
        Input("points", "step"),
        State({"caption": ALL}, "id"),
        State("points", "picture"),
        prevent_initial_call=True,
    )


def _follow_charts(app: Dash) -> None:
    """A click on a head in a chart opens the head; a box that a reader draws in a chart becomes a part of the link."""
    app.clientside_callback(
        "(clicks) => window.headscape.address.opened()",
        Output("location", "href", allow_duplicate=True),
        Input({"opens": ALL}, "clickData"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        "(boxes) => window.headscape.address.boxed()",
        Output("location", "search", allow_duplicate=True),
        Input({"opens": ALL}, "selectedData"),
        prevent_initial_call=True,
    )


def _follow_sentence(app: Dash) -> None:
    """The browser makes a link of what a reader does in the views of a sentence."""
    for sent in ("opened", "headed", "selected", "paired", "marked", "hidden", "stepped"):
        app.clientside_callback(
            f"(sent, sentence) => window.headscape.address.inSentence('{sent}', sent, sentence)",
            Output("location", "search", allow_duplicate=True),
            Input("sentence", sent),
            State("sentence", "sentence"),
            prevent_initial_call=True,
        )


def _follow_notes(app: Dash) -> None:
    """The browser reads the marks of notes after each page, and when other notes are counted."""
    app.clientside_callback(
        "(shown) => window.headscape.notes.follow(shown)",
        Output("points", "noted"),
        Output("sentence", "noted"),
        Input("shown", "data"),
        Input("counted", "data"),
        prevent_initial_call=True,
    )


def _notice_new_data(app: Dash, served_store: ServedStore) -> None:
    @app.callback(
        Output("newer", "children"),
        Output("noticed", "data"),
        Output("counted", "data"),
        Output({UNDER_WAY: ALL}, "children"),
        Input("poll", "n_intervals"),
        State({UNDER_WAY: ALL}, "id"),
        State("noticed", "data"),
        State("counted", "data"),
        *STANDING,
        prevent_initial_call=True,
    )
    @validated
    def notice(
        _count: int | None,
        waits: list[object],
        noticed: Text | None,
        counted: Text | None,
        pathname: Text | None,
        search: Text | None,
        shown: Shown | None,
    ) -> tuple[object, ...]:
        newest, current = served_store.newest, snapshot_of(shown)
        now = notes_version(served_store)
        others = no_update if now == counted else now, [under_way(served_store.ingest, place) for place in waits]
        if current in (None, newest):
            return None, None, *others
        context = resolve(served_store, pathname, search, current)
        notice = f"{newest} {context.state.href}"
        if notice == noticed:  # its reader may have closed it
            return no_update, no_update, *others
        return shell.newer_notice(context.state, served_store.snapshot(newest)), notice, *others
