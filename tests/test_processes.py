"""Fits that wait for a process while the work that needs them ends early."""

from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from os import cpu_count
from threading import Event

import numpy as np
import pytest

from ingest.projections.projection import Projection
from ingest.run.parallel import fits_killed_on_error, pools_made_by, processes


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Run fits in one thread instead of processes."""
    with pools_made_by(lambda: ThreadPoolExecutor(1)):
        yield


@pytest.mark.parametrize("end", [KeyboardInterrupt, OSError, GeneratorExit])
def test_queued_fits_are_cancelled_at_the_end(end: type[BaseException]) -> None:
    go = Event()
    running, waiting = processes().submit(go.wait), processes().submit(int)
    with pytest.raises(end), fits_killed_on_error():
        raise end
    go.set()
    assert (running.result(timeout=60), waiting.cancelled()) == (True, True)


def test_the_next_fit_has_new_processes() -> None:
    processes()
    with pytest.raises(KeyboardInterrupt), fits_killed_on_error():
        raise KeyboardInterrupt
    assert processes().submit(int, "7").result() == 7


def test_processes_stay_where_nothing_ends_early() -> None:
    with fits_killed_on_error():
        before = processes()
    assert processes() is before


def test_inputs_of_queued_fits_are_not_in_memory_yet() -> None:
    go, read = Event(), []

    def one_set(number: int) -> np.ndarray:
        read.append(number)
        return np.array([number])

    class Waiting(Projection):
        def fit(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
            go.wait()
            return {"fitted": vectors}

    fits = Waiting("tsne", 0, {}).begin([partial(one_set, number) for number in range(200)])
    before = len(read)
    go.set()
    assert before <= (cpu_count() or 1) + 1
    assert np.concatenate([fit.parameters["fitted"] for fit in fits()]).tolist() == list(range(200))


def test_inputs_of_queued_fits_are_not_read_after_the_end() -> None:
    go, read = Event(), []
    running = Projection("tsne", 0, {}).begin([lambda: read.append(go.wait()) or np.zeros(1)] * 200)
    with pytest.raises(KeyboardInterrupt), fits_killed_on_error():
        raise KeyboardInterrupt
    go.set()
    with pytest.raises((CancelledError, RuntimeError)):
        list(running())
    assert len(read) <= (cpu_count() or 1) + 1
