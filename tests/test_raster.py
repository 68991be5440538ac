"""The picture for browsers without WebGL2."""

import io

import numpy as np
from PIL import Image

from dashboard.pictures.raster import draw_panel, draw_panels
from dashboard.theme import PALETTE, rgb


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
