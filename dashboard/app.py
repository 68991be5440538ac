"""The Dash application: the shell, and the callbacks by which its page follows the link.

`window.headscape.address`, `window.headscape.follow` and `window.headscape.room` are the modules of these names in `assets/web/`.
"""

from functools import partial

from dash import ALL, Dash, Input, Output, State, no_update
from flask import Flask
from werkzeug.exceptions import HTTPException

from dashboard import documentation, pages, shell
from dashboard.access.gate import guard
from dashboard.monitoring import monitor
from dashboard.monitoring.monitor import Monitor, name_requests, watch_requests
from dashboard.notes.database import Database
from dashboard.notes.page import notes_version
from dashboard.pages import TOPICS
from dashboard.serving import Serving
from dashboard.ui import deferred
from dashboard.ui.markup import condensed
from dashboard.ui.page import UNDER_WAY, under_way
from dashboard.web import assets, responses, security
from dashboard.web import errors as problems
from dashboard.web.addresses import follow_proxies
from dashboard.web.connections import BODY
from dashboard.web.context import resolve
from dashboard.web.errors import sentence_for
from dashboard.web.http import STANDING, Painted, Shown, Text, snapshot_of, validated
from dashboard.web.library import Library
from dashboard.web.paths import serve_under
from dashboard.web.results import Cache

#: Placeholders of the parts of a page, in the order of assets/web/follow.mjs.
PARTS = ("above", "beside", "below", "navigation", "drawer-navigation", "what-is-shown")


def create_app(library: Library, serving: Serving | None = None) -> Dash:
    """The application of a library, by default for this machine alone. Two applications in one process share nothing."""
    serving = serving or Serving()
    if serving.notes is not None:
        library.put(Database, Database(serving.notes))
    server = Flask(__name__)
    serve_under(server, serving.prefix)  # outside of the prefix there is nothing
    # Before anything else is called for a request: whatever is added below is behind the gate.
    guard(server, serving.access, library, {monitor.METRICS: serving.collectors})
    app = Dash(
        __name__,
        server=server,  # type: ignore[arg-type]  # Dash takes the server too
        title="Headscape",
        update_title="",
        requests_pathname_prefix=f"{serving.prefix}/",
        routes_pathname_prefix="/",
        index_string=assets.index_string(serving.prefix),
        assets_ignore=assets.NAMED,
        health_endpoint="_healthz",
        compress=True,
        on_error=_log_error,
    )
    app.renderer = assets.RENDERER
    app.server.config["MAX_CONTENT_LENGTH"] = BODY
    follow_proxies(app.server, serving.proxies, serving.access.proxy.header if serving.access.proxy else "")
    security.check_hosts(app.server, serving.allowed)
    security.check_callbacks(app)
    responses.register(app.server, library, partial(pages.page_key, library))
    app.layout = partial(
        shell.layout, TOPICS.values(), signs_in=serving.access.signs_in, named=serving.access.kind != "none"
    )
    _follow_address(app)
    _add_callbacks(app, library)
    _follow_painting(app, library)
    _follow_choices(app)
    _follow_canvas(app)
    _follow_charts(app)
    _follow_sentence(app)
    _follow_notes(app)
    _notice_new_data(app, library)
    pages.register(app.server, library)
    documentation.register(app.server)
    name_requests(app.server)
    monitor.register(app.server, library, serving.collectors)
    _use_cache(app.server, library.cache)
    problems.register(app.server)
    security.add_headers(app)
    warm_up(app)
    watch_requests(app.server, library.get(Monitor).metrics, serving.access_log, serving.proxies)
    return app


def warm_up(app: Dash) -> None:
    """Make the first page once: Dash fills its registry at the first request, and threads must not find it half full.

    The gate is for requests: this is none.
    """
    with app.server.test_request_context("/"):
        app._setup_server()
        app.index()


def _add_callbacks(app: Dash, library: Library) -> None:
    """The callbacks of what pages wait for, and those of the topics."""
    topics = TOPICS.values()
    parts = {part.name: part for topic in topics for part in topic.deferred}
    deferred.register(app, library, parts, {kind: work for topic in topics for kind, work in topic.jobs.items()})
    for topic in topics:
        for add in topic.callbacks:
            add(app)


def _use_cache(server: Flask, cache: Cache) -> None:
    """Cache the results of every request with those of the application's library."""
    answer = server.wsgi_app
    server.wsgi_app = lambda environ, start_response: cache.run(answer, environ, start_response)  # type: ignore[method-assign]


def _log_error(error: Exception) -> None:
    """Log the error of a callback and leave the page as it is; refuse what no page sends, as a route does."""
    if isinstance(error, HTTPException):
        raise error
    sentence_for(error)


def _follow_address(app: Dash) -> None:
    """The browser fetches the page of a link itself, and waits only for the last of several links."""
    app.clientside_callback(
        "(pathname, search, reloaded) => window.headscape.follow.followPage(pathname, search, reloaded)",
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
    """What a link changes on screen."""
    return [
        Output("points", "picture", **options),
        Output("sentence", "sentence", **options),
        Output("no-picture", "children", **options),
        *(Output(part, "children", **options) for part in PARTS),
        Output("shown", "data", **options),
    ]


def _follow_painting(app: Dash, library: Library) -> None:
    @app.callback(Output("after-picture", "children"), Input("points", "painted"), *STANDING, prevent_initial_call=True)
    @validated
    def add(painted: Painted | None, pathname: Text | None, search: Text | None, shown: Shown | None) -> list[object]:
        if not (painted and painted.after):
            return []
        context = resolve(library, pathname, search, snapshot_of(shown))
        after = TOPICS[context.state.page].after_picture
        return condensed(after(context) if after else [], "after-picture")


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
        "(values, clicks, added, shown) => window.headscape.address.filtered(shown)",
        Output("location", "search", allow_duplicate=True),
        Input({"condition": ALL, "kind": ALL}, "value"),
        Input({"remove": ALL}, "n_clicks"),
        Input({"add": ALL}, "value"),
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
    app.clientside_callback(
        "(clicks) => window.headscape.chart.save()",
        Output("saved", "data"),
        Input({"save": ALL, "chart": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )


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
    """A click on a head in a chart opens the head."""
    app.clientside_callback(
        "(clicks) => window.headscape.address.opened()",
        Output("location", "href", allow_duplicate=True),
        Input({"opens": ALL}, "clickData"),
        prevent_initial_call=True,
    )


def _follow_sentence(app: Dash) -> None:
    """The browser makes a link of what a reader does in the views of a sentence."""
    for sent in ("opened", "headed", "selected", "paired", "hidden", "stepped"):
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


def _notice_new_data(app: Dash, library: Library) -> None:
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
        newest, current = library.newest, snapshot_of(shown)
        now = notes_version(library)
        others = no_update if now == counted else now, [under_way(library.ingest, place) for place in waits]
        if current in (None, newest):
            return None, None, *others
        context = resolve(library, pathname, search, current)
        notice = f"{newest} {context.state.href}"
        if notice == noticed:  # its reader may have closed it
            return no_update, no_update, *others
        return shell.newer_notice(context.state, library.snapshot(newest)), notice, *others
