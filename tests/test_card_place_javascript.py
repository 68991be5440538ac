"""A card beside its point covers neither the point nor, where there is room, the lines that are drawn: the script alone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.scripts import of_points

SIZE, ROOM = (200, 100), {"left": 0, "top": 0, "right": 800, "bottom": 600}


@pytest.fixture(scope="module")
def script(chromium: Browser) -> Iterator[Page]:
    with of_points(chromium, "card_place") as page:
        yield page


def place(script: Page, point: tuple[float, float], lines: list[list[float]]) -> tuple[float, float]:
    left, top = script.evaluate("(given) => headscape.cardPlace(...given)", [point, SIZE, ROOM, lines])
    return left, top


def is_covered(corner: tuple[float, float], x: float, y: float) -> bool:
    return corner[0] <= x <= corner[0] + SIZE[0] and corner[1] <= y <= corner[1] + SIZE[1]


@pytest.mark.parametrize("angle", range(0, 360, 30))
def test_lines_in_any_direction_stay_free(script: Page, angle: int) -> None:
    x, y = script.evaluate(
        "(a) => [400 + 250 * Math.cos(a * Math.PI / 180), 300 + 250 * Math.sin(a * Math.PI / 180)]", angle
    )
    corner = place(script, (400, 300), [[400, 300, x, y, 1]])
    steps = [i / 100 for i in range(101)]
    assert not any(is_covered(corner, 400 + step * (x - 400), 300 + step * (y - 300)) for step in steps)


@pytest.mark.parametrize("point", [(5, 5), (795, 5), (5, 595), (795, 595), (400, 300)])
def test_the_card_stays_in_its_room_and_off_its_point(script: Page, point: tuple[float, float]) -> None:
    left, top = corner = place(script, point, [])
    assert 0 <= left <= 600
    assert 0 <= top <= 500
    assert not is_covered(corner, *point)


def test_what_matters_more_stays_free_where_not_everything_can(script: Page) -> None:
    everywhere = [[0, y, 800, y, 1] for y in range(0, 600, 20)]
    corner = place(script, (400, 300), [*everywhere, [400, 300, 400, 600, 1000]])
    assert not any(is_covered(corner, 400, y) for y in range(300, 600))
