"""How the cores of a CPU are shared: many small steps share them badly within a step, and well side by side."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread_each(workers: int | None) -> Iterator[None]:
    """Where several work at once each takes one core; afterwards torch has all of them again."""
    threads = torch.get_num_threads()
    torch.set_num_threads(threads if workers == 1 else 1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
