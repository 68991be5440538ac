"""Routes of what the canvas draws: points, their colours, which are selected, and the raster in place of them."""

import numpy as np
from flask import Flask, Response
from numpy.typing import NDArray

from dashboard.library import Library
from dashboard.once import once
from dashboard.pictures import colours, points, selection
from dashboard.pictures.columns import column_of
from dashboard.pictures.drawn import Drawn
from dashboard.pictures.raster import draw_panels
from dashboard.recent import Recent
from dashboard.routes.request import BASE, ONE_HEAD, bounded, grid_of, head_of, scheme, selection_of
from dashboard.routes.response import binary, codes, png
from store import Corpus

#: Pixels of a panel's side: of a large one, and of one of a grid.
MOST_RASTER_SIDE, MOST_GRID_SIDE = 1_200, 400
#: Answers about all panels that are kept of a corpus.
KEPT = 12


def register(server: Flask, library: Library) -> None:
    """Add the routes."""
    _points(server, library)
    _rasters(server, library)
    _colours(server, library)
    _masks(server, library)


@once
def encoded(_: Corpus) -> Recent[bytes]:
    """What was sent of all panels."""
    return Recent(KEPT)


def _points(server: Flask, library: Library) -> None:
    @server.get(f"{BASE}/points/<view>/grid.bin")
    def grid_points(snapshot: str, model: str, view: str) -> Response:
        drawn = grid_of(library, snapshot, model)
        key = "points", view, drawn.tokens
        return binary(encoded(drawn.corpus).get(key, lambda: points.encode(drawn.places(view), width=1)))

    @server.get(f"{BASE}/points/<view>/{ONE_HEAD}.bin")
    def head_points(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        drawn = head_of(library, snapshot, model, layer, head)
        return binary(points.encode(drawn.places(view), width=2))


def _rasters(server: Flask, library: Library) -> None:
    @server.get(f"{BASE}/raster/<view>/grid.png")
    def grid_raster(snapshot: str, model: str, view: str) -> Response:
        drawn = grid_of(library, snapshot, model)
        side, gap = bounded("side", 96, MOST_GRID_SIDE), bounded("gap", 4, 20)
        return png(_raster(drawn.places(view), drawn.corpus.heads, side, gap))

    @server.get(f"{BASE}/raster/<view>/{ONE_HEAD}.png")
    def head_raster(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        drawn = head_of(library, snapshot, model, layer, head)
        return png(_raster(drawn.places(view), 1, bounded("side", 600, MOST_RASTER_SIDE), 0))


def _raster(places: NDArray[np.float32], columns: int, side: int, gap: int) -> bytes:
    return draw_panels(places, columns=columns, side=side, gap=gap, scheme=scheme())


def _colours(server: Flask, library: Library) -> None:
    @server.get(f"{BASE}/colours/<column>/grid.bin")
    def grid_colours(snapshot: str, model: str, column: str) -> Response:
        drawn = grid_of(library, snapshot, model)
        return codes(encoded(drawn.corpus).get(("colours", column, drawn.tokens), lambda: _coloured(drawn, column)))

    @server.get(f"{BASE}/colours/<column>/{ONE_HEAD}.bin")
    def head_colours(snapshot: str, model: str, column: str, layer: int, head: int) -> Response:
        return codes(_coloured(head_of(library, snapshot, model, layer, head), column))


def _coloured(drawn: Drawn, column: str) -> bytes:
    return colours.encode(colours.colour_codes(column_of(drawn.corpus, column), drawn))


def _masks(server: Flask, library: Library) -> None:
    @server.get(f"{BASE}/mask/grid.bin")
    def grid_mask(snapshot: str, model: str) -> Response:
        return _mask(grid_of(library, snapshot, model))

    @server.get(f"{BASE}/mask/{ONE_HEAD}.bin")
    def head_mask(snapshot: str, model: str, layer: int, head: int) -> Response:
        return _mask(head_of(library, snapshot, model, layer, head))


def _mask(drawn: Drawn) -> Response:
    return codes(selection.encode(selection.mask(drawn, selection_of(drawn.corpus))))
