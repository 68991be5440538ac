"""Fits that wait for a process, where the work they are for ends early."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from ingest.pictures import processes as module
from ingest.pictures.processes import processes, waiting_fits_dropped


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Instead of processes."""
    monkeypatch.setattr(module, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    processes.cache_clear()
    yield
    processes().shutdown()
    processes.cache_clear()


@pytest.mark.parametrize("end", [KeyboardInterrupt, OSError, GeneratorExit])
def test_what_waits_is_not_fitted_after_an_end(end: type[BaseException]) -> None:
    go = Event()
    running, waiting = processes().submit(go.wait), processes().submit(int)
    with pytest.raises(end), waiting_fits_dropped():
        raise end
    go.set()
    assert (running.result(timeout=60), waiting.cancelled()) == (True, True)


def test_the_next_fit_has_new_processes() -> None:
    processes()
    with pytest.raises(KeyboardInterrupt), waiting_fits_dropped():
        raise KeyboardInterrupt
    assert processes().submit(int, "7").result() == 7


def test_processes_stay_where_nothing_ends_early() -> None:
    with waiting_fits_dropped():
        before = processes()
    assert processes() is before
