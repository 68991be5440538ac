"""The application: the gate, the shell, the pages, and what every request passes."""

from functools import partial

from dash import Dash
from flask import Flask
from werkzeug.exceptions import HTTPException

from dashboard import documentation, pages, shell
from dashboard.access.gate import guard
from dashboard.models.trees import Trees
from dashboard.monitoring import monitor
from dashboard.monitoring.monitor import Monitor, name_requests, watch_requests
from dashboard.notes.database import Database
from dashboard.pages import TOPICS
from dashboard.serving import Serving
from dashboard.web import assets, http, security
from dashboard.web import errors as problems
from dashboard.web.addresses import follow_proxies
from dashboard.web.connections import BODY
from dashboard.web.errors import sentence_for
from dashboard.web.paths import serve_under
from dashboard.web.results import Cache
from dashboard.web.served_store import ServedStore


def create_app(served_store: ServedStore, serving: Serving | None = None) -> Dash:
    """The application of a served store, by default for this machine alone. Two applications in one process share nothing."""
    serving = serving or Serving()
    if serving.notes is not None:
        served_store.put(Database, Database(serving.notes))
    served_store.put(Trees, Trees(serving.trees))
    server = Flask(__name__)
    serve_under(server, serving.prefix)  # nothing is served outside the prefix
    # The gate comes first at each request: everything that is added below is behind it.
    guard(server, serving.access, served_store, {monitor.METRICS: serving.collectors})
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
    http.cache_responses(app.server, served_store, partial(pages.page_key, served_store))
    app.layout = partial(
        shell.layout, TOPICS.values(), signs_in=serving.access.signs_in, named=serving.access.kind != "none"
    )
    pages.follow_links(app, served_store)
    pages.register(app.server, served_store)
    documentation.register_pages(app.server)
    name_requests(app.server)
    monitor.register(app.server, served_store, serving.collectors)
    _use_cache(app.server, served_store.cache)
    problems.register(app.server)
    security.add_headers(app)
    warm_up(app)
    watch_requests(app.server, served_store.service(Monitor).metrics, serving.access_log, serving.proxies)
    return app


def warm_up(app: Dash) -> None:
    """Make the first page once: Dash fills its registry at the first request, and threads must not find it half full.

    The gate does not apply: no reader sends this request.
    """
    with app.server.test_request_context("/"):
        app._setup_server()
        app.index()


def _use_cache(server: Flask, cache: Cache) -> None:
    """Cache the results of every request with those of the application's served store."""
    answer = server.wsgi_app
    server.wsgi_app = lambda environ, start_response: cache.run(answer, environ, start_response)  # type: ignore[method-assign]


def _log_error(error: Exception) -> None:
    """Log the error of a callback and leave the page as it is; pass an HTTP error on, as a route does."""
    if isinstance(error, HTTPException):
        raise error
    sentence_for(error)
