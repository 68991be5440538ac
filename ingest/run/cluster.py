"""Workers of an ingest: processes of this machine (--workers), or those of a dask scheduler (--scheduler).

One driver runs the stages, commits and publishes. A task gets a fork of the store, writes whole chunks to it and sends it
back; results are joined in the order of the tasks, so that the store is the same bit for bit as one process makes it.
"""

import atexit
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from logging import CRITICAL, getLogger
from multiprocessing import active_children, resource_tracker
from typing import TYPE_CHECKING, Any, TypeVar

from ingest.run.errors import IngestError
from ingest.run.parallel import check_worker, core_count, fits_on, run_fit, run_task, versions
from ingest.run.progress import say
from ingest.run.settings import USUAL, Limits, Settings
from store.phrases import many
from store.process import check_extra
from store.repository.writer import Fork, ForkedTransaction, Writable, Writer

if TYPE_CHECKING:
    from distributed import Client, KilledWorker, LocalCluster
    from tornado.ioloop import IOLoop

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Seconds in which the scheduler of an ingest that failed may close.
CLOSING = 2
#: Time that tasks wait where all workers of this machine are lost and none comes back: a busy machine starts one in a minute.
ALONE = "5 minutes"
#: Tasks for each worker that are written, computed or wait for it: it has the next when it is done with one.
AHEAD = 3


class Cluster:
    """The workers of an ingest, through their scheduler."""

    def __init__(self, client: "Client", tasks: "_Tasks") -> None:
        self._client, self._tasks = client, tasks

    def joined(
        self, writer: Writer, task: Callable[[Fork, Item], Result], transactions: Iterable[Sequence[Item]]
    ) -> Iterator[tuple[Sequence[Item], list[Result]]]:
        """Run `task` on every item; yield the items of each transaction in order, once their writes are joined.

        The caller commits before it asks for the next. Tasks of later transactions run meanwhile, so none may read what
        another writes.
        """
        waiting: deque[tuple[Sequence[Item], ForkedTransaction, list[Future[bytes]]]] = deque()
        for items in transactions:
            forked = writer.begin_forks()
            waiting.append((items, forked, [self._submit(task, forked.fork(), item) for item in items]))
            while sum(len(futures) for _, _, futures in waiting) > AHEAD * self._workers():
                yield _join(writer, *waiting.popleft())
        while waiting:
            yield _join(writer, *waiting.popleft())

    def _submit(self, task: Callable[[Fork, Item], Result], fork: Fork, item: Item) -> Future[bytes]:
        return self._tasks.submit(run_task, pickle.dumps((task, fork, item)))

    def _workers(self) -> int:
        """Number of workers now: some may have been added."""
        try:
            return max(1, len(self._client.nthreads()))
        except OSError as error:  # the scheduler does not answer: its tasks are lost
            raise CancelledError from error


def in_turn(
    cluster: Cluster | None, writer: Writer, task: Callable[[Writable, Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result]]:
    """Run `task` on every item, on the workers where there are some; yield each item with its result.

    The writes of the task are then in the open transaction, which the caller commits before it asks for the next.
    """
    if cluster is None:
        yield from ((item, task(writer, item)) for item in items)
        return
    for (item,), (result,) in cluster.joined(writer, task, ([item] for item in items)):
        yield item, result


def _join(
    writer: Writer, items: Sequence[Item], forked: ForkedTransaction, futures: list[Future[bytes]]
) -> tuple[Sequence[Item], list[Any]]:
    returned = [pickle.loads(future.result()) for future in futures]
    writer.join(forked, [fork for fork, _ in returned])
    return items, [result for _, result in returned]


#: Function that a worker runs: pickled work and the versions that the worker must have -> pickled result.
Run = Callable[[bytes, Mapping[str, str]], bytes]


@dataclass
class _Task:
    """A task until it ends, and the workers that died of it since `ended` tasks of the ingest had ended."""

    run: Run
    work: bytes
    ended: int
    deaths: int = 0
    result: Future[bytes] = field(default_factory=Future)


class _Tasks:
    """Tasks on the workers. One whose worker dies runs on another, unless it alone keeps the ingest from going on."""

    def __init__(self, client: "Client", *, deaths: int = Limits.worker_deaths) -> None:
        assert client.loop is not None  # that of a client which is connected
        self._deaths = deaths
        self._client, self._loop = client, client.loop
        self._ended = 0
        self._waiting: set[Future[bytes]] = set()
        self._is_over = False

    def submit(self, run: Run, work: bytes) -> Future[bytes]:
        """Queue a task."""
        task = _Task(run, work, self._ended)
        if self._is_over:  # a thread has read its input meanwhile
            task.result.cancel()
            return task.result
        self._waiting.add(task.result)
        task.result.add_done_callback(self._waiting.discard)
        self._start(task)
        return task.result

    def give_up(self) -> None:
        """Cancel all tasks that have not ended, and later ones: a thread that waits for one would keep the process from ending."""
        self._is_over = True
        for result in list(self._waiting):
            result.cancel()

    def _start(self, task: _Task) -> None:
        try:
            future = self._client.submit(task.run, task.work, versions(), pure=False)
        except Exception as error:  # the client is closed; nobody would hear of it from the loop
            _fail(task, error)
            return
        # Not by `Future.add_done_callback`: its one thread, which all clients share, waits forever for a result that was on its way when the client closed.
        self._loop.add_callback(self._end, task, future)

    async def _end(self, task: _Task, future: Any) -> None:
        """Pass on what a worker returns or raises. A result may be lost with its worker until it is here, and computed again."""
        from distributed import KilledWorker

        try:
            returned = await future
        except BaseException as error:
            if isinstance(error, KilledWorker) and not task.result.cancelled() and self._may_live(task, error):
                self._start(task)
            else:
                _fail(task, error)
        else:
            self._ended += 1
            if task.result.set_running_or_notify_cancel():
                task.result.set_result(returned)

    def _may_live(self, task: _Task, error: "KilledWorker") -> bool:
        """Whether the task runs again after a scheduler has given it up: some schedulers do at the first death, some later."""
        if task.ended < self._ended:
            task.ended, task.deaths = self._ended, 0
        task.deaths += error.allowed_failures + 1
        return task.deaths < self._deaths


def _fail(task: _Task, error: BaseException) -> None:
    if task.result.set_running_or_notify_cancel():
        task.result.set_exception(error)


class _Fits(Executor):
    """Fits on the workers, in place of the pool of processes."""

    def __init__(self, tasks: _Tasks) -> None:
        self._tasks = tasks

    def submit(self, fit: Callable[..., Result], /, *arguments: Any, **options: Any) -> Future[Result]:
        """Queue a fit."""
        result: Future[Result] = Future()
        work = pickle.dumps((partial(fit, **options), arguments))
        self._tasks.submit(run_fit, work).add_done_callback(partial(_pass_on, result))
        return result


def _pass_on(result: Future[Any], done: Future[bytes]) -> None:
    if done.cancelled():
        result.cancel()
    elif error := done.exception():
        result.set_exception(error)
    else:
        result.set_result(pickle.loads(done.result()))


@contextmanager
def open_cluster(settings: Settings, limits: Limits = USUAL) -> Iterator[Cluster | None]:
    """The workers of the settings, which also run all fits; None where this process does everything.

    Raises
    ------
    IngestError
        Where there is no scheduler or no worker, a worker would compute other numbers, or workers are lost on the way.
    """
    if settings.workers is None and settings.scheduler is None:
        yield None
        return
    check_extra("cluster")
    with ExitStack() as stack:
        client = stack.enter_context(
            _started(settings.workers) if settings.workers else _connected(settings.scheduler or "", limits)
        )
        stack.enter_context(_losses_explained(client, limits))
        workers = _checked_workers(client, limits)
        say(f"{many(workers, 'worker')}; what they do is shown at {client.dashboard_link} by dask.")
        tasks = _Tasks(client, deaths=limits.worker_deaths)
        stack.callback(tasks.give_up)
        stack.enter_context(fits_on(_Fits(tasks), workers=workers))
        yield Cluster(client, tasks)


@contextmanager
def _started(workers: int, *, alone: str = ALONE) -> Iterator["Client"]:
    """Processes of this machine, started again where one dies. Certificates of their own keep other users out."""
    import dask
    from distributed import Client, LocalCluster
    from distributed.deploy.spec import close_clusters
    from distributed.security import Security

    atexit.unregister(close_clusters)  # it would wait for workers that have been killed
    getLogger("asyncio").setLevel(CRITICAL)  # what workers that have been killed leave behind
    cores = max(1, core_count() // workers)
    # dask closes for good what would start a worker again where the next one has not come after 15 seconds, as on a busy machine.
    patience = {"distributed.deploy.lost-worker-timeout": "365 days", "distributed.scheduler.no-workers-timeout": alone}
    with (
        dask.config.set(patience),
        _deaf_loop() as loop,
        LocalCluster(
            loop=loop,
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,
            security=Security.temporary(),
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"allowed_failures": 0},  # `_Tasks` counts
            env={"OMP_NUM_THREADS": str(cores)},
            silence_logs=CRITICAL,
        ) as cluster,
        _killed_on_error(cluster),
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _deaf_loop() -> Iterator["IOLoop"]:
    """A loop in a thread that ignores Ctrl-C, as do the processes it starts: a terminal sends it to all, and the driver handles it."""
    from distributed.utils import LoopRunner

    resource_tracker.ensure_running()  # which would let signals through in the thread that first needs it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        runner = LoopRunner()
        runner.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield runner.loop
    finally:
        runner.stop()


@contextmanager
def _killed_on_error(cluster: "LocalCluster") -> Iterator[None]:
    """Kill the workers where the context ends early: dask would wait until tasks end, or forever for one that is starting."""
    from distributed import Status

    try:
        yield
    except BaseException:
        for nanny in cluster.workers.values():
            nanny.auto_restart = False
        for process in active_children():
            process.kill()
        with suppress(Exception):  # of time, and of what was killed; to close it again would wait forever
            cluster.close(timeout=CLOSING)
        cluster.status = Status.closed
        raise


@contextmanager
def _connected(address: str, limits: Limits) -> Iterator["Client"]:
    from distributed import Client

    try:
        client = Client(address, timeout=limits.answer_seconds, set_as_default=False)
    except (OSError, ValueError) as error:
        raise IngestError(
            f"No scheduler of dask answers at {address}. Start one with `dask scheduler`, or give its address, such as --scheduler=tcp://host:8786."
        ) from error
    with client:
        yield client


def _checked_workers(client: "Client", limits: Limits) -> int:
    """Number of workers: at least one, and each computes the same numbers as this process."""
    address = client.scheduler.address if client.scheduler else ""
    try:
        client.wait_for_workers(1, timeout=limits.first_worker_seconds)
    except TimeoutError as error:
        raise IngestError(
            f"The scheduler at {address} has no workers. Start some with `dask worker {address} --nthreads=1` and run the ingest again."
        ) from error
    _check_installed(client)
    return len(client.run(check_worker, versions()))


def _check_installed(client: "Client") -> None:
    """Refuse workers without Headscape, by a function of Python: such a worker can run none of Headscape."""
    try:
        found: dict[str, object] = client.run(find_spec, check_worker.__module__)
    except ModuleNotFoundError:
        found = {"": None}
    if not all(found.values()):
        raise IngestError(
            "A worker has no Headscape, or an older one. Install the same on all machines and start the workers again."
        )


@contextmanager
def _losses_explained(client: "Client", limits: Limits = USUAL) -> Iterator[None]:
    """Say in a sentence that the scheduler, all workers or too many of them were lost."""
    from distributed import KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import NoWorkerError

    address = client.scheduler.address if client.scheduler else ""
    try:
        yield
    except KilledWorker as error:
        raise IngestError(
            f"{many(limits.worker_deaths, 'worker')} died of one task while no other ended, perhaps for want of memory. Give fewer --workers or a smaller --batch and run the ingest again; it goes on from the last commit."
        ) from error
    except NoWorkerError as error:
        raise IngestError(
            f"All workers of the scheduler at {address} were lost, and none came for {error.timeout / 60:.0f} minutes. Start some and run the ingest again; it goes on from the last commit."
        ) from error
    except (CancelledError, ClosedClientError, CommClosedError) as error:
        raise IngestError(
            f"The scheduler at {address} was lost. Run the ingest again; it goes on from the last commit."
        ) from error
