"""Parts of a corpus are counted one at a time, and whoever cannot wait is told so."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask.testing import FlaskClient

from dashboard.heads import counted
from dashboard.heads.part import part_means, part_of
from dashboard.library import Library
from dashboard.pages import PAGES
from dashboard.place import find
from dashboard.reader_gone import asker_gone
from dashboard.sentence import typed
from dashboard.server import THREADS
from dashboard.turns import Turns
from store import Corpus

WHERE = "where=position:2..7"


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A part is being counted, and nobody may wait."""
    turns = Turns(0, counted.BUSY)
    monkeypatch.setattr(counted, "_turns", turns)
    with turns.turn(lambda: False):
        yield


def test_two_parts_are_never_counted_at_once(tiny_corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[int] = []
    most: list[int] = []

    def count(*_: object) -> object:
        inside.append(1)
        time.sleep(0.02)
        most.append(len(inside))
        inside.pop()
        return tiny_corpus.head_statistic

    monkeypatch.setattr(Corpus, "head_means", count)
    parts = [part_of(tiny_corpus, f"position:1..{last}") for last in range(3, 7)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda part: part_means(tiny_corpus, part), parts))
    assert most == [1] * 4


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("name", ["statistics", "mixing", "heat-map"])
def test_whoever_cannot_wait_is_told_so(client: FlaskClient, base: str, name: str) -> None:
    answer = client.get(f"{base}/{name}.csv?{WHERE}")
    assert (answer.status_code, answer.text) == (503, counted.BUSY)


@pytest.mark.usefixtures("busy")
def test_the_whole_corpus_needs_no_turn(client: FlaskClient, base: str) -> None:
    assert client.get(f"{base}/statistics.csv").status_code == 200


@pytest.mark.usefixtures("busy")
def test_a_page_that_cannot_wait_says_so_and_keeps_its_filters(tiny_store: str) -> None:
    above = PAGES["statistics"](find(Library(tiny_store), "statistics", WHERE)).above
    says = str(above)
    assert counted.BUSY in says
    assert "Means over" in says


def test_all_who_may_wait_leave_threads_of_the_server_free() -> None:
    assert (1 + counted.WAITING) + (1 + typed.WAITING) < THREADS


def test_who_asks_without_a_request_has_not_left() -> None:
    assert not asker_gone()
