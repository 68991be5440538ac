"""Processes of tests as forks of a process with the imports of an ingest: imports take longer than a small ingest."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext

import dask

IMPORTED = (
    __name__,
    "distributed",
    "ingest.pipeline",
    "ingest.__main__",
    "transformers.models.bert.modeling_bert",
    "transformers.models.auto.tokenization_auto",
    "sklearn.manifold",
)


def forks() -> ForkServerContext:
    """The context that starts processes as forks. The first call starts the process that is forked."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    forkserver.ensure_running()
    return context


@contextmanager
def forked_workers() -> Iterator[None]:
    """Let the workers that `--workers` starts within the context be forks; `tests/test_lost_workers.py` has new processes."""
    forks()  # else dask would set the imports of the forked process
    environment = {"distributed.nanny.environ": dict(os.environ)}  # a fork has the environment of the forked process
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"} | environment):
        yield
