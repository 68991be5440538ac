"""What is computed once: two readers who ask at the same time share it, whoever was faster."""

from collections.abc import Callable
from threading import Thread

import pytest

from dashboard.once import once
from store import Corpus, open_snapshot
from store.features import Features


class Opened:
    """Something that can be forgotten."""


def slowly(made: Callable[[], object], make: Callable[..., object]) -> tuple[list[object], Callable[..., object]]:
    """What a faster reader gets of `made` while `make` is at work for the first time; and such a `make`."""
    faster: list[object] = []

    def slow(*asked: object) -> object:
        if not faster:
            faster.append(None)
            reader = Thread(target=lambda: faster.append(made()))
            reader.start()
            reader.join()
        return make(*asked)

    return faster, slow


def test_two_readers_get_the_same() -> None:
    opened = Opened()
    faster, slow = slowly(lambda: made(opened), lambda _: object())
    made = once(slow)
    assert made(opened) is faster[1]


def test_two_readers_get_the_same_corpus(tiny_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = open_snapshot(tiny_store)
    faster, slow = slowly(snapshot.corpus, Corpus)
    monkeypatch.setattr("store.snapshot.Corpus", slow)
    assert snapshot.corpus() is faster[1]


def test_two_readers_get_the_same_feature_points(tiny_corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    faster, slow = slowly(lambda: tiny_corpus.features("sample"), Features)
    monkeypatch.setattr("store.corpus.Features", slow)
    assert tiny_corpus.features("sample") is faster[1]
