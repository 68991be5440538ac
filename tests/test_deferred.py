"""Deferred parts of a page: there at once where they were computed before, else a skeleton that can be cancelled."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from dashboard.ui.deferred import DeferredPart, deferred, keep_computed, waiting
from dashboard.ui.work import Jobs, current_job, new_name, watched
from dashboard.web.context import Context, resolve
from dashboard.web.errors import ReaderLeft
from dashboard.web.library import Library
from dashboard.web.results import Cache

PART = DeferredPart("answer", "the answer", lambda _: ["forty-two"], ("layer",), 100)


@pytest.fixture
def library(tiny_store: str) -> Iterator[Library]:
    return Library(tiny_store)


def context(library: Library, query: str = "") -> Context:
    return resolve(library, "/statistics", query)


def shown(library: Library, query: str, part: DeferredPart = PART) -> str:
    return str(library.cache.run(deferred, context(library, query), part))


def compute(library: Library, query: str) -> None:
    """Keep that the part of a link was computed, as its callback does."""
    link = context(library, query)
    library.cache.run(keep_computed, link.corpus, link.state, PART)


def test_a_part_is_a_skeleton_before_it_is_computed(library: Library) -> None:
    page = shown(library, "?layer=1")
    for there in ("skeleton", "Cancel", "Computing the answer", "aria-busy='true'"):
        assert there in page
    assert "forty-two" not in page


def test_a_part_that_was_computed_is_there_at_once(library: Library) -> None:
    compute(library, "?layer=1")
    page = shown(library, "?layer=1&head=1")
    assert "forty-two" in page
    assert "skeleton" not in page


def test_a_part_of_another_value_of_its_fields_is_computed_anew(library: Library) -> None:
    compute(library, "?layer=1")
    assert "skeleton" in shown(library, "?layer=0")


def test_a_part_with_an_outline_shows_it_while_it_waits(library: Library) -> None:
    part = replace(PART, outline=lambda _: ["an outline"])
    assert "an outline" in str(waiting(context(library), part))


def test_work_ends_at_the_step_where_its_reader_cancels(library: Library) -> None:
    name, done, waits = new_name(), [], library.get(Jobs)

    def work() -> None:
        with waits.job(name, PART.kind):
            for step in watched(range(10)):
                done.append(step)
                if step == 3:
                    waits.cancel(name)

    with pytest.raises(ReaderLeft):
        work()
    assert done == [0, 1, 2, 3]


def test_work_without_a_page_is_never_cancelled() -> None:
    assert list(watched(range(3))) == [0, 1, 2]
    assert not current_job().reader_left_or_cancelled


def test_who_shares_the_work_of_a_reader_who_cancels_does_it_themselves(library: Library) -> None:
    cache, answers = Cache(1000), iter([ReaderLeft(), None])

    def compute() -> str:
        if error := next(answers):
            raise error
        return "there"

    with pytest.raises(ReaderLeft):
        cache.get(library, "key", compute)
    assert cache.get(library, "key", compute) == "there"
