"""Which broken pipes end a command without a word: that of its own output, see test_commands, and no other."""

import os
import sys
from collections.abc import Callable

import pytest

from store.closed_pipe import until_pipe_closes

pytestmark = pytest.mark.slow


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
            until_pipe_closes(other_pipe)
