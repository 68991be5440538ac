"""Which point is near a place, in a browser, against looking at all of them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.scripts import of_points


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    with of_points(chromium, "camera", "grid_index") as page:
        yield page


def test_the_nearest_point_is_the_one_brute_force_finds(page: Page) -> None:
    assert page.evaluate("""() => {
      const places = Uint16Array.from({ length: 4000 }, () => Math.floor(Math.random() * 65536));
      const index = headscape.gridIndex.build(places, 65535);
      for (let trial = 0; trial < 200; trial++) {
        const [x, y, radius] = [Math.random(), Math.random(), 0.001 + 0.05 * Math.random()];
        let [best, found] = [radius, -1];
        for (let i = 0; i < 2000; i++) {
          const distance = Math.hypot(places[2 * i] / 65535 - x, places[2 * i + 1] / 65535 - y);
          if (distance < best) [best, found] = [distance, i];
        }
        if (headscape.gridIndex.nearest(index, x, y, radius) !== found) return false;
      }
      return true;
    }""")


def test_the_next_point_to_the_right_is_the_one_brute_force_finds(page: Page) -> None:
    assert page.evaluate("""() => {
      const places = Uint16Array.from({ length: 600 }, () => Math.floor(Math.random() * 65536));
      const index = headscape.gridIndex.build(places, 65535);
      for (let from = 0; from < 300; from++) {
        let [best, found] = [Infinity, -1];
        for (let i = 0; i < 300; i++) {
          const [dx, dy] = [places[2 * i] - places[2 * from], places[2 * i + 1] - places[2 * from + 1]];
          if (dx > 0 && Math.abs(dy) <= dx && Math.hypot(dx, dy) < best) [best, found] = [Math.hypot(dx, dy), i];
        }
        if (headscape.gridIndex.towards(index, from, 1, 0) !== found) return false;
      }
      return true;
    }""")


def test_a_flattened_cube_is_where_each_of_its_points_is_seen(page: Page) -> None:
    apart = page.evaluate("""() => {
      const camera = { x: 0.5, y: 0.5, zoom: 1, yaw: 37, pitch: -21 };
      const places = Uint16Array.from({ length: 300 }, () => Math.floor(Math.random() * 65536));
      const flat = headscape.gridIndex.flatten({ places, most: 65535 }, camera);
      const errors = Array.from({ length: 100 }, (_, i) => {
        const seen = headscape.camera.square(camera, [0, 1, 2].map((c) => places[3 * i + c] / 65535)).map(headscape.gridIndex.shrink);
        return Math.max(Math.abs(seen[0] - flat[2 * i] / 65535), Math.abs(seen[1] - flat[2 * i + 1] / 65535));
      });
      return Math.max(...errors);
    }""")
    assert apart < 2 / 65535
