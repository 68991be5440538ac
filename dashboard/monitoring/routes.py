"""Routes for those who run the server: whether it is ready, and its metrics."""

from flask import Flask, Response, request
from prometheus_client import CONTENT_TYPE_LATEST

from dashboard.access.person import LOCAL, current_person
from dashboard.monitoring.monitor import Monitor
from dashboard.web.addresses import AddressList
from dashboard.web.cache import cached
from dashboard.web.connections import STOPS
from dashboard.web.errors import Refusal
from dashboard.web.library import Library
from store import Snapshot

READY, METRICS = "/_readyz", "/metrics"
STOPPING = "This server is stopping. Try another one, or wait until it has started again."
NOT_ADMITTED = "Only authors and the addresses that --metrics-from names may read the metrics. Sign in as an author, or name the address."


def register(server: Flask, library: Library, readers: AddressList) -> None:
    """Add the routes; `readers` may read the metrics, and authors who signed in."""

    @server.get(READY)
    def ready() -> Response:
        if request.environ.get(STOPS):
            raise Refusal(STOPPING, 503)
        _check_readable(library.snapshot())
        return Response("OK", mimetype="text/plain")

    @server.get(METRICS)
    def metrics() -> Response:
        person = current_person()
        if not (readers.admits(request.environ) or (person.writes and person != LOCAL)):
            raise Refusal(NOT_ADMITTED, 403)
        return Response(library.get(Monitor).text(), content_type=CONTENT_TYPE_LATEST)


@cached
def _check_readable(snapshot: Snapshot) -> bool:
    """Read the first sentence of a snapshot, once; raises where it cannot be read."""
    return bool(snapshot.corpus().sentences.text[:1].values.size)
