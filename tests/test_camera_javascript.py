"""Where the reader looks and what is to be seen there, in a browser, against plain definitions."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.scripts import of_points


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    with of_points(chromium, "camera", "layout", "camera_address") as page:
        yield page


def test_zooming_keeps_what_is_under_the_pointer(page: Page) -> None:
    moved = page.evaluate("""() => {
      let camera = headscape.camera.start();
      const before = headscape.camera.toData(camera, 0.3, 0.6);
      for (const factor of [2, 1.7, 3]) camera = headscape.camera.zoomAt(camera, factor, 0.3, 0.6);
      const after = headscape.camera.toData(camera, 0.3, 0.6);
      return Math.hypot(before[0] - after[0], before[1] - after[1]);
    }""")
    assert moved < 1e-9


def test_screen_and_data_places_are_inverse(page: Page) -> None:
    assert (
        page.evaluate("""() => {
      const camera = { x: 0.4, y: 0.7, zoom: 5 };
      const [x, y] = headscape.camera.toScreen(camera, ...headscape.camera.toData(camera, 0.2, 0.9));
      return Math.abs(x - 0.2) + Math.abs(y - 0.9);
    }""")
        < 1e-9
    )


@pytest.mark.parametrize(
    ("yaw", "pitch", "place", "seen"),
    [
        (0, 0, [0.2, 0.9, 0.4], [0.2, 0.9]),
        (90, 0, [0.5, 0.9, 0.8], [0.8, 0.9]),
        (0, 90, [0.2, 0.5, 0.8], [0.2, 0.2]),
        (180, 0, [0.2, 0.9, 0.4], [0.8, 0.9]),
    ],
)
def test_a_turned_cube_is_seen_from_its_side(
    page: Page, yaw: int, pitch: int, place: list[float], seen: list[float]
) -> None:
    camera = {"x": 0.5, "y": 0.5, "zoom": 1, "yaw": yaw, "pitch": pitch}
    assert page.evaluate(
        "([camera, place]) => headscape.camera.square(camera, place)", [camera, place]
    ) == pytest.approx(seen)


def test_a_camera_comes_back_from_its_link(page: Page) -> None:
    assert page.evaluate("""() => {
      const camera = { x: 0.4123, y: 0.6, zoom: 3.25, yaw: 40, pitch: -10 };
      return headscape.camera.parse(headscape.camera.format(camera, 3), 3);
    }""") == {"x": 0.4123, "y": 0.6, "zoom": 3.25, "yaw": 40, "pitch": -10}


@pytest.mark.parametrize("text", ["", "1,2", "a,b,c,d,e", "NaN,0,1,0,0"])
def test_a_link_of_nonsense_looks_at_all(page: Page, text: str) -> None:
    assert page.evaluate("(text) => headscape.camera.format(headscape.camera.parse(text, 2), 2)", text) == ""


def test_the_camera_in_the_address_leaves_the_other_fields_as_they_are(page: Page) -> None:
    said = page.evaluate("() => headscape.cameraAddress.withCamera('?where=a%3Ab&at=1,2&q=x+y', '0.5,0.5,2,0,0')")
    assert said == "?where=a%3Ab&q=x+y&at=0.5,0.5,2,0,0"


def test_a_glide_ends_where_it_should(page: Page) -> None:
    assert page.evaluate("""() => {
      const [from, to] = [{ x: 0.5, y: 0.5, zoom: 1, yaw: 0, pitch: 0 }, { x: 0.2, y: 0.9, zoom: 8, yaw: 90, pitch: 10 }];
      return [headscape.camera.between(from, to, 0), headscape.camera.between(from, to, 1)];
    }""") == [
        {"x": 0.5, "y": 0.5, "zoom": 1, "yaw": 0, "pitch": 0},
        {"x": pytest.approx(0.2), "y": pytest.approx(0.9), "zoom": 8, "yaw": 90, "pitch": 10},
    ]


def test_the_panel_under_a_place_is_the_one_that_shows_it(page: Page) -> None:
    assert page.evaluate("""() => {
      const layout = headscape.layout.fit({ count: 144, columns: 12, dimensions: 2, width: 900, height: 900 });
      const camera = { x: 0.3, y: 0.6, zoom: 2.5, yaw: 0, pitch: 0 };
      return Array.from({ length: 144 }, (_, panel) => panel).every((panel) => {
        const pixel = headscape.layout.toPixel(layout, camera, panel, 0.3, 0.8);
        const [x, y] = headscape.layout.fromPixel(layout, camera, panel, ...pixel);
        return headscape.layout.panelAt(layout, camera, ...pixel) === panel && Math.hypot(x - 0.3, y - 0.8) < 1e-9;
      });
    }""")


def test_panels_with_names_and_empty_places_are_found_where_they_are_drawn(page: Page) -> None:
    assert page.evaluate("""() => {
      const slots = [0, 4, 1, 5, 9, 2, 6, 10];
      const layout = headscape.layout.fit({ count: 8, columns: 4, slots, titled: true, dimensions: 2, width: 900, height: 500 });
      const camera = { x: 0.4, y: 0.6, zoom: 1.5, yaw: 0, pitch: 0 };
      const found = slots.map((_, panel) => headscape.layout.panelAt(layout, camera, ...headscape.layout.toPixel(layout, camera, panel, 0.2, 0.9)));
      const [left, top, side] = headscape.layout.rectangle(layout, camera, 4);
      return [found, headscape.layout.panelAt(layout, camera, left - 0.5 * side, top + 0.5 * side)];
    }""") == [[0, 1, 2, 3, 4, 5, 6, 7], -1]
