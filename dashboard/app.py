"""The Dash application: the shell, and the page the address asks for."""

from pathlib import Path

from dash import ALL, MATCH, Dash, Input, Output, State, html, no_update

from dashboard import allowed_hosts, counting, problems, routes, security, shell
from dashboard.allowed_hosts import AllowedHosts
from dashboard.connections import BODY
from dashboard.library import Library
from dashboard.pages import LATER, PAGES, after_picture_of, picture_of, sentence_of
from dashboard.place import find
from dashboard.problems import sentence_for
from dashboard.under_way import UNDER_WAY, stage_line

INDEX = (Path(__file__).parent / "index.html").read_text("utf-8")


def create_app(library: Library, allowed: AllowedHosts | None = None) -> Dash:
    """A dashboard on a library, by default for this machine alone. Nothing is global: two apps in one process do not meet."""
    app = Dash(
        __name__,
        title="Headscape",
        update_title="",
        index_string=INDEX,
        assets_ignore="color_scheme.js",
        health_endpoint="_healthz",
        compress=True,
        on_error=_say_error,
    )
    app.server.config["MAX_CONTENT_LENGTH"] = BODY
    allowed_hosts.register(app.server, allowed or AllowedHosts())
    app.layout = shell.layout
    _follow_address(app, library)
    _fill_later(app, library)
    counting.register(app, library)
    _follow_painting(app, library)
    _follow_choices(app)
    _follow_canvas(app)
    _follow_charts(app)
    _follow_sentence(app)
    _notice_newer(app, library)
    routes.register(app.server, library)
    problems.register(app.server)
    security.register(app)
    warm_up(app)
    return app


def warm_up(app: Dash) -> None:
    """Serve the first page once before anybody asks: Dash fills its registry then, and threads would meet it half full."""
    with app.server.test_client() as client:
        client.get("/")


def _say_error(error: Exception) -> None:
    """An error in a callback: log it, leave the page as it is."""
    sentence_for(error)


def _follow_address(app: Dash, library: Library) -> None:
    """The picture has a callback of its own: what it draws need not wait for the browser to lay out the controls."""
    asked = Input("location", "pathname"), Input("location", "search")

    @app.callback(Output("points", "picture"), Output("sentence", "sentence"), Output("no-picture", "children"), *asked)
    def draw(pathname: str, search: str) -> tuple[object, ...]:
        try:
            place = find(library, pathname, search)
            return picture_of(place), sentence_of(place), None
        except Exception as error:
            return None, None, shell.problem(error)

    @app.callback(
        Output("above", "children"),
        Output("beside", "children"),
        Output("below", "children"),
        Output("navigation", "children"),
        Output("what-is-shown", "children"),
        Output("shown", "data"),
        *asked,
    )
    def write(pathname: str, search: str) -> tuple[object, ...]:
        try:
            place = find(library, pathname, search)
            page = PAGES[place.address.page](place)
            above = [*shell.notices([*place.notices, *page.notices]), *page.above]
            around = shell.navigation(place), shell.what_is_shown(place), shell.shown(place, search)
            return above, page.beside, page.below, *around
        except Exception as error:
            return [html.H1("Headscape"), shell.problem(error)], [], [], no_update, no_update, no_update


def _fill_later(app: Dash, library: Library) -> None:
    """Parts that take long are counted by themselves, once their places stand on the page."""

    @app.callback(
        Output({"later": MATCH}, "children"),
        Input({"later": MATCH}, "id"),
        State("location", "pathname"),
        State("location", "search"),
    )
    def fill(asked: dict[str, str], pathname: str, search: str) -> list[object]:
        try:
            return LATER[asked["later"]](find(library, pathname, search))
        except Exception as error:
            return [shell.problem(error)]


def _follow_painting(app: Dash, library: Library) -> None:
    @app.callback(
        Output("after-picture", "children"),
        Input("points", "painted"),
        State("location", "pathname"),
        State("location", "search"),
        prevent_initial_call=True,
    )
    def add(painted: dict[str, object] | None, pathname: str, search: str) -> list[object]:
        return after_picture_of(find(library, pathname, search)) if painted and painted["after"] else []


def _follow_choices(app: Dash) -> None:
    """Every choice becomes a link in the browser, without asking the server."""
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
        "(clicks) => window.headscape.address.copy(clicks)",
        Output("copy-link", "children"),
        Input("copy-link", "n_clicks"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        "(clicks) => window.headscape.chart.save()",
        Output("saved", "data"),
        Input({"save": ALL, "of": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )


def _follow_canvas(app: Dash) -> None:
    """What a reader does in the picture becomes a link too."""
    app.clientside_callback(
        "(opened, stepped, left, picture) => window.headscape.address.go(opened, stepped, left, picture)",
        Output("location", "href", allow_duplicate=True),
        Input("points", "opened"),
        Input("points", "stepped"),
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
        "(passed, places, picture) => window.headscape.address.told(passed, places, picture)",
        Output({"told": ALL}, "children"),
        Input("points", "passed"),
        State({"told": ALL}, "id"),
        State("points", "picture"),
        prevent_initial_call=True,
    )


def _follow_charts(app: Dash) -> None:
    """A click on a head in a chart opens it."""
    app.clientside_callback(
        "(clicks) => window.headscape.address.opened()",
        Output("location", "href", allow_duplicate=True),
        Input({"opens": ALL}, "clickData"),
        prevent_initial_call=True,
    )


def _follow_sentence(app: Dash) -> None:
    """What a reader does in the views of a sentence becomes a link."""
    for sent in ("opened", "headed", "selected", "stepped"):
        app.clientside_callback(
            f"(sent, sentence) => window.headscape.address.inSentence('{sent}', sent, sentence)",
            Output("location", "search", allow_duplicate=True),
            Input("sentence", sent),
            State("sentence", "sentence"),
            prevent_initial_call=True,
        )


def _notice_newer(app: Dash, library: Library) -> None:
    @app.callback(
        Output("newer", "children"),
        Output({UNDER_WAY: ALL}, "children"),
        Input("poll", "n_intervals"),
        Input("shown", "data"),
        State({UNDER_WAY: ALL}, "id"),
        State("location", "pathname"),
        State("location", "search"),
        prevent_initial_call=True,
    )
    def notice(
        _count: int, shown: dict[str, str] | None, waits: list[object], pathname: str, search: str
    ) -> tuple[object, list[str]]:
        newest, lines = library.newest, [stage_line(library.ingest)] * len(waits)
        if shown is None or shown["snapshot"] == newest:
            return None, lines
        address = find(library, pathname, search).address.with_(snapshot=None)
        return shell.newer_notice(address, library.snapshot(newest)), lines
