"""Stopped by any signal, a command has ended within seconds, with all its processes."""

import os
import signal
from pathlib import Path

import pytest

from ingest.run import process
from store.repository.files import take_lock
from tests.family import Start, ended, expect_lines, family

SENTENCE = "ingest: Interrupted; what was committed is kept. Run the same command again to go on.\n"
#: Two fits that take ten minutes, in processes. Each writes its line in one call, else the lines of two could mix.
FITS = """
from functools import partial
from ingest.run.process import exit_status
from ingest.run.parallel import fits_killed_on_error, new_processes, pools_made_by, processes

def fit():
    with pools_made_by(partial(new_processes, 2)), fits_killed_on_error():
        for future in [processes().submit(exec, sys.argv[1]) for _ in range(2)]:
            future.result()

sys.exit(exit_status(fit, name="ingest"))
"""
FIT = "import os, time; os.write(1, b'fit\\n'); time.sleep(600)"
#: The real command, one of whose pictures takes ten minutes, in one process.
INGEST = """
from functools import partial
from ingest import pipeline
from ingest.__main__ import main
from ingest.projections import projection
from ingest.run import parallel
from ingest.run.settings import Limits
from tests.slow_fit import slow_fit

pipeline.run = partial(pipeline.run, limits=Limits(block=64, fit_tokens=200))
parallel.cpu_count = lambda: 1
fit_later, projection.fit_later = projection.fit_later, lambda _, read: fit_later(slow_fit, read)
sys.exit(main())
"""
#: Waits for threads that do not react to signals: two, as Python 3.11 counts a thread as ended once its join was interrupted.
#: The first argument is the number of seconds that the threads have.
DEAF = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from ingest.run import process
from ingest.run.process import exit_status

def work():
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            pool.submit(time.sleep, 600)
        print("begun", flush=True)

process.GRACE = float(sys.argv[1])
sys.exit(exit_status(work, name="ingest"))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGHUP])
def test_fits_end_with_the_command_that_is_interrupted(start_code: Start, how: signal.Signals) -> None:
    process = start_code(FITS, FIT)
    expect_lines(process, "fit", "fit")
    everyone = family(process)
    process.send_signal(how)
    assert ended(everyone)
    assert process.wait() == 130
    assert process.communicate() == ("", SENTENCE)


def test_of_an_ingest_that_is_killed_nothing_is_left_and_its_store_is_free(
    start_code: Start, tiny_model: Path, tiny_data: Path, tmp_path: Path
) -> None:
    options = {"store": tmp_path / "store", "model": tiny_model, "data": tiny_data, "sentences": 5}
    options |= {"views": "tsne-raw-2d", "features": "none", "annotate": "none"}
    process = start_code(INGEST, *(part for name, value in options.items() for part in (f"--{name}", str(value))))
    everyone = family(process, members=3)
    assert take_lock(tmp_path / "store") is None
    process.kill()
    assert ended(everyone)
    lock = take_lock(tmp_path / "store")
    assert lock is not None
    lock.close()


def test_ctrl_c_ends_an_ingest_and_its_workers_without_another_word(
    start_code: Start, tiny_model: Path, tiny_data: Path, tmp_path: Path
) -> None:
    options = {"store": tmp_path / "store", "model": tiny_model, "data": tiny_data, "sentences": 5, "workers": 1}
    process = start_code(INGEST, *(part for name, value in options.items() for part in (f"--{name}", str(value))))
    everyone = family(process, members=3)  # with multiprocessing's tracker of resources
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert ended(everyone)
    assert (process.wait(), process.communicate()[1]) == (130, SENTENCE)


def test_an_interrupted_command_ends_within_five_seconds() -> None:
    assert process.GRACE < 5


def test_threads_that_hear_no_signal_have_little_time(start_code: Start) -> None:
    process = start_code(DEAF, "0.1")
    expect_lines(process, "begun")
    process.send_signal(signal.SIGTERM)
    assert ended(family(process))
    assert (process.wait(), process.communicate()[1]) == (130, SENTENCE)


def test_a_second_signal_ends_it_at_once(start_code: Start) -> None:
    process = start_code(DEAF, "600")
    expect_lines(process, "begun")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    assert ended(family(process))
    # An interpreter that is about to end no longer handles signals itself.
    assert process.wait() in (130, -signal.SIGTERM)
    assert process.communicate()[1] == SENTENCE
