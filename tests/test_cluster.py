"""Workers of an ingest: the store is the same bit for bit, workers may die, and one sentence names what is missing."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing import Pipe, active_children
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest
import torch
from distributed import LocalCluster

from ingest.encode.tensors import Loading
from ingest.run.cluster import open_cluster
from ingest.run.errors import IngestError
from ingest.run.parallel import check_worker, versions
from ingest.run.settings import Settings
from store.repository.writer import Writer
from tests.forks import forked_workers, forks
from tests.made_once import made_once
from tests.stores import RULES
from tests.treebanks import write_treebank

pytestmark = pytest.mark.slow

Ingest = Callable[..., str]
ReadArrays = Callable[[str], dict[str, np.ndarray]]
Act = Callable[[], object]
#: Settings with every kind of work of a worker: blocks, fits that train and fits that look for neighbours, places, pairs, words,
#: rules, points. The few sentences begin a third block.
CHOSEN = {
    "sentences": 25,
    "views": "attention-raw-2d,tsne-raw-2d",
    "annotate": "auto",
    "features": "pca-joint",
    "reviews": "none",
    "attention_steps": 20,
    **RULES,
}
#: A program with a scheduler and its worker, which end with the process.
SCHEDULER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, memory_limit=0, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
#: Hides an editable installation, which would add its modules to another package named `ingest`.
NOT_EDITABLE = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return CHOSEN | {"data": made_once(tmp_path_factory, "bank.conllu", write_treebank)}


@pytest.fixture(scope="module")
def expected(
    settings: dict[str, Any], ingest: Ingest, read_arrays: ReadArrays, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, np.ndarray]:
    """Arrays of the store that a single process makes."""
    return read_arrays(ingest(tmp_path_factory.mktemp("alone") / "store", **settings))


def start_scheduler(*, workers: int = 1, threads: int = 1) -> tuple[BaseProcess, str]:
    """A process and the address of its scheduler, whose workers are threads of the process."""
    own, other = Pipe()
    process = forks().Process(target=_schedule, args=(other, workers, threads), daemon=True)
    process.start()
    other.close()  # else `recv` would wait for ever once the process has ended
    return process, own.recv()


def _schedule(driver: Connection, workers: int, threads: int) -> None:
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=False,
        protocol="tcp",
        memory_limit=0,
        dashboard_address=None,
    ) as cluster:
        driver.send(cluster.scheduler_address)
        signal.pause()  # until it is killed


def end(process: BaseProcess) -> None:
    process.kill()
    process.join()


@pytest.fixture
def scheduler(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a scheduler; the test's parameters set its workers."""
    process, address = start_scheduler(**getattr(request, "param", {}))
    yield address
    end(process)


@pytest.fixture
def foreign_scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler whose worker has another package named `ingest`."""
    other, script = tmp_path / "other", tmp_path / "scheduler.py"
    (other / "ingest").mkdir(parents=True)
    (other / "ingest" / "__init__.py").touch()
    (other / "sitecustomize.py").write_text(NOT_EDITABLE)
    script.write_text(SCHEDULER)
    environment = os.environ | {"PYTHONPATH": str(other)}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, str(script)], **pipes, text=True, env=environment) as process:
        yield process.stdout.readline().strip()
        process.kill()


@pytest.fixture
def at_commits(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Act]], None]:
    """A function that sets acts by the ending of a commit's message: each runs once, right after the commit."""

    def at_commits(acts: dict[str, Act]) -> None:
        commit, left = Writer.commit, dict(acts)

        def listen(writer: Writer, message: str, *rest: Any) -> str:
            committed = commit(writer, message, *rest)
            for moment in [ending for ending in left if message.endswith(ending)]:
                left.pop(moment)()
            return committed

        monkeypatch.setattr(Writer, "commit", listen)

    return at_commits


def kill_a_worker() -> None:
    process = next(child for child in active_children() if "Dask" in child.name)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)


def assert_same(arrays: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert arrays.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, err_msg=path)


def test_two_workers_one_of_which_is_killed_make_the_same_store(
    settings: dict[str, Any],
    expected: dict[str, np.ndarray],
    ingest: Ingest,
    read_arrays: ReadArrays,
    at_commits: Callable[[dict[str, Act]], None],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    killed = []
    at_commits({": block 0": lambda: killed.append(kill_a_worker())})
    with forked_workers():
        made = ingest(tmp_path / "store", workers=2, **settings)
    assert_same(read_arrays(made), expected)
    assert len(killed) == 1
    assert "2 workers; what they do is shown at http://127.0.0.1:" in capsys.readouterr().out


def test_after_the_scheduler_was_lost_the_next_ingest_goes_on(
    ingest: Ingest,
    read_arrays: ReadArrays,
    commits: Callable[[str], list[str]],
    at_commits: Callable[[dict[str, Act]], None],
    monkeypatch: pytest.MonkeyPatch,
    plain_store: str,
    tmp_path: Path,
) -> None:
    """The worker of the scheduler runs in another folder, and finds the store by a relative path."""
    process, address = start_scheduler()
    monkeypatch.chdir(tmp_path)
    at_commits({": block 0": lambda: end(process)})
    with pytest.raises(
        IngestError,
        match=rf"scheduler at {address} was lost\. Run the ingest again; it goes on from the last commit\.$",
    ):
        ingest(Path("store"), scheduler=address)
    assert_same(read_arrays(ingest(tmp_path / "store")), read_arrays(plain_store))
    assert len([message for message in commits(str(tmp_path / "store")) if message.endswith(": block 0")]) == 1


def test_another_version_on_a_worker_is_named() -> None:
    own: Any = SimpleNamespace(address="tcp://here", state=SimpleNamespace(nthreads=1))
    with pytest.raises(
        IngestError, match=r"^The worker at tcp://here has zarr 3.*, this ingest 0\.1\. Install the same"
    ):
        check_worker(versions() | {"zarr": "0.1"}, own)


def test_a_worker_without_headscape_is_named(foreign_scheduler: str, ingest: Ingest, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"^A worker has no Headscape, .* start the workers again\.$"):
        ingest(tmp_path / "store", scheduler=foreign_scheduler)


@pytest.mark.parametrize("scheduler", [{"threads": 2}], indirect=True)
def test_a_worker_with_several_threads_is_refused(scheduler: str, ingest: Ingest, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"has 2 threads\. Start it with --nthreads=1, several on a machine\.$"):
        ingest(tmp_path / "store", scheduler=scheduler)


@pytest.mark.parametrize("scheduler", [{"workers": 0}], indirect=True)
def test_a_scheduler_without_workers_is_told_how_to_get_some(scheduler: str, ingest: Ingest, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=rf"has no workers\. Start some with `dask worker {scheduler} --nthreads=1`"):
        ingest(tmp_path / "store", scheduler=scheduler, first_worker_seconds=0.2)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "http://127.0.0.1:9"])
def test_where_no_scheduler_answers_its_address_is_named(address: str, ingest: Ingest, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=rf"^No scheduler of dask answers at {address}\. Start one with"):
        ingest(tmp_path / "store", scheduler=address, answer_seconds=0.5)
    assert not (tmp_path / "store").exists()


def test_what_else_this_process_computes_by_dask_is_not_sent_to_the_workers(scheduler: str) -> None:
    before = dask.config.get("scheduler", None)
    with open_cluster(Settings(scheduler=scheduler)):
        assert dask.config.get("scheduler", None) == before


def test_workers_and_a_scheduler_are_not_both_taken() -> None:
    with pytest.raises(IngestError, match=r"--workers and --scheduler .* Give one of them\.$"):
        Settings(workers=2, scheduler="tcp://127.0.0.1:8786")


def test_no_workers_at_all_are_too_few() -> None:
    with pytest.raises(IngestError, match=r"^--workers=0 is too few\. Give at least 1\.$"):
        Settings(workers=0)


def test_a_worker_that_finds_another_model_under_the_name_says_so(tiny_model: Path) -> None:
    loading = Loading(Settings(model=str(tiny_model)), "cpu", torch.float32, weights_sha256="another")
    with pytest.raises(IngestError, match=r"other weights under the name .* the same on all machines\.$"):
        loading.load()
