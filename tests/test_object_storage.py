"""A store in object storage, on a local S3 server: written and read as on a disk, even with faulty answers."""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import store
from dashboard.web.served_store import ServedStore
from store.__main__ import main
from store.repository.access import open_repository
from store.repository.errors import StoreError, StoreNotFound, StoreUnreachable
from store.repository.history import expire, history
from store.repository.remote import LONGEST_READ
from store.repository.writer import Writer, open_writer
from tests.bench.faulty_s3 import FAULTS, Fault, FaultyS3, faulty_s3

pytestmark = pytest.mark.slow

URL = "s3://bucket/store"


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyS3]:
    with faulty_s3() as proxy:
        yield proxy


@pytest.fixture
def s3(server: FaultyS3) -> Iterator[FaultyS3]:
    """The S3 server with an empty bucket and without faults."""
    server.empty()
    yield server
    server.calm()


def written(number: int) -> str:
    """Publish a number in the store; returns the snapshot."""
    with open_writer(URL) as writer:
        writer.root.attrs["number"] = number
        values = writer.root.require_array("values", shape=(4_096,), dtype="i4", chunks=(512,))
        values[:] = number
        return writer.publish(f"number {number}")


def numbers() -> list[str]:
    """Messages of all publications, oldest first."""
    return [publication.message for publication in history(open_repository(URL), URL)][::-1]


def commits() -> list[str]:
    return [info.message for info in open_repository(URL).ancestry(branch="ingest")][::-1][2:]


@pytest.mark.parametrize("fault", FAULTS)
def test_no_publication_is_lost_or_made_twice(s3: FaultyS3, fault: Fault) -> None:
    # icechunk retries all other requests; a larger share of cut answers would end a call of several requests.
    s3.fail(fault, share=0.05 if fault == "cut answer" else 0.2, seconds=0.1)
    for number in range(4):
        written(number)
    s3.calm()
    assert numbers() == commits() == [f"number {number}" for number in range(4)]
    assert s3.injected[fault] > 0


@pytest.mark.parametrize("branch", ["ingest", "main"])
def test_a_move_of_a_branch_whose_answer_is_lost_has_happened(s3: FaultyS3, branch: str) -> None:
    written(0)
    s3.fail("lost answer", path=f"branch.{branch}", most=1)
    written(1)
    assert s3.injected["lost answer"] == 1
    assert numbers() == commits() == ["number 0", "number 1"]


def test_a_store_whose_creation_was_answered_with_an_error_is_there(s3: FaultyS3) -> None:
    s3.fail("lost answer", path="refs/", most=2)
    with open_writer(URL) as writer:
        assert not writer.changed


@pytest.mark.parametrize("fault", ["cut answer", "500"])
def test_a_reader_gets_whole_arrays(s3: FaultyS3, few_store: str, fault: Fault) -> None:
    s3.upload(Path(few_store), "store")
    s3.fail(fault, share=0.2)
    assert store.open_corpus(URL).query.identical(store.open_corpus(few_store).query)
    assert s3.injected[fault] > 0


@pytest.mark.usefixtures("s3")
def test_of_two_writers_one_commits() -> None:
    written(0)
    with open_writer(URL) as first, open_writer(URL) as second:
        for writer in (first, second):
            writer.root.attrs["writer"] = repr(writer)
        first.commit("first")
        with pytest.raises(StoreError, match=r"^Another ingest has written .* Run the ingest again\.$"):
            second.commit("second")
    assert commits() == ["number 0", "first"]


class Overtaken:
    """A repository of the store, with an act of another ingest right before the next call of `method`."""

    def __init__(self, method: str, act: Callable[[], object]) -> None:
        self._repository, self._method, self._act = open_repository(URL), method, act
        self.is_overtaken = False

    def __getattr__(self, name: str) -> Any:
        if self.is_overtaken and name == self._method:
            self.is_overtaken = False
            self._act()
        return getattr(self._repository, name)


def publish_overtaken(method: str, act: Callable[[], object]) -> None:
    repository = Overtaken(method, act)
    writer = Writer(repository, URL)  # type: ignore[arg-type]
    writer.root.attrs["writer"] = "first"
    repository.is_overtaken = True
    writer.publish("first")


def commit_of_another() -> None:
    writer = Writer(open_repository(URL), URL)
    writer.root.attrs["writer"] = "other"
    writer.commit("of another")


@pytest.mark.usefixtures("s3")
def test_a_writer_does_not_go_on_with_the_work_of_another() -> None:
    """Another ingest begins and commits between our commit and our next transaction."""
    written(0)
    with pytest.raises(StoreError, match="Another ingest has written"):
        publish_overtaken("writable_session", commit_of_another)
    assert numbers() == ["number 0"]


@pytest.mark.usefixtures("s3")
def test_a_late_writer_does_not_take_back_the_publication_of_another() -> None:
    written(0)
    with pytest.raises(StoreError, match="Another ingest has published"):
        publish_overtaken("reset_branch_async", lambda: written(1))
    assert numbers()[-1] == "number 1"


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize(("place", "flushed"), [(URL, 0), ("{folder}/store", 1)])
def test_a_publication_flushes_the_disk_that_it_is_on(
    place: str, flushed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushes: list[bool] = []
    monkeypatch.setattr(os, "sync", lambda: flushes.append(True))
    with open_writer(place.format(folder=tmp_path)) as writer:
        writer.publish("first")
    assert len(flushes) == flushed


@pytest.mark.usefixtures("s3")
def test_expiring_deletes_old_snapshots() -> None:
    for number in range(3):
        written(number)
    assert expire(URL, timedelta(0))[0] > 0
    assert numbers() == ["number 2"]


def test_a_server_asks_object_storage_for_the_newest_publication_now_and_then(s3: FaultyS3, few_store: str) -> None:
    s3.upload(Path(few_store), "store")
    served_store = ServedStore(URL, ask_again=1_000)
    newest, asked = served_store.newest, s3.seen.total()
    assert served_store.newest == newest
    assert s3.seen.total() == asked


def test_a_server_sees_a_publication_in_object_storage(s3: FaultyS3, few_store: str) -> None:
    s3.upload(Path(few_store), "store")
    served_store = ServedStore(URL, ask_again=0)
    assert served_store.snapshot().corpus().n_sentences == 10
    snapshot = written(1)
    assert served_store.snapshot().id == served_store.newest == snapshot


@pytest.mark.usefixtures("s3")
def test_where_no_store_is_the_command_that_makes_one_is_said() -> None:
    with pytest.raises(StoreNotFound, match=r"Run `headscape ingest --store=s3://bucket/store`\.$"):
        open_repository(URL)


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("open_store", [open_repository, lambda url: open_writer(url).__enter__()])
def test_a_missing_bucket_is_said(open_store: Callable[[str], object]) -> None:
    with pytest.raises(StoreUnreachable, match=r"Its bucket does not exist\. Create the bucket"):
        open_store("s3://nowhere/store")


@pytest.mark.usefixtures("s3")
def test_missing_credentials_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(StoreUnreachable, match=r"There are no credentials\. Set AWS_ACCESS_KEY_ID"):
        open_repository(URL)


@pytest.mark.usefixtures("s3")
def test_storage_that_cannot_be_reached_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(StoreUnreachable, match=r"Check your connection and AWS_ENDPOINT_URL"):
        open_repository(URL, limit=2.0)


def test_a_silent_storage_is_not_waited_for_without_end(s3: FaultyS3) -> None:
    s3.fail("slow", seconds=60)
    with pytest.raises(StoreUnreachable, match="The storage does not answer"):
        open_repository(URL, limit=2.0)
    assert LONGEST_READ <= 20


def test_mend_says_that_it_is_for_folders(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mend", f"--store={URL}"]) == 1
    assert "is not a local folder. Restore its refs/" in capsys.readouterr().err
