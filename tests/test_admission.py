"""Admission: one reader has the turn, a few wait in order, and readers who leave give up their place."""

import threading
import time
from collections.abc import Callable
from errno import ENOSPC
from functools import partial
from typing import Any

import pytest

from dashboard.web.admission import Meter, Room, WaitingLine, metered_by
from dashboard.web.errors import NotYet, Refusal


class Owner:
    """Something that results belong to."""


def here() -> bool:
    return False


def until(condition: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("Not within twenty seconds")


def start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_one_reader_at_a_time_has_the_turn() -> None:
    turns = WaitingLine(10, "Busy. Try again in a few seconds.")
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with turns.turn(here):
            inside.append(1)
            time.sleep(0.005)
            most.append(len(inside))
            inside.pop()

    for thread in [start(work) for _ in range(10)]:
        thread.join()
    assert most == [1] * 10


def test_readers_get_their_turn_in_order() -> None:
    turns = WaitingLine(10, "Busy. Try again in a few seconds.")
    order: list[int] = []

    def work(number: int) -> None:
        with turns.turn(here):
            order.append(number)

    threads = []
    with turns.turn(here):
        for number in range(5):
            threads.append(start(lambda number=number: work(number)))  # type: ignore[misc]
            until(lambda number=number: turns.waiting == number + 1)  # type: ignore[misc]
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_reader_is_refused_where_the_queue_is_full() -> None:
    turns = WaitingLine(2, "Busy. Try again in a few seconds.")

    def wait() -> None:
        with turns.turn(here):
            pass

    with turns.turn(here):
        threads = [start(wait) for _ in range(2)]
        until(lambda: turns.waiting == 2)
        with pytest.raises(Refusal, match=r"Try again in a few seconds\.$") as refused, turns.turn(here):
            pass
    for thread in threads:
        thread.join()
    assert refused.value.status == 503


def test_a_reader_who_has_waited_too_long_is_refused() -> None:
    turns = WaitingLine(1, "Busy. Try again in a few seconds.", patience=0)
    with turns.turn(here):
        with pytest.raises(Refusal, match="Busy") as refused, turns.turn(here):
            pass
        assert (refused.value.status, turns.waiting) == (503, 0)


def test_a_reader_who_leaves_while_waiting_makes_room() -> None:
    turns = WaitingLine(1, "Busy. Try again in a few seconds.")
    left = threading.Event()
    refused: list[int] = []

    def wait() -> None:
        try:
            with turns.turn(left.is_set):
                pass
        except Refusal as refusal:
            refused.append(refusal.status)

    with turns.turn(here):
        thread = start(wait)
        until(lambda: turns.waiting == 1)
        left.set()
        thread.join(20)
        assert (refused, turns.waiting) == ([499], 0)


def test_an_error_ends_the_turn() -> None:
    turns = WaitingLine(0, "Busy. Try again in a few seconds.")
    with pytest.raises(ZeroDivisionError), turns.turn(here):
        raise ZeroDivisionError
    with turns.turn(here):
        assert turns.waiting == 0


class FullDisk(Meter):
    """A meter whose file cannot be written."""

    def joined(self, queue: str) -> None:  # noqa: ARG002
        raise OSError(ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "enter",
    [
        lambda: partial(WaitingLine(0, "Busy. Try again in a few seconds.").turn, here),
        lambda: Room(1, "Busy. Try again in a few seconds.", name="room").entered,
    ],
    ids=["line", "room"],
)
def test_a_reader_who_cannot_be_counted_makes_room(enter: Callable[[], Callable[[], Any]]) -> None:
    entered = enter()
    with pytest.raises(OSError, match="No space"), metered_by(FullDisk()), entered():
        pass
    with entered():
        pass


def test_a_reader_beyond_a_room_is_refused_and_does_not_wait() -> None:
    room = Room(1, "Busy. Try again in a few seconds.")
    with room.entered():
        with pytest.raises(NotYet, match="Busy"), room.entered():
            raise AssertionError
        assert room.taken == 1
    assert room.taken == 0
