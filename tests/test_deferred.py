"""Deferred parts of a page: shown at once where they were computed before, else a skeleton that can be cancelled."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from dashboard.ui.deferred import DeferredPart, arrived, deferred, keep_computed, waiting
from dashboard.ui.work import Jobs, current_job, new_name, watched
from dashboard.web.context import Context, resolve
from dashboard.web.errors import ReaderLeft
from dashboard.web.results import Cache
from dashboard.web.served_store import ServedStore

PART = DeferredPart("answer", "the answer", lambda _: ["forty-two"], ("layer",), 100)


@pytest.fixture
def served_store(tiny_store: str) -> Iterator[ServedStore]:
    return ServedStore(tiny_store)


def context(served_store: ServedStore, query: str = "") -> Context:
    return resolve(served_store, "/statistics", query)


def shown(served_store: ServedStore, query: str, part: DeferredPart = PART) -> str:
    return str(served_store.cache.run(deferred, context(served_store, query), part))


def compute(served_store: ServedStore, query: str) -> None:
    """Note that the deferred part of a link was computed, as its callback does."""
    link = context(served_store, query)
    served_store.cache.run(keep_computed, link.corpus, link.state, PART)


def test_a_part_is_a_skeleton_before_it_is_computed(served_store: ServedStore) -> None:
    page = shown(served_store, "?layer=1")
    for there in ("skeleton", "Cancel", "Computing the answer", "aria-busy='true'"):
        assert there in page
    assert "forty-two" not in page


@pytest.mark.parametrize(
    ("part", "heights"),
    [
        (PART, ("100px", "100px", "100px")),
        (replace(PART, narrow=300), ("100px", "300px", "300px")),
        (replace(PART, narrow=300, middle=200), ("100px", "200px", "300px")),
    ],
)
def test_a_part_reserves_a_height_for_each_kind_of_window(
    served_store: ServedStore, part: DeferredPart, heights: tuple[str, str, str]
) -> None:
    place = served_store.cache.run(deferred, context(served_store), part)
    assert place.style == dict(zip(("--height", "--middle", "--narrow"), heights, strict=True))


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("the sentences of the role", "Ready: the sentences of the role."),
        ("what changes without these heads", "Ready: what changes without these heads."),
        ("this sentence, once the model is loaded", "Ready: this sentence."),
    ],
)
def test_a_screen_reader_hears_in_plain_words_that_a_part_is_there(title: str, said: str) -> None:
    assert arrived(title) == said


def test_a_part_that_was_computed_is_there_at_once(served_store: ServedStore) -> None:
    compute(served_store, "?layer=1")
    page = shown(served_store, "?layer=1&head=1")
    assert "forty-two" in page
    assert "skeleton" not in page


def test_a_part_of_another_value_of_its_fields_is_computed_anew(served_store: ServedStore) -> None:
    compute(served_store, "?layer=1")
    assert "skeleton" in shown(served_store, "?layer=0")


def test_a_part_with_an_outline_shows_it_while_it_waits(served_store: ServedStore) -> None:
    part, here = replace(PART, outline=lambda *_: ["an outline"]), context(served_store)
    assert "an outline" in str(waiting(here.corpus, here.state, part))


def test_work_ends_at_the_step_where_its_reader_cancels(served_store: ServedStore) -> None:
    name, done, waits = new_name(), [], served_store.service(Jobs)

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


def test_who_shares_the_work_of_a_reader_who_cancels_does_it_themselves(served_store: ServedStore) -> None:
    cache, answers = Cache(1000), iter([ReaderLeft(), None])

    def compute() -> str:
        if error := next(answers):
            raise error
        return "there"

    with pytest.raises(ReaderLeft):
        cache.get(served_store, "key", compute)
    assert cache.get(served_store, "key", compute) == "there"
