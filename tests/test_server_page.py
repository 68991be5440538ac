"""Page Server: the last hour of the server as charts, for authors; and the metrics of all workers of a real server."""

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from dashboard.access.person import Person, sign_request
from dashboard.app import create_app
from dashboard.monitoring.metrics import Metrics
from dashboard.monitoring.monitor import MOST_SAMPLES, SAMPLE_SECONDS, History, Monitor, Sample, quantile, sample
from dashboard.server_page.page import last_hour, routes
from dashboard.web.served_store import ServedStore
from tests.bench.browser import server_process
from tests.bench.reloads import reload, wait_until, workers

AUTHOR, READER = Person("ada", "author"), Person("bob", "reader")
Served = tuple[subprocess.Popen[bytes], str]


@pytest.fixture
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


def client_of(served_store: ServedStore, person: Person) -> FlaskClient:
    server = create_app(served_store).server
    server.before_request_funcs.setdefault(None, []).append(lambda: sign_request(person))
    return server.test_client()


def page(client: FlaskClient, pathname: str = "/server") -> tuple[int, str]:
    answer = client.post("/data/page", data={"pathname": pathname, "search": "", "snapshot": ""})
    return answer.status_code, answer.text


def sample_at(time: float, requests: float) -> Sample:
    classes = {"0.5": requests, "1.0": requests}
    return Sample(time, requests=requests, busy=requests / 10, classes=classes, resident={"0": 2e8})


# -- the page -------------------------------------------------------------------------------------------


def test_an_author_sees_the_last_hour_and_every_route(served_store: ServedStore) -> None:
    client = client_of(served_store, AUTHOR)
    for number in range(3):
        served_store.service(Monitor).history.add(sample_at(1000 + SAMPLE_SECONDS * number, 10.0 * number))
    page(client)
    status, text = page(client)
    assert status == 200
    for part in ("Last hour", "server-requests", "server-latency", "20 requests, 2 turned away (busy), 0 failed"):
        assert part in text
    assert [route.route for route in routes(served_store.service(Monitor).metrics.collect())] == ["page"]


def test_a_page_without_samples_says_when_there_will_be_some(served_store: ServedStore) -> None:
    assert "No numbers yet: a sample is taken every 15 s. Reload the page." in page(client_of(served_store, AUTHOR))[1]


def test_a_reader_gets_a_sentence_and_no_number(served_store: ServedStore) -> None:
    assert page(client_of(served_store, READER)) == (
        403,
        "Page Server is for authors. Ask those who run this server for that role, or open another page.",
    )


def test_only_authors_find_the_page_in_the_navigation(served_store: ServedStore) -> None:
    links = {
        person: json.loads(page(client_of(served_store, person), "/store")[1])["navigation"]
        for person in (AUTHOR, READER)
    }
    assert "/server" in json.dumps(links[AUTHOR])
    assert "/server" not in json.dumps(links[READER])


# -- numbers --------------------------------------------------------------------------------------------


def test_rates_and_latencies_are_of_the_time_between_two_samples() -> None:
    hour = last_hour([sample_at(0, 0), sample_at(10, 20), sample_at(20, 20)])
    assert hour.requests == [2, 0]
    assert hour.busy == [0.2, 0]
    assert hour.median == [0.25, None]
    assert hour.memory == [2e8, 2e8]


def test_a_quantile_is_interpolated_within_its_class() -> None:
    classes = [(1.0, 10.0), (2.0, 20.0), (float("inf"), 20.0)]
    assert quantile(0.5, classes) == 1
    assert quantile(0.75, classes) == 1.5
    assert quantile(0.95, []) is None


@given(st.lists(st.integers(0, 50), min_size=2, max_size=8), st.sampled_from((0.5, 0.95)))
def test_a_quantile_lies_in_the_class_that_holds_its_request(counts: list[int], share: float) -> None:
    limits = [*(float(number) for number in range(1, len(counts))), float("inf")]
    classes = [(limit, float(sum(counts[: number + 1]))) for number, limit in enumerate(limits)]
    estimated = quantile(share, classes)
    if not sum(counts):
        assert estimated is None
        return
    holds = next(number for number, (_, count) in enumerate(classes) if count >= share * sum(counts))
    assert estimated is not None
    assert (limits[holds - 1] if holds else 0) <= estimated <= limits[holds]


def test_routes_are_counted_with_their_failures() -> None:
    metrics = Metrics()
    for status, seconds in ((200, 0.004), (200, 0.004), (500, 4)):
        metrics.answered("page", "GET", status, seconds)
    metrics.answered("font", "GET", 200, 0.001)
    first, second = routes(metrics.collect())
    assert (first.route, first.requests, first.failed) == ("page", 3, 1)
    assert (second.route, second.requests, second.failed) == ("font", 1, 0)
    taken = sample(metrics.collect(), age=None, stage="")
    assert (taken.requests, taken.failed, taken.busy) == (4, 1, 0)


def test_the_history_keeps_an_hour(tmp_path: Path) -> None:
    assert MOST_SAMPLES * SAMPLE_SECONDS == 3600
    kept = History(tmp_path, most=3)
    for number in range(5):
        kept.add(Sample(float(number)))
    assert [each.time for each in kept.samples] == [2, 3, 4]


# -- all workers ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tiny_store: str) -> Iterator[Served]:
    with server_process(tiny_store, None, "--workers=2") as server_and_address:
        yield server_and_address


def scraped(address: str) -> dict[str, dict[str, float]]:
    """Samples of the metrics, by name and by the worker or the route."""
    with urllib.request.urlopen(f"{address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    values: dict[str, dict[str, float]] = {}
    for each in (each for family in text_string_to_metric_families(text) for each in family.samples):
        values.setdefault(each.name, {})[each.labels.get("pid", each.labels.get("route", ""))] = each.value
    return values


def healthy(address: str) -> float:
    return scraped(address)["headscape_requests_total"]["/_healthz"]


def measured(address: str) -> bool:
    """Whether the metrics have the memory of two workers."""
    sizes = scraped(address)["headscape_resident_bytes"].values()
    return len(sizes) == 2 and all(size > 1e7 for size in sizes)


@pytest.mark.slow
@pytest.mark.heavy
def test_metrics_are_of_all_workers_and_outlive_them(served: Served) -> None:
    server, address = served
    before = healthy(address)
    for _ in range(20):
        urllib.request.urlopen(f"{address}/_healthz", timeout=60).read()
    assert healthy(address) == before + 20
    reload(server)
    assert healthy(address) == before + 20


@pytest.mark.slow
@pytest.mark.heavy
def test_a_killed_worker_leaves_no_memory_in_the_metrics_and_its_successor_takes_its_place(served: Served) -> None:
    server, address = served
    wait_until(lambda: measured(address))
    first = min(workers(server))
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: first not in workers(server) and len(workers(server)) == 2)
    wait_until(lambda: measured(address))


@pytest.mark.slow
@pytest.mark.heavy
def test_one_worker_writes_the_history_that_the_page_of_any_shows(served: Served) -> None:
    form = b"pathname=/server&search=&snapshot="
    with urllib.request.urlopen(f"{served[1]}/data/page", form, timeout=60) as answer:
        assert "open connections" in answer.read().decode()
