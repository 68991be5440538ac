"""Monitoring of the server: metrics that Prometheus reads, health apart from readiness, an access log in JSON."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from dashboard.access.person import Person, sign_request
from dashboard.app import create_app
from dashboard.monitoring.logs import LONGEST_PATH, AccessLog, Entry, Lines, check_file
from dashboard.monitoring.metrics import Metrics
from dashboard.monitoring.monitor import Monitor, WatchedApplication
from dashboard.serving import Serving
from dashboard.web.addresses import PEER, AddressList, address_list
from dashboard.web.admission import WaitingLine, metered_by
from dashboard.web.connections import STOPS
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore
from store.repository.errors import StoreUnreachable

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(text: str) -> Samples:
    """Samples of the metrics, by name and labels."""
    families: list[Metric] = list(text_string_to_metric_families(text))
    return {
        (each.name, tuple(sorted(each.labels.items()))): each.value for family in families for each in family.samples
    }


def value(text: str, name: str, **labels: str) -> float:
    return samples(text)[name, tuple(sorted(labels.items()))]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "access.log"


@pytest.fixture(scope="module")
def own_client(tiny_store: str, log: Path) -> FlaskClient:
    """A client of an application for these tests alone, which writes an access log."""
    return create_app(ServedStore(tiny_store), Serving(access_log=str(log))).server.test_client()


def entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


# -- metrics --------------------------------------------------------------------------------------------


def test_requests_are_counted_by_route_method_and_class_of_status(own_client: FlaskClient) -> None:
    for path in ("/fonts/Roboto-Regular.woff2", "/fonts/Roboto-Medium.woff2", "/fonts/none"):
        own_client.get(path)
    text = own_client.get("/metrics").text
    assert value(text, "headscape_requests_total", route="font", method="GET", status="2xx") == 2
    assert value(text, "headscape_requests_total", route="font", method="GET", status="4xx") == 1
    assert value(text, "headscape_request_seconds_count", route="font") == 3


def test_no_path_of_a_client_becomes_a_label(own_client: FlaskClient) -> None:
    for path in ("/data/1/secret", "/secret", "/assets/secret.js", "/fonts/secret"):
        own_client.get(path)
    own_client.open("/secret", method="SECRET")
    assert "secret" not in own_client.get("/metrics").text.lower()


def test_latencies_have_classes_from_five_milliseconds_to_half_a_minute(own_client: FlaskClient) -> None:
    own_client.get("/_healthz")
    limits = {dict(labels).get("le") for name, labels in samples(own_client.get("/metrics").text)}
    assert {"0.005", "30.0", "+Inf"} <= limits


def test_metrics_tell_the_state_of_the_store(own_client: FlaskClient) -> None:
    text = own_client.get("/metrics").text
    assert value(text, "headscape_ready") == 1
    assert value(text, "headscape_snapshot_age_seconds") >= 0
    assert value(text, "headscape_ingest_running") == 0
    assert value(text, "headscape_model_running") == 0


def test_a_queue_counts_who_waits_and_whom_it_refuses() -> None:
    metrics, turns = Metrics(), WaitingLine(0, "Busy. Try again.", name="files")
    with metered_by(metrics), turns.turn(lambda: False):
        assert value(metrics.text().decode(), "headscape_queue_waiting", queue="files") == 1
        with pytest.raises(Refusal), turns.turn(lambda: False):
            raise AssertionError
    text = metrics.text().decode()
    assert value(text, "headscape_queue_waiting", queue="files") == 0
    assert value(text, "headscape_refusals_total", queue="files") == 1
    assert value(text, "headscape_queue_wait_seconds_count", queue="files") == 1


def test_two_applications_share_no_metrics(own_client: FlaskClient, tiny_store: str) -> None:
    own_client.get("/_healthz")
    other = create_app(ServedStore(tiny_store)).server.test_client()
    assert "/_healthz" in own_client.get("/metrics").text
    assert "/_healthz" not in other.get("/metrics").text


@pytest.mark.parametrize(
    ("peer", "client", "status"),
    [
        ("127.0.0.1", "127.0.0.1", 200),
        ("10.0.0.7", "10.0.0.7", 403),
        ("127.0.0.1", "10.0.0.7", 403),
        ("unix", "unix", 403),
        ("::1", "::1", 200),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1", 200),
    ],
)
def test_metrics_are_for_this_machine_unless_told_otherwise(
    own_client: FlaskClient, peer: str, client: str, status: int
) -> None:
    answer = own_client.get("/metrics", environ_overrides={PEER: peer, "REMOTE_ADDR": client})
    assert answer.status_code == status


def test_addresses_that_may_read_the_metrics_are_named_by_a_flag() -> None:
    named = address_list(["10.0.0.0/24", " 192.0.2.1", "unix", ""], flag="--metrics-from")
    assert all(address in named for address in ("10.0.0.7", "192.0.2.1", "unix"))
    assert not any(address in named for address in ("127.0.0.1", "10.0.1.7", "nobody", ""))
    assert address_list([""], flag="--metrics-from") == AddressList()


def test_a_wrong_address_is_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"--metrics-from=10\.0\.0\.300 is not an address\. Write addresses such as"):
        address_list(["10.0.0.300"], flag="--metrics-from")


# -- readiness ------------------------------------------------------------------------------------------


def test_a_server_is_ready_where_its_newest_snapshot_can_be_read(own_client: FlaskClient) -> None:
    assert own_client.get("/_readyz").status_code == 200


class GoneStore(ServedStore):
    @property
    def newest(self) -> str:
        raise StoreUnreachable("The store does not answer. Try again in a minute.")


def test_a_server_whose_store_is_gone_is_alive_but_not_ready(tiny_store: str) -> None:
    own_client = create_app(GoneStore(tiny_store)).server.test_client()
    answer = own_client.get("/_readyz")
    assert (answer.status_code, answer.text) == (503, "The store does not answer. Try again in a minute.")
    assert own_client.get("/_healthz").status_code == 200
    text = own_client.get("/metrics").text
    assert value(text, "headscape_ready") == 0
    assert "headscape_snapshot_age_seconds" not in text


def test_a_server_that_stops_is_not_ready(own_client: FlaskClient) -> None:
    answer = own_client.get("/_readyz", environ_overrides={STOPS: True})
    assert answer.status_code == 503
    assert answer.text.startswith("This server is stopping.")


# -- the access log -------------------------------------------------------------------------------------


def test_each_request_is_a_line_of_json(own_client: FlaskClient, log: Path) -> None:
    answer = own_client.get("/_healthz")
    entry = entries(log)[-1]
    assert entry.pop("time").endswith("+00:00")
    assert entry.pop("milliseconds") >= 0
    assert entry == {
        "id": answer.headers["X-Request-ID"],
        "user": "",
        "peer": "127.0.0.1",
        "method": "GET",
        "route": "/_healthz",
        "path": "/_healthz",
        "status": 200,
        "bytes": 2,
    }


def test_the_access_log_names_who_sent_a_request(tiny_store: str, log: Path) -> None:
    server = create_app(ServedStore(tiny_store), Serving(access_log=str(log))).server
    server.before_request_funcs.setdefault(None, []).append(lambda: sign_request(Person("ada", "reader")))
    server.test_client().get("/_healthz")
    assert entries(log)[-1]["user"] == "ada"


def test_what_is_typed_is_not_logged(own_client: FlaskClient, log: Path) -> None:
    own_client.get("/sentence?text=a+private+text")
    own_client.post("/data/page", data={"pathname": "/", "search": "?q=private", "snapshot": ""})
    assert "private" not in log.read_text("utf-8")


@given(path=st.text(), method=st.text(), user=st.text())
def test_nothing_that_a_client_sends_ends_a_line(path: str, method: str, user: str) -> None:
    entry = Entry("1", user, "::1", method, "page", path, 200, 1.0, 2)
    line = entry.line(datetime.now(UTC))
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["path"] == path[:LONGEST_PATH]


def test_a_log_that_is_moved_away_is_opened_anew(tmp_path: Path) -> None:
    log = tmp_path / "moved.log"
    written = AccessLog(str(log))
    entry = Entry("1", "ada", "::1", "GET", "page", "/", 200, 1.0, 2)
    written.write(entry)
    log.rename(log.with_suffix(".1"))
    written.write(entry)
    assert len(entries(log)) == len(entries(log.with_suffix(".1"))) == 1


def test_others_cannot_read_the_log_which_names_people(tmp_path: Path) -> None:
    check_file(str(tmp_path / "checked"))
    AccessLog(str(tmp_path / "written")).write(Entry("1", "ada", "::1", "GET", "page", "/", 200, 1.0, 2))
    assert [file.stat().st_mode & 0o777 for file in sorted(tmp_path.iterdir())] == [0o640, 0o640]


def test_the_log_goes_to_standard_output_for_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    AccessLog("-").write(Entry("1", "ada", "::1", "GET", "page", "/", 200, 1.0, 2))
    assert json.loads(capsys.readouterr().out)["user"] == "ada"


def test_a_log_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot be written \(Is a directory\). Give another file, or -"):
        check_file(str(tmp_path))


# -- ids ------------------------------------------------------------------------------------------------


def answered(environ: dict[str, str], proxies: tuple[str, ...] = ()) -> str:
    """The request id in the answer to a request."""
    headers: dict[str, str] = {}

    def application(_: object, start: Any) -> Iterator[bytes]:
        start("200 OK", [])
        yield b"ok"

    def start(_status: str, pairs: list[tuple[str, str]]) -> None:
        headers.update(pairs)

    watched = WatchedApplication(application, Metrics(), None, proxies)
    assert b"".join(watched({"REQUEST_METHOD": "GET"} | environ, start)) == b"ok"  # type: ignore[arg-type]
    return headers["X-Request-ID"]


@pytest.mark.parametrize("name", ["", "a b", "a\tb", "x" * 65, '"', "ä"])
def test_an_id_that_is_not_sane_is_replaced(name: str) -> None:
    environ = {"HTTP_X_REQUEST_ID": name, "REMOTE_ADDR": "10.0.0.1"}
    assert answered(environ, ("10.0.0.1",)) != name


def test_only_a_trusted_proxy_names_a_request() -> None:
    environ = {"HTTP_X_REQUEST_ID": "from-nginx", "REMOTE_ADDR": "192.0.2.7", PEER: "10.0.0.1"}
    assert answered(environ, ("10.0.0.1",)) == "from-nginx"
    assert answered(environ) != "from-nginx"


def test_a_line_on_a_refusal_has_the_id_of_its_request(
    own_client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.setFormatter(Lines("%(message)s"))
    with caplog.at_level(logging.WARNING):
        answer = own_client.get("/data/1/gone")
    assert caplog.text.rstrip().endswith(f"[request {answer.headers['X-Request-ID']}]")


def test_the_length_of_a_streamed_answer_is_counted(log: Path) -> None:
    def application(_: object, start: Any) -> Iterator[bytes]:
        start("200 OK", [])
        yield b"one"
        yield b"three"

    watched = WatchedApplication(application, Metrics(), AccessLog(str(log)))
    answer = watched({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, lambda *_: None)  # type: ignore[arg-type, return-value]
    assert b"".join(answer) == b"onethree"
    answer.close()  # type: ignore[attr-defined]
    assert entries(log)[-1]["bytes"] == 8


def test_a_request_that_ends_before_its_answer_begins_is_counted_as_an_error_of_the_server() -> None:
    def application(*_: object) -> list[bytes]:
        raise SystemExit

    metrics = Metrics()
    with pytest.raises(SystemExit):
        WatchedApplication(application, metrics, None)({"REQUEST_METHOD": "GET"}, lambda *_: None)  # type: ignore[arg-type, return-value]
    text = metrics.text().decode()
    assert value(text, "headscape_requests_total", route="none", method="GET", status="5xx") == 1


class Enough(BaseException):
    """Ends the loop that measures a worker."""


def test_a_worker_is_measured_again_after_an_error(tiny_store: str) -> None:
    monitor, asked = Monitor(ServedStore(tiny_store)), iter([OSError(), 3, Enough()])

    def connections() -> int:
        number = next(asked)
        if isinstance(number, BaseException):
            raise number
        return number

    with pytest.raises(Enough):
        monitor._measure(connections)
    assert value(monitor.text().decode(), "headscape_open_connections") == 3
