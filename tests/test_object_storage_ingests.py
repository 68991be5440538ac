"""Ingests to object storage, on a local S3 server: killed in the middle, two at once, on a worker, checked and served."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.app import create_app
from dashboard.web.library import Library
from store import Snapshot, open_snapshot
from store.__main__ import main
from store.repository.access import open_repository
from store.repository.history import history
from store.verify import verify
from tests.bench.faulty_s3 import FaultyS3, faulty_s3
from tests.bench.kills import differences
from tests.family import PATIENCE, Start

pytestmark = pytest.mark.slow

Ingest = Callable[..., str]
Begin = Callable[[str], subprocess.Popen[str]]
URL = "s3://bucket/store"
#: As many as fill a block and begin a second.
SENTENCES = 15
#: The real command, in blocks as the fixture `ingest` makes them. At the first commit whose message ends as the first argument
#: says, it makes a file for its process in the folder of the second, and waits until there is a file `go`.
WAITING = """
import os, time
from pathlib import Path
from functools import partial
from ingest import pipeline
from ingest.__main__ import main
from store.repository.writer import Writer
from tests.stores import LIMITS

ending, folder, commit = sys.argv.pop(1), Path(sys.argv.pop(1)), Writer.commit

def wait(writer, message, *rest):
    if message.endswith(ending):
        Writer.commit = commit
        (folder / str(os.getpid())).touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
    return commit(writer, message, *rest)

Writer.commit, pipeline.run = wait, partial(pipeline.run, limits=LIMITS)
sys.exit(main())
"""


@pytest.fixture
def s3() -> Iterator[FaultyS3]:
    with faulty_s3() as server:
        yield server


@pytest.fixture
def begin(start_code: Start, tiny_model: Path, tiny_data: Path, tmp_path: Path, s3: FaultyS3) -> Begin:
    """Starts an ingest, which waits at a commit."""
    assert s3.address
    options = {"store": URL, "model": tiny_model, "data": tiny_data, "sentences": SENTENCES, "max-length": 24}
    options |= {"views": "pca-exact-2d", "features": "none", "annotate": "none"}
    (tmp_path / "waiting").mkdir()
    flags = [f"--{name}={value}" for name, value in options.items()]
    return lambda ending: start_code(WAITING, ending, str(tmp_path / "waiting"), *flags)


@pytest.fixture(scope="module")
def alone(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """What an ingest to a folder makes in one go."""
    return open_snapshot(ingest(tmp_path_factory.mktemp("alone") / "store", sentences=SENTENCES))


def wait_for(processes: list[subprocess.Popen[str]], folder: Path) -> None:
    """Until all of them wait at their commit."""
    for _ in range(100 * PATIENCE):
        if all((folder / "waiting" / str(process.pid)).exists() for process in processes):
            return
        assert all(process.poll() is None for process in processes), [process.communicate() for process in processes]
        time.sleep(0.01)
    raise AssertionError("An ingest has not come to its commit.")


def commits() -> list[str]:
    return [info.message for info in open_repository(URL).ancestry(branch="ingest")]


def test_an_ingest_killed_in_the_middle_goes_on_and_ends_the_same(
    begin: Begin, ingest: Ingest, alone: Snapshot, tmp_path: Path
) -> None:
    process = begin(": block 1")
    wait_for([process], tmp_path)
    process.kill()
    process.wait()
    ingest(URL, sentences=SENTENCES)
    assert differences(open_snapshot(URL), alone) == []
    assert len([message for message in commits() if message.endswith(": block 0")]) == 1


def test_of_two_ingests_at_once_one_publishes_and_the_other_says_so(
    begin: Begin, ingest: Ingest, alone: Snapshot, tmp_path: Path
) -> None:
    ingest(URL, sentences=5)
    both = [begin(""), begin("")]
    wait_for(both, tmp_path)
    (tmp_path / "waiting" / "go").touch()
    ends = sorted((process.wait(), process.communicate()[1].splitlines()[-1]) for process in both)
    assert [status for status, _ in ends] == [0, 1]
    assert ends[1][1] == f"ingest: Another ingest has written {URL} in the meantime. Run the ingest again."
    snapshot = open_snapshot(URL)
    assert list(verify(snapshot)) == []
    assert differences(snapshot, alone) == []
    assert [f"{SENTENCES} sentences" in own.message for own in history(snapshot.repository, URL)] == [
        True,
        False,
        False,
    ]


@pytest.mark.usefixtures("s3")
def test_a_worker_writes_the_same_to_object_storage(ingest: Ingest, alone: Snapshot) -> None:
    ingest(URL, workers=1, sentences=SENTENCES)
    assert differences(open_snapshot(URL), alone) == []


def test_a_store_in_object_storage_is_verified_and_served(
    s3: FaultyS3, few_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.upload(Path(few_store), "store")
    assert main(["verify", f"--store={URL}"]) == 0
    assert "sound" in capsys.readouterr().out
    answer = create_app(Library(URL)).server.test_client().post("/data/page", data={"pathname": "/heads"})
    assert (answer.status_code, b"pca-exact-2d" in answer.data) == (200, True)
