"""The Dash application: the shell, and the page the address asks for."""

from dataclasses import replace
from pathlib import Path

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html, no_update

from dashboard import problems, routes, security, shell
from dashboard.address import find
from dashboard.library import Library
from dashboard.pages import PAGES
from dashboard.point_panels import PointPanels
from dashboard.problems import sentence_for

INDEX = (Path(__file__).parent / "index.html").read_text("utf-8")
#: What callbacks listen to that is not on every page.
PAGE_IDS = {
    "model": dmc.Select,
    "choose-layer": dmc.Select,
    "choose-head": dmc.Select,
    "choose-tokens": dmc.Select,
    "points": PointPanels,
}


def create_app(library: Library) -> Dash:
    """A dashboard on a library. Nothing is global: two apps in one process do not meet."""
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
    app.server.config["MAX_CONTENT_LENGTH"] = 1 << 20
    app.layout = shell.layout
    app.validation_layout = html.Div(  # type: ignore[assignment]
        [shell.layout(), *(component(id=name) for name, component in PAGE_IDS.items())]
    )
    _follow_address(app, library)
    _follow_choices(app)
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
    @app.callback(
        Output("page", "children"),
        Output("navigation", "children"),
        Output("what-is-shown", "children"),
        Output("shown", "data"),
        Input("location", "pathname"),
        Input("location", "search"),
    )
    def draw(pathname: str, search: str) -> tuple[object, object, object, object]:
        try:
            place = find(library, pathname, search)
            page = [*shell.notices(place), *PAGES[place.address.page](place)]
            return page, shell.navigation(place), shell.what_is_shown(place), shell.shown(place)
        except Exception as error:
            alert = dmc.Alert(sentence_for(error)[0], color="red", title="This cannot be shown")
            return [html.H1("Headscape"), alert], no_update, no_update, no_update


def _follow_choices(app: Dash) -> None:
    """Every choice becomes a link in the browser, without asking the server."""
    for name, trigger in (
        ("model", "model"),
        ("layer", "choose-layer"),
        ("head", "choose-head"),
        ("tokens", "choose-tokens"),
    ):
        app.clientside_callback(
            f"(value, search, shown) => window.headscape.address.choose('{name}', value, search, shown)",
            Output("location", "search", allow_duplicate=True),
            Input(trigger, "value"),
            State("location", "search"),
            State("shown", "data"),
            prevent_initial_call=True,
        )
    app.clientside_callback(
        "(opened, stepped, panels, search) => window.headscape.address.go(opened, stepped, panels, search)",
        Output("location", "href", allow_duplicate=True),
        Input("points", "opened"),
        Input("points", "stepped"),
        State("points", "panels"),
        State("location", "search"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        "(clicks) => window.headscape.address.copy(clicks)",
        Output("copy-link", "children"),
        Input("copy-link", "n_clicks"),
        prevent_initial_call=True,
    )


def _notice_newer(app: Dash, library: Library) -> None:
    @app.callback(
        Output("newer", "children"),
        Input("poll", "n_intervals"),
        Input("shown", "data"),
        State("location", "pathname"),
        State("location", "search"),
        prevent_initial_call=True,
    )
    def notice(_count: int, shown: dict[str, str] | None, pathname: str, search: str) -> object:
        newest = library.newest
        if shown is None or shown["snapshot"] == newest:
            return None
        address = replace(find(library, pathname, search).address, snapshot=None)
        return shell.newer_notice(address, library.snapshot(newest))
