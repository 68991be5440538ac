"""The event loop of a worker: a connection to which nothing happens costs nothing, so thousands may wait."""

import select
import selectors
from typing import Any

from waitress import wasyncore

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class EventLoop:
    """Calls waitress' sockets when they can be read or written.

    waitress' own loop asks every socket in every round what it waits for: with 150 open connections an answer takes 1.4
    times as long. Here a socket is asked again only after an event, and while a thread works for it.
    """

    def __init__(self) -> None:
        #: By file number: waitress adds and removes its sockets here.
        self.sockets: dict[int, Any] = {}
        self._changed: set[int] = set()
        self._selector = selectors.DefaultSelector()

    def change(self, number: int) -> None:
        """Ask the socket of this number again what it waits for."""
        self._changed.add(number)

    def forget(self, number: int) -> None:
        """Stop watching a socket. Call it before the socket is closed: the next one may have the same number."""
        self._changed.discard(number)
        self._watch(number, 0)

    def turn(self, seconds: float) -> None:
        """Handle the next events; return after so many seconds where there are none."""
        for number in tuple(self._changed):
            self._ask(number)
        for key, events in self._selector.select(seconds):
            if waiting := self.sockets.get(key.fd):  # an earlier one of these events may have closed it
                self.change(key.fd)
                wasyncore.readwrite(waiting, _poll_flags(events))

    def close(self) -> None:
        """Watch nothing any more."""
        self._selector.close()

    def _ask(self, number: int) -> None:
        waiting = self.sockets.get(number)
        if waiting is None or not getattr(waiting, "changes", True):
            self._changed.discard(number)
        if waiting is None:  # a thread that worked for it has said so after it was closed
            return
        self._watch(number, (READ if waiting.readable() else 0) | (WRITE if waiting.writable() else 0))

    def _watch(self, number: int, events: int) -> None:
        known = self._selector.get_map().get(number)
        if known and not events:
            self._selector.unregister(number)
        elif known and known.events != events:
            self._selector.modify(number, events)
        elif events and not known:
            self._selector.register(number, events)


def _poll_flags(events: int) -> int:
    return (select.POLLIN if events & READ else 0) | (select.POLLOUT if events & WRITE else 0)
