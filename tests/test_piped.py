"""A command whose output goes into a pipe that nobody reads any more."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from store.piped import NOBODY_READS, until_nobody_reads

#: Prints until it is stopped.
ENDLESS = """
import sys
from store.piped import until_nobody_reads
def work():
    while True:
        print("one more line")
sys.exit(until_nobody_reads(work))
"""


def test_a_command_ends_without_a_word_when_nobody_reads_on() -> None:
    process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (NOBODY_READS, b"")


@pytest.fixture
def other_pipe() -> Callable[[], int]:
    """Writes into a pipe of its own, which nobody reads."""

    def work() -> int:
        reading, writing = os.pipe()
        os.close(reading)
        try:
            return os.write(writing, b"lost")
        finally:
            os.close(writing)

    return work


def test_a_pipe_that_breaks_elsewhere_is_not_hidden(other_pipe: Callable[[], int]) -> None:
    with open(os.devnull, "w", encoding="utf-8") as read, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", read)
        with pytest.raises(BrokenPipeError):
            until_nobody_reads(other_pipe)
