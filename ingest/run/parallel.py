"""How work is shared: among the cores of a CPU by threads, or by processes for fits that use one core, and among the workers of an ingest.

A worker runs one task at a time, on the cores that it has, by the code of the driver.
"""

import hashlib
import pickle
import platform
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import active_children, get_context
from os import cpu_count
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, TypeVar

import torch
import zarr
from icechunk import IcechunkError

from ingest.run.errors import IngestError
from ingest.run.process import begin_in_pool, keep_freed_memory
from store.process import one_thread
from store.repository.remote import remedy
from store.repository.writer import Fork

if TYPE_CHECKING:
    from distributed import Worker

Item = TypeVar("Item")
Input = TypeVar("Input")
Result = TypeVar("Result")
#: The cores of this machine that the running task may use, where it may not use all.
_allotted: ContextVar[int | None] = ContextVar("allotted cores", default=None)
#: Executor that runs fits instead of the pool of processes, and the threads that wait for them.
_workers: ContextVar[tuple[Executor, Executor] | None] = ContextVar("workers", default=None)
#: Function that makes the pool of processes, where `new_processes` does not.
_make_pool: ContextVar[Callable[[], Executor] | None] = ContextVar("what makes the pool", default=None)
#: Packages that numbers are computed with. Another version of one may compute other numbers.
PACKAGES = ("numpy", "scipy", "torch", "transformers", "scikit-learn", "umap-learn", "zarr", "icechunk")
SOURCE = ("ingest", "store")


def core_count() -> int:
    """Number of cores that the running task may use."""
    return _allotted.get() or cpu_count() or 1


@contextmanager
def allotted_cores(count: int) -> Iterator[None]:
    """Let code within the context use only `count` cores."""
    token = _allotted.set(count)
    try:
        yield
    finally:
        _allotted.reset(token)


@contextmanager
def fits_on(executor: Executor, *, workers: int) -> Iterator[None]:
    """Let an executor with `workers` workers run the fits within the context."""
    feeders = _feeders_of(workers)
    token = _workers.set((executor, feeders))
    try:
        yield
    finally:
        _workers.reset(token)
        feeders.shutdown(wait=False, cancel_futures=True)


@contextmanager
def one_thread_each(workers: int | None) -> Iterator[None]:
    """Give each of several workers one core of torch's; afterwards torch has all cores again."""
    threads = torch.get_num_threads()
    torch.set_num_threads(threads if workers == 1 else 1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def cores() -> Iterator[ThreadPoolExecutor]:
    """A pool of workers on one core each, where a matrix product is the same bit for bit every time."""
    with one_thread_each(None), one_thread(), ThreadPoolExecutor(core_count()) as pool:
        yield pool


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Map a function over items, several at a time."""
    with cores() as pool:
        return list(pool.map(function, items))


def processes() -> Executor:
    """Executor of fits, each on one core: the workers where there are some, else the pool of processes."""
    workers = _workers.get()
    return workers[0] if workers else process_pool()


def new_processes(count: int | None = None) -> Executor:
    """A pool of `count` processes, by default one per core: each takes seconds to import the libraries.

    Started anew, not forked: icechunk's and torch's threads do not survive a fork.
    """
    return ProcessPoolExecutor(count or cpu_count(), mp_context=get_context("spawn"), initializer=begin_in_pool)


@cache
def process_pool() -> Executor:
    """The pool of processes."""
    return (_make_pool.get() or new_processes)()


@contextmanager
def pools_made_by(make: Callable[[], Executor]) -> Iterator[None]:
    """Let `make` make the pool of processes within the context, and end that pool with it."""
    process_pool.cache_clear()
    token = _make_pool.set(make)
    try:
        yield
    finally:
        _make_pool.reset(token)
        if process_pool.cache_info().currsize:
            process_pool().shutdown()
        process_pool.cache_clear()


@cache
def _feeders() -> ThreadPoolExecutor:
    return _feeders_of(cpu_count() or 1)


def _feeders_of(workers: int) -> ThreadPoolExecutor:
    """A thread for every worker, and one that has the next input ready."""
    return ThreadPoolExecutor(workers + 1, "fits")


def fit_later(fit: Callable[[Input], Result], read: Callable[[], Input]) -> Future[Result]:
    """Queue a fit on a worker or in a process, in the order of the calls; its input is read only when its turn is near."""
    pool, feeders = _workers.get() or (process_pool(), _feeders())
    return feeders.submit(lambda: pool.submit(fit, read()).result())


def timed(fit: Callable[[Input], Result], value: Input) -> tuple[Result, float]:
    """The result of a fit on one core, and the core seconds that it took."""
    began = thread_time()
    return fit(value), thread_time() - began


@contextmanager
def fits_killed_on_error() -> Iterator[None]:
    """End all fits where the context ends early: the interpreter would wait for them otherwise."""
    try:
        yield
    except BaseException:
        _end_fits()
        raise


def _end_fits() -> None:
    """Let no fit begin any more, then kill those that run: they hold nothing but their result."""
    for pool in (_feeders, process_pool):
        if pool.cache_info().currsize:
            pool().shutdown(wait=False, cancel_futures=True)
            pool.cache_clear()
    for process in active_children():
        process.kill()


@cache
def versions() -> dict[str, str]:
    """Versions that the numbers of this process depend on beside their input: of its code, of Python and of packages."""
    named = {name: _version(name) for name in PACKAGES}
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Headscape": f"{_version('headscape')} ({_code()})", "Python": python, **named}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _code() -> str:
    """Hash of the code: two clones of one version may differ."""
    root, digest = Path(__file__).parents[2], hashlib.blake2b(digest_size=4)
    for path in sorted(path for package in SOURCE for path in (root / package).rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def check_worker(expected: Mapping[str, str], dask_worker: "Worker | None" = None) -> None:
    """Raise IngestError where this worker would compute other numbers than the driver, or several at a time.

    dask gives `dask_worker` where no task runs.
    """
    from distributed import get_worker

    worker = dask_worker or get_worker()
    for name, wanted in expected.items():
        if (own := versions()[name]) != wanted:
            raise IngestError(
                f"The worker at {worker.address} has {name} {own}, this ingest {wanted}. Install the same on all machines and start the worker again."
            )
    if worker.state.nthreads != 1:
        raise IngestError(
            f"The worker at {worker.address} has {worker.state.nthreads} threads. Start it with --nthreads=1, several on a machine."
        )


def run_task(work: bytes, expected: Mapping[str, str]) -> bytes:
    """Run a pickled task, which writes whole chunks to a fork; returns the pickled fork and result.

    They are pickled here: dask hands out arrays at odd addresses, where numpy adds numbers in another order.
    """
    check_worker(expected)
    task, fork, item = pickle.loads(work)
    zarr.config.set({"array.write_empty_chunks": True})  # for good: tasks overlap, see `begin_next`
    with _store_reached(fork), _on_own_cores():
        result = task(fork, item)
    return pickle.dumps((fork, result))


@contextmanager
def _store_reached(fork: Fork) -> Iterator[None]:
    """Say in a sentence which worker does not reach the store, and why: the driver does."""
    from distributed import get_worker

    here = f"The worker at {get_worker().address} on {socket.gethostname()}"
    if not fork.is_there:
        raise IngestError(
            f"{here} cannot read the store in {fork.url}. Give a --store that all machines reach, s3://bucket/prefix or a folder that they share, and run the ingest again."
        )
    try:
        yield
    except IcechunkError as error:
        if sentences := remedy(error):
            raise IngestError(f"{here} cannot use {fork.url}. {sentences}") from error
        raise


def begin_next() -> None:
    """Let this worker begin its next task, while the running one no longer computes but writes."""
    from distributed import secede

    secede()


def run_fit(work: bytes, expected: Mapping[str, str]) -> bytes:
    """Run a pickled fit, which uses one core; returns its pickled result."""
    check_worker(expected)
    fit, arguments = pickle.loads(work)
    with _on_own_cores():
        return pickle.dumps(fit(*arguments))


@contextmanager
def _on_own_cores() -> Iterator[None]:
    """Let work use as many cores as torch has threads: dask gives a worker one, unless OMP_NUM_THREADS says more."""
    keep_freed_memory()  # dask has a worker give all of it back
    with allotted_cores(torch.get_num_threads()):
        yield
