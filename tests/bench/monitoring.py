"""Time that metrics and the access log add to a request: `python -m tests.bench monitoring`."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from dashboard.monitoring.logs import AccessLog
from dashboard.monitoring.metrics import VARIABLE, Metrics, share_metrics
from dashboard.monitoring.monitor import WatchedApplication
from tests.bench.table import show

ROUNDS, REQUESTS = 7, 5_000
ENVIRON = {"REQUEST_METHOD": "GET", "PATH_INFO": "/data/page", "REMOTE_ADDR": "127.0.0.1", "headscape.route": "page"}


def monitoring() -> None:
    """Print the microseconds that metrics and the access log add to a request."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder
        own = Metrics()
        shared, place = share_metrics(Path(folder))
        log = AccessLog(f"{folder}/access.log")
        alone = _microseconds(_application)
        rows = [
            (name, f"{_microseconds(WatchedApplication(_application, metrics, file)) - alone:.1f} µs")
            for name, metrics, file in (
                ("id and metrics of one process", own, None),
                ("id and metrics of all processes", shared, None),
                ("id, metrics of all processes, access log", shared, log),
            )
        ]
        if place is not None:
            place.close()
    show(f"Added to a request, median of {ROUNDS} rounds of {REQUESTS:,}", ("what", "time"), rows)


def _application(_environ: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "2")])
    return [b"ok"]


def _microseconds(application: Callable[..., Iterable[bytes]]) -> float:
    """Microseconds of a request, median of the rounds."""
    return median(_round(application) for _ in range(ROUNDS))


def _round(application: Callable[..., Iterable[bytes]]) -> float:
    began = time.perf_counter()
    for _ in range(REQUESTS):
        application(ENVIRON.copy(), lambda *_: None)
    return 1e6 * (time.perf_counter() - began) / REQUESTS
