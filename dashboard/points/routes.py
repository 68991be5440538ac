"""Routes of what the canvas draws: points, their colours, which are selected, and the raster in place of them."""

from flask import Flask, Response

from dashboard.canvas import encoding as points
from dashboard.canvas.raster import draw_panels
from dashboard.points import colours, selection
from dashboard.points.columns import column_of
from dashboard.points.drawn import Drawn
from dashboard.ui.theme import Scheme
from dashboard.web.cache import cached
from dashboard.web.library import Library
from dashboard.web.request import BASE, ONE_HEAD, bounded, grid_of, head_of, scheme, selection_of
from dashboard.web.response import binary, codes, png
from store import Corpus

#: Pixels of a panel's side: of a large one, and of one of a grid.
MOST_RASTER_SIDE, MOST_GRID_SIDE = 1_200, 400


def register(server: Flask, library: Library) -> None:
    """Add the routes."""
    _points(server, library)
    _rasters(server, library)
    _colours(server, library)
    _masks(server, library)


def _points(server: Flask, library: Library) -> None:
    @server.get(f"{BASE}/points/<view>/grid.bin")
    def grid_points(snapshot: str, model: str, view: str) -> Response:
        drawn = grid_of(library, snapshot, model)
        return binary(_grid_points(drawn.corpus, drawn.tokens, view))

    @server.get(f"{BASE}/points/<view>/{ONE_HEAD}.bin")
    def head_points(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        drawn = head_of(library, snapshot, model, layer, head)
        return binary(points.encode(drawn.places(view), width=2))


@cached
def _grid_points(corpus: Corpus, tokens: int, view: str) -> bytes:
    return points.encode(Drawn(corpus, tokens).places(view), width=1)


def _rasters(server: Flask, library: Library) -> None:
    @server.get(f"{BASE}/raster/<view>/grid.png")
    def grid_raster(snapshot: str, model: str, view: str) -> Response:
        drawn = grid_of(library, snapshot, model)
        side, gap = bounded("side", 96, MOST_GRID_SIDE), bounded("gap", 4, 20)
        return png(_grid_raster(drawn.corpus, drawn.tokens, view, side, gap, scheme()))

    @server.get(f"{BASE}/raster/<view>/{ONE_HEAD}.png")
    def head_raster(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        drawn = head_of(library, snapshot, model, layer, head)
        side = bounded("side", 600, MOST_RASTER_SIDE)
        return png(draw_panels(drawn.places(view), columns=1, side=side, gap=0, scheme=scheme()))


@cached
def _grid_raster(corpus: Corpus, tokens: int, view: str, side: int, gap: int, palette: Scheme) -> bytes:
    places = Drawn(corpus, tokens).places(view)
    return draw_panels(places, columns=corpus.heads, side=side, gap=gap, scheme=palette)


def _colours(server: Flask, library: Library) -> None:
    @server.get(f"{BASE}/colours/<column>/grid.bin")
    def grid_colours(snapshot: str, model: str, column: str) -> Response:
        drawn = grid_of(library, snapshot, model)
        return codes(_grid_colours(drawn.corpus, drawn.tokens, column))

    @server.get(f"{BASE}/colours/<column>/{ONE_HEAD}.bin")
    def head_colours(snapshot: str, model: str, column: str, layer: int, head: int) -> Response:
        return codes(_coloured(head_of(library, snapshot, model, layer, head), column))


@cached
def _grid_colours(corpus: Corpus, tokens: int, column: str) -> bytes:
    return _coloured(Drawn(corpus, tokens), column)


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
