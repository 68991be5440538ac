"""A temporary folder that is full costs speed only: no worker ends, no answer is lost, and no thread stops."""

import os
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from prometheus_client.multiprocess import MultiProcessCollector
from waitress.buffers import OverflowableBuffer

from dashboard.app import create_app
from dashboard.monitoring import metrics
from dashboard.monitoring.metrics import (
    FILE_BYTES,
    VARIABLE,
    AllocatedFile,
    Metrics,
    forget,
    share_metrics,
    take_places,
)
from dashboard.ui import files
from dashboard.web import processes
from dashboard.web.http import data_link
from dashboard.web.processes import ServerFolder, write_whole
from dashboard.web.results import DiskCache
from dashboard.web.served_store import ServedStore
from store import open_corpus
from tests.full_disk import PIECE, full_disk


@pytest.fixture
def full() -> Iterator[None]:
    with full_disk():
        yield


def _allocated(file: Path) -> bool:
    """Whether the whole file is allocated on the disk."""
    known = file.stat()
    return known.st_blocks * 512 >= known.st_size


def _read(file: Path) -> dict[str, float]:
    return {key: value for key, value, *_ in AllocatedFile.read_all_values_from_file(str(file))}


# -- metrics ----------------------------------------------------------------------------------------------


def test_a_file_of_metrics_has_its_room_before_anything_is_written(tmp_path: Path) -> None:
    place, sizes = tmp_path / "counter_0.db", set()
    with closing(AllocatedFile(str(place))) as file:
        for number in range(3_000):
            assert _allocated(place)
            sizes.add(place.stat().st_size)
            file.write_value(f"series {number}", number, 0.0)
    assert sizes == {FILE_BYTES, 2 * FILE_BYTES}
    assert _read(tmp_path / "counter_0.db") == {f"series {number}": number for number in range(3_000)}


@pytest.mark.usefixtures("full")
def test_where_the_disk_is_full_the_series_that_are_there_go_on(tmp_path: Path) -> None:
    with closing(AllocatedFile(str(tmp_path / "counter_0.db"))) as file:
        for number in range(2_000):
            file.write_value(f"series {number}", 1.0, 0.0)
        file.write_value("series 0", 2.0, 0.0)
    read = _read(tmp_path / "counter_0.db")
    assert (tmp_path / "counter_0.db").stat().st_size == FILE_BYTES
    assert read == {"series 0": 2.0} | {f"series {number}": 1.0 for number in range(1, len(read))}
    assert len(read) > 1_000


def test_the_room_of_all_workers_is_taken_when_the_server_starts(tmp_path: Path) -> None:
    take_places(tmp_path, 2)
    files = sorted(file for file in tmp_path.iterdir() if file.suffix == ".db")
    assert [file.name for file in files if "_1" in file.name] == sorted(f"{kind}_1.db" for kind in metrics.KINDS)
    assert len(files) == 8
    assert all(file.stat().st_size == FILE_BYTES and _allocated(file) for file in files)
    assert not list(MultiProcessCollector(None, str(tmp_path)).collect())


def test_the_place_of_a_worker_that_ended_keeps_its_room(tmp_path: Path) -> None:
    file = tmp_path / "gauge_liveall_0.db"
    with closing(AllocatedFile(str(file))) as values_of_place:
        values_of_place.write_value("memory", 5.0, 0.0)
    forget(tmp_path, 0)
    assert _read(file) == {}
    assert _allocated(file)


def test_a_worker_without_room_for_metrics_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with full_disk(FILE_BYTES // 2):
        own, place = share_metrics(tmp_path)
    assert place is None
    own.answered("page", "GET", 200, 0.1)
    assert b'headscape_requests_total{method="GET",route="page",status="2xx"} 1.0' in own.text()
    assert isinstance(own, Metrics)


# -- the cache, and what only saves time -------------------------------------------------------------------


def test_the_cache_takes_half_of_what_the_disk_has(tmp_path: Path) -> None:
    disk = 1_000_000

    def free(folder: Path) -> int:
        return disk - sum(file.stat().st_size for file in folder.iterdir())

    cache = DiskCache(tmp_path, 1 << 30, free=free)
    for number in range(100):
        cache.add(str(number), b"", BytesIO(bytes(40_000)))
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= disk // 2
    assert {number for number in range(100) if (tmp_path / sha256(str(number).encode()).hexdigest()).exists()} == set(
        range(88, 100)
    )
    disk = 0
    cache.add("none", b"", BytesIO(b"content"))
    assert cache.find("none") is None


@pytest.mark.usefixtures("full")
def test_what_is_written_for_other_processes_is_left_out(tmp_path: Path) -> None:
    write_whole(tmp_path / "small", b"content")
    write_whole(tmp_path / "large", bytes(2 * PIECE))
    assert [file.name for file in tmp_path.iterdir()] == ["small"]


def test_the_process_of_the_model_starts(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    with full_disk(0), folder.encoding():
        assert folder.encoder_process is None
    with folder.encoding():
        assert folder.encoder_process == os.getpid()


@pytest.mark.usefixtures("full")
def test_an_answer_that_waits_for_its_client_goes_on_in_memory() -> None:
    processes.let_answers_overflow()  # as in every worker
    answer, content = OverflowableBuffer(1_000), os.urandom(5 * PIECE)
    for start in range(0, len(content), 30_000):
        answer.append(content[start : start + 30_000])
    sent = b""
    while answer:
        sent += answer.get(10_000, skip=True)
    assert sent == content


@pytest.mark.usefixtures("full")
def test_a_file_that_the_disk_has_no_room_for_is_one_sentence(tiny_store: str) -> None:
    client = create_app(ServedStore(tiny_store, file_memory=1_000)).server.test_client()
    corpus = open_corpus(tiny_store)
    answer = client.get(f"{data_link(corpus)}/points/{corpus.views[0]}/grid.csv")
    assert (answer.status_code, answer.text) == (503, files.FULL)
