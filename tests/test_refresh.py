"""A failed refresh is visible beside the store, on page Store and in the metrics. The units of docs/serving run as written."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dashboard.access.person import Person, sign_request
from dashboard.app import create_app
from dashboard.monitoring.monitor import store_metrics
from dashboard.pages import TOPICS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from ingest.__main__ import main as ingest_command
from ingest.run.process import INTERRUPTED, UNEXPECTED, outcome_noted
from store.repository.files import take_lock
from store.repository.ingest_status import (
    KILLED,
    OUTCOME,
    IngestOutcome,
    IngestProgress,
    ingest_outcome,
    note_outcome,
    note_progress,
)
from tests.complaints import complaint_of

UNITS = Path(__file__).parents[1] / "docs/serving"


@pytest.fixture
def store(tiny_store: str, tmp_path: Path) -> str:
    """A copy of the tiny store for this test alone."""
    return str(shutil.copytree(tiny_store, tmp_path / "store"))


def page_store(store: str) -> str:
    return str(TOPICS["store"].layout(resolve(ServedStore(store), "store", "")).above)


def failed(store: str) -> float:
    metrics = {metric.name: metric.samples[0].value for metric in store_metrics(ServedStore(store))}
    return metrics["headscape_ingest_failed"]


def test_a_refresh_that_fails_is_seen_on_page_store_and_in_the_metrics(
    store: str, tiny_model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = {"model": tiny_model, "data": tmp_path / "gone.csv", "store": store}
    sentence = complaint_of(ingest_command, "ingest", arguments, capfd)
    page = page_store(store)
    assert "The last ingest failed on" in page
    assert sentence in page
    assert failed(store) == 1


def test_a_refresh_that_succeeds_takes_the_failure_away(store: str) -> None:
    note_outcome(store, "The disk is full. Free some space.")
    with outcome_noted(store):
        pass
    assert "The last ingest failed" not in page_store(store)
    assert failed(store) == 0


def test_a_reader_is_not_told_why_as_it_may_name_folders(store: str) -> None:
    note_outcome(store, "/srv/reviews.csv does not exist. Give another file.")
    with create_app(ServedStore(store)).server.test_request_context():
        sign_request(Person("ada", "reader"))
        page = page_store(store)
    assert "Tell those who run this server." in page
    assert "/srv" not in page


@pytest.mark.parametrize(
    ("error", "failure"), [(KeyboardInterrupt(), INTERRUPTED), (ZeroDivisionError("a mistake"), UNEXPECTED)]
)
def test_every_end_of_an_ingest_is_noted(error: BaseException, failure: str, store: str) -> None:
    with pytest.raises(type(error)), outcome_noted(store):
        raise error
    outcome = ingest_outcome(store)
    assert outcome is not None
    assert outcome.failure == failure
    assert outcome.ended == pytest.approx(time.time(), abs=60)


def test_an_ingest_that_was_killed_is_seen_by_the_progress_that_it_left(store: str) -> None:
    lock = take_lock(Path(store))
    assert lock is not None
    with lock:
        note_progress(store, IngestProgress("a model on reviews", "tensors"))
        assert ingest_outcome(store) is None
    outcome = ingest_outcome(store)
    assert outcome is not None
    assert outcome.failure == KILLED


def test_the_ingest_that_writes_the_store_is_not_overwritten_by_one_that_may_not(store: str) -> None:
    lock = take_lock(Path(store))
    assert lock is not None
    with lock:
        note_outcome(store, "Another ingest writes this store. Try again later.")
    assert ingest_outcome(store) is None


@pytest.mark.parametrize("place", ["s3://bucket/store", "nowhere", "letters"])
def test_nothing_is_noted_where_there_is_no_store(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("letters").mkdir()
    note_outcome(place, "There is no data. Give a file.")
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]
    assert ingest_outcome(place) is None


def test_a_note_has_its_time(store: str) -> None:
    Path(f"{store}{OUTCOME}").write_text('{"ended": 5.0, "failure": "No."}')
    assert ingest_outcome(store) == IngestOutcome(5.0, "No.")


@pytest.mark.heavy
def test_systemd_accepts_the_units_of_the_refresh(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this machine has no systemd-analyze")
    installed = str(Path(sys.executable).with_name("headscape"))
    for unit in UNITS.glob("headscape-refresh.*"):
        text = unit.read_text("utf-8").replace("/opt/headscape/.venv/bin/headscape", installed)
        (tmp_path / unit.name).write_text(text, "utf-8")
    units = [str(unit) for unit in sorted(tmp_path.iterdir())]
    assert len(units) == 2
    verified = subprocess.run([analyze, "verify", "--man=no", *units], check=False, capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")
