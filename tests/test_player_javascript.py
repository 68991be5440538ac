"""The way of tokens from one point of the model to the next, in a browser, against plain definitions."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.scripts import of_points


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    with of_points(chromium, "player") as page:
        yield page


def test_tokens_on_their_way_are_between_both_points(page: Page) -> None:
    way = "(part) => [...headscape.player.mix(Uint16Array.of(0, 100, 65535), Uint16Array.of(10, 0, 65535), part)]"
    assert [page.evaluate(way, part) for part in (0, 0.5, 1)] == [[0, 100, 65535], [5, 50, 65535], [10, 0, 65535]]


@pytest.mark.parametrize(
    ("other", "one_way"),
    [
        ("{ points: 'b', sequence: [{ points: 'a' }, { points: 'b' }] }", True),
        ("{ points: 'b' }", False),
        ("null", False),
    ],
)
def test_there_is_a_way_only_between_pictures_of_one_sequence(page: Page, other: str, one_way: bool) -> None:
    here = "{ points: 'a', sequence: [{ points: 'a' }, { points: 'b' }] }"
    assert page.evaluate(f"headscape.player.isOfOneWay({here}, {other})") is one_way
