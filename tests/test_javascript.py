"""The pure parts of the canvas, run in the browser against plain definitions."""

import pytest
from playwright.sync_api import Page

from tests.browser import Open


@pytest.fixture
def page(open_page: Open, tiny_server: str) -> Page:
    return open_page(f"{tiny_server}/about")


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


def test_points_cut_on_their_way_are_refused(page: Page) -> None:
    said = page.evaluate("""() => {
      const bytes = new Uint8Array(40);
      bytes.set([72, 83, 80, 49, 1, 0, 0, 0, 9, 0, 0, 0, 2]);
      try { headscape.decode(bytes.buffer); } catch (error) { return error.message; }
    }""")
    assert said == "Points were cut on their way"
