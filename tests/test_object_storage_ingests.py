"""Ingests to object storage, on a local S3 server: two at once, on a worker, checked and served."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from dashboard.app import create_app
from dashboard.web.served_store import ServedStore
from ingest import pipeline
from ingest.__main__ import main as ingest_command
from store import Snapshot, open_snapshot
from store.__main__ import main
from store.repository.access import open_repository
from store.repository.history import history
from store.repository.writer import Writer
from tests.bench.faulty_s3 import FaultyS3, faulty_s3
from tests.bench.kills import differences
from tests.family import PATIENCE
from tests.forks import forked_workers, forks
from tests.stores import LIMITS

pytestmark = pytest.mark.slow

Ingest = Callable[..., str]
Begin = Callable[[str], BaseProcess]
URL = "s3://bucket/store"
#: Sentences that begin a third block; the first block is that of `few_store`.
SENTENCES = 25


def _wait(ending: str, folder: Path, flags: list[str], environment: dict[str, str]) -> None:
    """Run the real command, with blocks of the size of the fixture `ingest`.

    At the first commit whose message ends with `ending`, the process makes a file in the folder, and waits for a file `go`.
    """
    os.environ |= environment
    os.dup2(os.open(folder / "err", os.O_WRONLY | os.O_CREAT), 2)
    commit, sys.argv[1:] = Writer.commit, flags

    def wait(writer: Writer, message: str, *rest: Any) -> str:
        if message.endswith(ending):
            Writer.commit = commit  # type: ignore[method-assign]
            (folder / str(os.getpid())).touch()
            while not (folder / "go").exists():
                time.sleep(0.01)
        return commit(writer, message, *rest)

    Writer.commit, pipeline.run = wait, partial(pipeline.run, limits=LIMITS)  # type: ignore[method-assign]
    sys.exit(ingest_command())


@pytest.fixture
def s3() -> Iterator[FaultyS3]:
    with faulty_s3() as server:
        yield server


@pytest.fixture
def begin(tiny_model: Path, tiny_data: Path, tmp_path: Path, s3: FaultyS3) -> Begin:
    """A function that starts an ingest, which waits at a commit."""
    assert s3.address
    options = {"store": URL, "model": tiny_model, "data": tiny_data, "sentences": SENTENCES, "max-length": 24}
    options |= {"views": "pca-exact-2d", "features": "none", "annotate": "none"}
    (tmp_path / "waiting").mkdir()
    flags = [f"--{name}={value}" for name, value in options.items()]

    def begin(ending: str) -> BaseProcess:
        process = forks().Process(
            target=_wait, args=(ending, tmp_path / "waiting", flags, dict(os.environ)), daemon=True
        )
        process.start()
        return process

    return begin


@pytest.fixture(scope="module")
def alone(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The snapshot that an ingest to a folder makes in one go."""
    return open_snapshot(ingest(tmp_path_factory.mktemp("alone") / "store", sentences=SENTENCES))


def wait_for(process: BaseProcess, folder: Path) -> None:
    """Wait until an ingest has come to its commit."""
    for _ in range(100 * PATIENCE):
        if (folder / "waiting" / str(process.pid)).exists():
            return
        assert process.is_alive(), (folder / "waiting" / "err").read_text()
        time.sleep(0.01)
    raise AssertionError("The ingest has not come to its commit.")


def commits() -> list[str]:
    return [info.message for info in open_repository(URL).ancestry(branch="ingest")]


def test_an_ingest_goes_on_from_the_commits_of_one_that_stopped_which_then_says_so(
    begin: Begin, ingest: Ingest, alone: Snapshot, few_store: str, s3: FaultyS3, tmp_path: Path
) -> None:
    """A killed ingest looks like one that waits, as object storage has no lock."""
    s3.upload(Path(few_store), "store")
    first = begin(": block 2")
    wait_for(first, tmp_path)
    before = commits()
    ingest(URL, sentences=SENTENCES)
    snapshot = open_snapshot(URL)
    assert before[0].endswith(": block 1")
    assert [message for message in commits()[: -len(before)] if message.endswith(": block 1")] == []
    assert differences(snapshot, alone) == []
    (tmp_path / "waiting" / "go").touch()
    first.join()
    assert first.exitcode == 1
    said = (tmp_path / "waiting" / "err").read_text().splitlines()[-1]
    assert said == f"ingest: Another ingest has written {URL} in the meantime. Run the ingest again."
    newest = history(open_repository(URL), URL)[0]
    assert (newest.snapshot, f"{SENTENCES} sentences" in newest.message) == (snapshot.id, True)


@pytest.mark.usefixtures("s3")
def test_a_worker_writes_the_same_to_object_storage(ingest: Ingest, alone: Snapshot) -> None:
    with forked_workers():
        ingest(URL, workers=1, sentences=SENTENCES)
    assert differences(open_snapshot(URL), alone) == []


def test_a_store_in_object_storage_is_verified_and_served(
    s3: FaultyS3, few_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.upload(Path(few_store), "store")
    assert main(["verify", f"--store={URL}"]) == 0
    assert "sound" in capsys.readouterr().out
    answer = create_app(ServedStore(URL)).server.test_client().post("/data/page", data={"pathname": "/heads"})
    assert (answer.status_code, b"pca-exact-2d" in answer.data) == (200, True)
