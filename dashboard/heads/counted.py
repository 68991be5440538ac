"""What is counted of parts of a corpus: a part is read on all cores, so that one at a time is, whoever asks."""

from collections.abc import Callable
from typing import TypeVar

from dashboard.pictures.selection import Selection
from dashboard.reader_gone import asker_gone
from dashboard.recent import Recent
from dashboard.turns import Turns

#: Readers who wait in a process while a part is counted; with those of typed sentences fewer than the server has threads.
WAITING = 4
BUSY = "The server is busy counting parts of the corpus for other readers. Try again in a few seconds."
T = TypeVar("T")
_turns = Turns(WAITING, BUSY)


def counted(recent: Recent[T], chosen: Selection, count: Callable[[], T]) -> T:
    """What is kept of the part that is chosen, else what `count` gives in turn; a `Refusal` where too many wait."""
    return _turns.kept(recent, chosen, count, asker_gone)
