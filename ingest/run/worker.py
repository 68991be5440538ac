"""What runs on a worker of an ingest: one task at a time, on the cores that the worker has, by the driver's own code."""

import hashlib
import pickle
import platform
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import zarr
from icechunk import IcechunkError

from ingest.run.errors import IngestError
from ingest.run.parallel import allotted_cores
from ingest.run.process import keep_freed_memory
from store.repository.remote import remedy
from store.repository.writer import Fork

if TYPE_CHECKING:
    from distributed import Worker

#: Packages that numbers are computed with. Another version of one may compute other numbers.
PACKAGES = ("numpy", "scipy", "torch", "transformers", "scikit-learn", "umap-learn", "zarr", "icechunk")
SOURCE = ("ingest", "store")


@cache
def versions() -> dict[str, str]:
    """What the numbers of this process depend on beside their input: its code, and what runs it."""
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
    """Run a pickled task, which writes whole chunks to a fork: the pickled fork and result of the task.

    Pickled here: dask hands out arrays at odd addresses, where numpy adds numbers in another order.
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
    """Run a pickled fit, which uses one core: its pickled result."""
    check_worker(expected)
    fit, arguments = pickle.loads(work)
    with _on_own_cores():
        return pickle.dumps(fit(*arguments))


@contextmanager
def _on_own_cores() -> Iterator[None]:
    """Threads of torch are the cores of this worker: dask gives it one, unless OMP_NUM_THREADS says more."""
    keep_freed_memory()  # dask has a worker give all of it back
    with allotted_cores(torch.get_num_threads()):
        yield
