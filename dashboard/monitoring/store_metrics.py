"""Metrics of what all workers share: the store, its ingest, and the process of the model."""

import time
from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from dashboard.web.library import Library
from dashboard.web.processes import ServerFolder, resident_memory
from store import StoreError


def store_metrics(library: Library) -> Iterator[Metric]:
    """The metrics as they are now. Where the store cannot be read, its age is missing."""
    age = snapshot_age(library)
    yield _gauge("headscape_ready", "Whether the newest snapshot can be opened.", int(age is not None))
    if age is not None:
        yield _gauge("headscape_snapshot_age_seconds", "Time since the newest snapshot was published.", age)
    yield from _of_ingest(library)
    yield from _of_encoder(ServerFolder(library.folder).encoder_process)


def snapshot_age(library: Library) -> float | None:
    """Seconds since the newest snapshot was published; None where it cannot be opened."""
    try:
        return time.time() - library.snapshot().published.timestamp()
    except StoreError:
        return None


def _of_ingest(library: Library) -> Iterator[Metric]:
    running, outcome = library.ingest, library.last_ingest
    yield _gauge("headscape_ingest_running", "Whether an ingest writes the store.", int(running is not None))
    if running is not None:
        stage = GaugeMetricFamily("headscape_ingest_share", "Finished share of the ingest's stage.", labels=["stage"])
        stage.add_metric([running.stage or "starting"], running.share or 0)
        yield stage
    if outcome is not None:
        yield _gauge("headscape_ingest_failed", "Whether the last ingest failed.", int(bool(outcome.failure)))
        yield _gauge("headscape_ingest_end_timestamp_seconds", "When the last ingest ended.", outcome.ended)


def _of_encoder(pid: int | None) -> Iterator[Metric]:
    resident = None if pid is None else resident_memory(pid)
    yield _gauge("headscape_model_running", "Whether the process for typed sentences runs.", int(pid is not None))
    if resident is not None:
        yield _gauge("headscape_model_resident_bytes", "Resident memory of the process for typed sentences.", resident)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
