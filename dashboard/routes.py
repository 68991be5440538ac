"""Bytes for the canvas, by HTTP. Every URL names its snapshot, so a response never mixes two and never changes."""

from functools import lru_cache

from flask import Flask, Response, abort, jsonify, request

from dashboard.address import MOST_TOKENS
from dashboard.hover import as_json, point_card
from dashboard.library import Library
from dashboard.points import GRID_TOKENS, encode, grid_points, head_points
from dashboard.raster import draw_panels
from dashboard.theme import Scheme
from store import Corpus

FOREVER = "private, max-age=31536000, immutable"
MOST_RASTER_SIDE = 1_200


def register(server: Flask, library: Library) -> None:
    """Add the data routes to the server."""
    base = "/data/<snapshot>/<model>"
    grid = lru_cache(maxsize=4)(lambda *key: encode(grid_points(_corpus(library, *key[:2]), key[2], key[3]), width=1))

    @server.get(f"{base}/points/<view>/grid.bin")
    def grid_bytes(snapshot: str, model: str, view: str) -> Response:
        return _binary(grid(snapshot, model, view, _bounded("tokens", GRID_TOKENS, GRID_TOKENS)))

    @server.get(f"{base}/points/<view>/<int:layer>/<int:head>.bin")
    def head_bytes(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        corpus = _corpus(library, snapshot, model)
        _check_head(corpus, layer, head)
        return _binary(
            encode(head_points(corpus, view, layer, head, _bounded("tokens", MOST_TOKENS, MOST_TOKENS)), width=2)
        )

    @server.get(f"{base}/raster/<view>/grid.png")
    def grid_raster(snapshot: str, model: str, view: str) -> Response:
        corpus = _corpus(library, snapshot, model)
        points = grid_points(corpus, view, _bounded("tokens", GRID_TOKENS, GRID_TOKENS))
        return _png(
            draw_panels(
                points,
                columns=corpus.heads,
                side=_bounded("side", 96, 400),
                gap=_bounded("gap", 4, 20),
                scheme=_scheme(),
            )
        )

    @server.get(f"{base}/raster/<view>/<int:layer>/<int:head>.png")
    def head_raster(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        corpus = _corpus(library, snapshot, model)
        _check_head(corpus, layer, head)
        points = head_points(corpus, view, layer, head, _bounded("tokens", MOST_TOKENS, MOST_TOKENS))
        return _png(
            draw_panels(points, columns=1, side=_bounded("side", 600, MOST_RASTER_SIDE), gap=0, scheme=_scheme())
        )

    @server.get(f"{base}/token/<int:layer>/<int:head>/<any(query, key):role>/<int:token>.json")
    def token_card(snapshot: str, model: str, layer: int, head: int, role: str, token: int) -> Response:
        corpus = _corpus(library, snapshot, model)
        _check_head(corpus, layer, head)
        if token >= corpus.n_tokens:
            abort(404, f"There is no token {token}; there are 0 to {corpus.n_tokens - 1}.")
        return _lasting(jsonify(as_json(point_card(corpus, layer=layer, head=head, role=role, token=token))))


def _corpus(library: Library, snapshot: str, model: str) -> Corpus:
    return library.snapshot(snapshot).corpus(model)


def _check_head(corpus: Corpus, layer: int, head: int) -> None:
    if layer >= corpus.layers or head >= corpus.heads:
        abort(
            404,
            f"There is no head L{layer} H{head}; there are L0 to L{corpus.layers - 1} and H0 to H{corpus.heads - 1}.",
        )


def _bounded(name: str, default: int, most: int) -> int:
    """A whole number of the query string, 1 to `most`."""
    asked = request.args.get(name, "")
    return max(1, min(int(asked), most)) if asked.isascii() and asked.isdigit() and len(asked) < 12 else default


def _scheme() -> Scheme:
    return "dark" if request.args.get("scheme") == "dark" else "light"


def _binary(content: bytes) -> Response:
    return _lasting(Response(content, mimetype="application/octet-stream"))


def _png(content: bytes) -> Response:
    return _lasting(Response(content, mimetype="image/png"))


def _lasting(response: Response) -> Response:
    response.headers["Cache-Control"] = FOREVER
    return response
