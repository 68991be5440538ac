"""Reviews split in several processes give the sentences that they give in one."""

from collections.abc import Callable

import pytest

from ingest.run.parallel import fits_killed_on_error
from ingest.text import splitting
from ingest.text.reviews import Review
from ingest.text.sentences import Sentence, one_each, split_reviews, take_smallest
from ingest.text.splitting import smallest_sentences

#: Of two to four sentences each; every seventh text comes again.
REVIEWS = [
    Review(number, "It rained. " + f"The film number {number % 70} was long. " * (1 + number % 3), number % 2)
    for number in range(100)
]
COUNT = 40


def smallest(
    reviews: list[Review],
    *,
    whole: bool = False,
    passed: Callable[[float], object] = float,
    meanwhile: Callable[[], object] = lambda: None,
) -> list[Sentence]:
    with fits_killed_on_error():
        return smallest_sentences(reviews, COUNT, one_each, seed=3, whole=whole, passed=passed, meanwhile=meanwhile)


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """More parts than are in memory at a time."""
    monkeypatch.setattr(splitting, "PART", 300)


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("whole", [False, True])
def test_reviews_in_parts_give_the_sentences_of_one_part(whole: bool) -> None:
    assert smallest(REVIEWS, whole=whole) == take_smallest(split_reviews(REVIEWS, seed=3, whole=whole), COUNT)


@pytest.mark.usefixtures("_small_parts")
def test_the_reviews_of_all_parts_are_counted_once() -> None:
    passed: list[float] = []
    smallest(REVIEWS, passed=passed.append)
    assert sum(passed) == pytest.approx(len(REVIEWS))


@pytest.mark.usefixtures("_small_parts")
def test_something_else_is_done_while_processes_split() -> None:
    called: list[str] = []
    smallest(REVIEWS, meanwhile=lambda: called.append("once"))
    assert called == ["once"]


def test_few_reviews_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "processes", lambda: pytest.fail("a pool of processes"))
    assert smallest(REVIEWS) == take_smallest(split_reviews(REVIEWS, seed=3), COUNT)


def test_no_reviews_give_no_sentences() -> None:
    assert smallest([]) == []
