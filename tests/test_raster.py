"""The picture for browsers without WebGL2."""

import io

import numpy as np
import pytest
from PIL import Image

from dashboard.canvas.spec import MOST_PIXELS, draw_panel, draw_panels
from dashboard.ui.theme import PALETTE, rgb


def test_a_query_in_the_lower_left_is_drawn_there_in_its_colour() -> None:
    places = np.array([[[0.0, 0.0], [1.0, 1.0]]], np.float32)
    pixels = draw_panel(places, side=9, scheme="light")
    assert tuple(pixels[8, 0, :3]) == rgb(PALETTE["light"]["query"])
    assert tuple(pixels[0, 8, :3]) == rgb(PALETTE["light"]["key"])


def test_where_there_is_nothing_the_picture_is_transparent() -> None:
    pixels = draw_panel(np.full((1, 2, 2), 0.5, np.float32), side=5, scheme="dark")
    assert (pixels[..., 3] > 0).sum() == 1


def test_panels_stand_row_by_row() -> None:
    points = np.full((3, 1, 2, 2), 0.5, np.float32)
    image = Image.open(io.BytesIO(draw_panels(points, columns=2, side=10, gap=4, scheme="light")))
    assert image.size == (24, 24)
    assert image.getpixel((19, 19))[3] == 0


def test_a_picture_in_three_dimensions_is_seen_from_its_front() -> None:
    places = np.random.default_rng(0).random((2, 30, 2, 3), np.float32)
    front = draw_panels(places[..., :2], columns=2, side=20, gap=2, scheme="dark")
    assert draw_panels(places, columns=2, side=20, gap=2, scheme="dark") == front


def size_of(picture: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(picture)).size


@pytest.mark.parametrize("panels", [144, 384, 3_000])
def test_no_picture_has_more_pixels_than_a_large_screen(panels: int) -> None:
    points = np.full((panels, 1, 2, 2), 0.5, np.float32)
    width, height = size_of(draw_panels(points, columns=16, side=400, gap=4, scheme="light", title=20))
    assert width * height <= MOST_PIXELS


def test_a_large_model_is_drawn_at_the_requested_size() -> None:
    points = np.full((24 * 16, 1, 2, 2), 0.5, np.float32)
    drawn = draw_panels(points, columns=16, side=96, gap=4, scheme="light")
    assert size_of(drawn) == (16 * 100 - 4, 24 * 100 - 4)
