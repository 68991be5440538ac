"""What is drawn above the points, in a browser, against plain definitions: regions and labels."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.scripts import of_points


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    with of_points(chromium, "lasso", "labels") as page:
        yield page


def test_a_region_keeps_its_corners_and_at_most_sixty_of_them(page: Page) -> None:
    kept = page.evaluate("""() => {
      const side = (from, to) => Array.from({ length: 100 }, (_, i) => [0, 1].map((c) => from[c] + ((to[c] - from[c]) * i) / 100));
      const corners = [[0.1, 0.1], [0.9, 0.1], [0.9, 0.9], [0.1, 0.9]];
      const outline = corners.flatMap((corner, i) => side(corner, corners[(i + 1) % 4]));
      const simple = headscape.lasso.simplify(outline);
      return [simple.length, corners.every((corner) => simple.some((one) => String(one) === String(corner)))];
    }""")
    assert kept[0] <= 60
    assert kept[1]


def test_a_region_comes_back_from_its_link(page: Page) -> None:
    assert page.evaluate("""() => {
      const camera = { x: 0.5, y: 0.5, zoom: 1, yaw: 30, pitch: -20 };
      const text = headscape.lasso.format("pca-raw-3d,3,7", camera, [[0.1, 0.2], [1.1, 0.2], [0.5, 0.9]]);
      return [text, headscape.lasso.parse(text, "pca-raw-3d,3,7").outline];
    }""") == ["pca-raw-3d,3,7,30,-20,100,200,1100,200,500,900", [[0.1, 0.2], [1.1, 0.2], [0.5, 0.9]]]


@pytest.mark.parametrize(
    ("lasso", "here"),
    [
        ("v,3,7,30,-20,0,0,9,0,9,9", True),
        ("v,3,7,31,-20,0,0,9,0,9,9", False),
        ("v,3,8,30,-20,0,0,9,0,9,9", False),
        ("w,3,7,30,-20,0,0,9,0,9,9", False),
        ("v,3,7,30,-20,0,0,9", False),
        ("<script>", False),
    ],
)
def test_a_region_is_drawn_only_where_it_was(page: Page, lasso: str, here: bool) -> None:
    camera = {"x": 0.5, "y": 0.5, "zoom": 1, "yaw": 30, "pitch": -20}
    drawn = page.evaluate(
        "([text, where, camera]) => headscape.lasso.outlineHere(text, where, camera)", [lasso, "v,3,7", camera]
    )
    assert (drawn is not None) is here


def test_labels_never_overlap_and_the_first_come_first(page: Page) -> None:
    chosen = page.evaluate("""() => {
      const candidates = Array.from({ length: 500 }, (_, i) => ({ px: Math.random() * 400, py: Math.random() * 400, text: `word${i}`, i }));
      const sheet = headscape.labels.sheet(400, 400);
      return headscape.labels.choose(candidates, (text) => 6 * text.length, sheet, { most: 300, height: 14, beside: 5 });
    }""")
    assert chosen == sorted(chosen, key=lambda label: int(label["i"]))
    for i, one in enumerate(chosen):
        for other in chosen[:i]:
            beside = abs(one["left"] - other["left"]) >= min(one["width"], other["width"])
            above = abs(one["top"] - other["top"]) >= one["height"]
            assert beside or above


def test_no_more_labels_than_asked_for(page: Page) -> None:
    assert (
        page.evaluate("""() => {
      const candidates = Array.from({ length: 50 }, (_, i) => ({ px: 10, py: 20 + 20 * i, text: "a" }));
      return headscape.labels.choose(candidates, () => 6, headscape.labels.sheet(400, 2000), { most: 7, height: 14, beside: 5 }).length;
    }""")
        == 7
    )
