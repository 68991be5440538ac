"""Processes of tests that are forks of one that has imported what an ingest needs: to import takes longer than an ingest does."""

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
    """What starts such processes. The first that asks starts the one that they are forks of."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    forkserver.ensure_running()
    return context


@contextmanager
def forked_workers() -> Iterator[None]:
    """Let the workers that `--workers` starts within the context be forks; `tests/test_lost_workers.py` has new processes."""
    forks()  # else dask would say what they have imported
    environment = {"distributed.nanny.environ": dict(os.environ)}  # a fork has that of the first
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"} | environment):
        yield
