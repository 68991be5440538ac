"""Workers that die of a task or do not reach the store: what an ingest does, and the sentence with which it ends."""

import os
import signal
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import dask
import numpy as np
import pytest
from distributed import Client, KilledWorker, LocalCluster, Status
from distributed.client import ClosedClientError

from ingest.encode import tensors
from ingest.encode.tensors import BlockTask
from ingest.run import cluster
from ingest.run.cluster import _Fits, _Tasks
from ingest.run.errors import IngestError
from ingest.run.parallel import run_task
from ingest.run.settings import USUAL
from ingest.text.blocks import Block
from store.repository.writer import Writable
from tests.die_once import die_once
from tests.test_cluster import assert_same, end, start_scheduler

pytestmark = pytest.mark.slow

Ingest = Callable[..., str]
ReadArrays = Callable[[str], dict[str, np.ndarray]]
#: A function that ends a task with its result.
End = Callable[[Coroutine[Any, Any, bytes]], Coroutine[Any, Any, None]]
#: Seconds after which an awaited result will never come.
HANGS = 300


class DeadlyTask(BlockTask):
    """A task that kills its worker, except for the first block."""

    def __call__(self, fork: Writable, block: Block) -> None:
        if block.index:
            os.kill(os.getpid(), signal.SIGKILL)
        super().__call__(fork, block)


def test_a_task_that_kills_its_workers_ends_the_ingest_and_the_next_goes_on(
    ingest: Ingest,
    read_arrays: ReadArrays,
    commits: Callable[[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    plain_store: str,
    tmp_path: Path,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tensors, "BlockTask", DeadlyTask)
        with pytest.raises(IngestError, match=r"^1 workers? died of one task .* it goes on from the last commit\.$"):
            ingest(tmp_path / "store", workers=1, worker_deaths=1)
    assert_same(read_arrays(ingest(tmp_path / "store")), read_arrays(plain_store))
    assert len([message for message in commits(str(tmp_path / "store")) if message.endswith(": block 0")]) == 1


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="the system has no /proc")
def test_a_worker_that_cannot_read_the_folder_of_the_store_is_named(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    process, address = start_scheduler()
    monkeypatch.chdir(tmp_path)
    sentence = (
        r"^The worker at tcp://\S+ on \S+ cannot read the store in /proc/self/cwd/store\. Give a --store .* again\.$"
    )
    with pytest.raises(IngestError, match=sentence):
        ingest(Path("/proc/self/cwd/store"), scheduler=address)  # another folder for each process
    end(process)


def test_a_worker_that_starts_again_slowly_is_waited_for(tmp_path: Path) -> None:
    at_once = dask.config.set({"distributed.deploy.lost-worker-timeout": 0})  # any start takes longer
    with at_once, cluster._started(1) as client:
        assert _Tasks(client).submit(die_once, bytes(tmp_path / "killed")).result(HANGS) == b"done"


def test_an_ingest_ends_where_all_workers_are_lost_for_good() -> None:
    sentence = r"^All workers of the scheduler at \S+ were lost, and none came for 0 minutes\. Start some and run"
    with cluster._started(1, alone="1 s") as client:
        client.cluster.scale(0)
        result = _Tasks(client).submit(die_once, b"")
        with pytest.raises(IngestError, match=sentence), cluster._losses_explained(client):
            result.result(HANGS)


def test_a_cluster_that_cannot_be_closed_is_left_alone() -> None:
    class Closing:
        workers: Mapping[str, object] = {}
        status = Status.closing

        def close(self, **_: float) -> None:
            raise AssertionError(Status.starting)

    closing = Closing()
    with pytest.raises(IngestError), cluster._killed_on_error(cast(LocalCluster, closing)):
        raise IngestError
    assert closing.status == Status.closed  # else the cluster's own context would wait until it is closed


class Submitted:
    """Stands for dask and its loop: a test ends its tasks."""

    def __init__(self) -> None:
        self.running: list[End] = []
        self.is_closed = False
        self.loop = self
        self.tasks = _Tasks(cast(Client, self))

    def submit(self, *_: Any, pure: bool) -> None:
        assert not pure
        if self.is_closed:
            raise ClosedClientError

    def add_callback(self, end: Callable[..., Coroutine[Any, Any, None]], task: Any, _: None) -> None:
        self.running.append(partial(end, task))

    def kill(self, *, allowed_failures: int = 0) -> None:
        """Kill the worker of the task that was started last."""
        self.end(KilledWorker("task", cast(Any, None), allowed_failures))

    def end(self, outcome: bytes | Exception) -> None:
        """End the task that was started last."""

        async def result() -> bytes:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        with suppress(StopIteration):  # by hand: the process may have a loop, that of a browser
            self.running.pop()(result()).send(None)


@pytest.mark.parametrize("allowed_failures", [0, 3])
def test_a_task_is_given_up_when_many_workers_died_of_it_and_no_task_ended(allowed_failures: int) -> None:
    submitted = Submitted()
    result = submitted.tasks.submit(run_task, b"")
    for _ in range(USUAL.worker_deaths // (allowed_failures + 1)):
        assert not result.done()
        submitted.kill(allowed_failures=allowed_failures)
    assert isinstance(result.exception(), KilledWorker)


def test_a_task_is_not_given_up_while_others_end() -> None:
    submitted = Submitted()
    result = submitted.tasks.submit(run_task, b"")
    for _ in range(3 * USUAL.worker_deaths):
        submitted.kill()
        submitted.tasks.submit(run_task, b"")
        submitted.end(b"")
    submitted.end(b"at last")
    assert result.result() == b"at last"


def test_nothing_waits_for_tasks_after_the_end_of_an_ingest() -> None:
    submitted = Submitted()
    waiting = [submitted.tasks.submit(run_task, b""), _Fits(submitted.tasks).submit(int, "7")]
    submitted.tasks.give_up()
    assert all(result.cancelled() for result in waiting)


def test_a_task_that_cannot_begin_again_fails() -> None:
    submitted = Submitted()
    result = submitted.tasks.submit(run_task, b"")
    submitted.is_closed = True
    submitted.kill()
    assert isinstance(result.exception(HANGS), ClosedClientError)


def test_a_task_that_comes_after_the_end_of_an_ingest_is_cancelled() -> None:
    submitted = Submitted()
    submitted.tasks.give_up()
    assert submitted.tasks.submit(run_task, b"").cancelled()
    assert submitted.running == []


@pytest.mark.parametrize("outcome", [b"", OSError(), KilledWorker("task", cast(Any, None), USUAL.worker_deaths)])
def test_a_task_that_ends_after_the_ingest_changes_nothing(outcome: bytes | Exception) -> None:
    submitted = Submitted()
    result = submitted.tasks.submit(run_task, b"")
    submitted.tasks.give_up()
    submitted.end(outcome)
    assert result.cancelled()


def test_no_task_begins_again_after_the_ingest() -> None:
    submitted = Submitted()
    submitted.tasks.submit(run_task, b"")
    submitted.tasks.give_up()
    submitted.kill()
    assert submitted.running == []
