"""The walks of `tests/structure/walks.toml` are paths through the current code."""

from pathlib import Path

import pytest

from tests.structure.walks import Step, Walk, listing, missing, read_walks, table, unlinked

ROOT = Path(__file__).parents[1]
WALKS = read_walks()


def walk_of(*steps: str) -> Walk:
    return Walk("a walk", "what happens", 3, 5, 4, list(map(Step.parse, steps)))


@pytest.mark.parametrize("name", WALKS)
def test_every_step_of_a_walk_is_in_the_code(name: str) -> None:
    assert missing(WALKS[name], ROOT) == []


@pytest.mark.parametrize("name", WALKS)
def test_every_file_of_a_walk_is_imported_or_named_by_an_earlier_one(name: str) -> None:
    assert unlinked(WALKS[name], ROOT) == []


def test_a_file_is_one_room_however_often_it_is_opened() -> None:
    assert walk_of("a.py::one", "b.py::two", "a.py::three").rooms == ["a.py", "b.py"]


def test_a_climb_is_a_step_back_into_another_file() -> None:
    assert walk_of("a.py::one", "a.py::two", "b.py::three", "c.py::four", "a.py::five").climbs == 1


def test_the_list_numbers_the_rooms_of_a_walk() -> None:
    assert [line.split()[0] for line in listing(walk_of("a.py::one", "b.py::two", "a.py::three")).splitlines()[1:]] == [
        "1",
        "2",
        "1",
    ]


def test_the_table_has_rooms_and_climbs() -> None:
    assert (
        table([walk_of("a.py::one", "b.py::two", "a.py::three")]).splitlines()[-1] == "| a walk | 5 | 4 | 2 | 3 | 1 |"
    )


@pytest.mark.parametrize(
    "step", ["dashboard/pages.py::no_such", "dashboard/no_such.py::one", "dashboard/assets/web/chart.mjs::noSuch"]
)
def test_a_step_that_is_not_in_the_code_is_named(step: str) -> None:
    assert missing(walk_of(step), ROOT) == [step]


@pytest.mark.parametrize(
    "steps",
    [
        ("dashboard/pages.py::page_content", "ingest/pipeline.py::run"),
        ("dashboard/pages.py::page_content", "dashboard/topic.py::Topic by no such text"),
        ("dashboard/assets/web/chart.mjs::Chart", "dashboard/assets/web/follow.mjs::outputs"),
    ],
)
def test_a_file_that_no_earlier_file_leads_to_is_named(steps: tuple[str, str]) -> None:
    assert unlinked(walk_of(*steps), ROOT) == [steps[1]]
