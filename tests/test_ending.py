"""How a command ends: by a broken pipe of its own output (see test_commands) and of no other, and while threads still work."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout

import pytest

from store.process import until_pipe_closes

pytestmark = pytest.mark.slow

#: A command whose icechunk threads ask for the interpreter half a second after they have reported a result, and an object
#: whose deletion takes longer than that when the interpreter ends.
BUSY_THREADS = """
import asyncio.selector_events, builtins, runpy, sys, threading, time

tell = asyncio.selector_events.BaseSelectorEventLoop._write_to_self

def tell_and_wait(loop):
    tell(loop)
    if isinstance(threading.current_thread(), threading._DummyThread):
        time.sleep(0.5)

class TakenDown:
    def __del__(self, now=time.perf_counter):
        end = now() + 2
        while now() < end:
            pass

asyncio.selector_events.BaseSelectorEventLoop._write_to_self = tell_and_wait
builtins.taken_down = TakenDown()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def other_pipe() -> Callable[[], int]:
    """A function that writes into its own pipe, which nobody reads."""

    def work() -> int:
        reading, writing = os.pipe()
        os.close(reading)
        try:
            return os.write(writing, b"lost")
        finally:
            os.close(writing)

    return work


def test_a_pipe_that_breaks_elsewhere_is_not_hidden(other_pipe: Callable[[], int]) -> None:
    with open(os.devnull, "w", encoding="utf-8") as read, redirect_stdout(read), pytest.raises(BrokenPipeError):
        until_pipe_closes(other_pipe)


@pytest.mark.parametrize("module", ["store", "headscape"])
def test_a_command_ends_well_while_threads_of_a_read_still_ask_for_the_interpreter(
    module: str, tiny_store: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", BUSY_THREADS, module, "describe", tiny_store],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "tokens" in ended.stdout


def test_a_process_ends_at_once_with_what_it_has_registered() -> None:
    command = (
        "import atexit, threading, store.process; atexit.register(print, 'registered');"
        "threading.Thread(target=threading.Event().wait).start(); store.process.end_now(3)"
    )
    ended = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False, timeout=300)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "registered\n", "")
