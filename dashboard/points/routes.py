"""Routes of points: what the canvas draws, cards and lines of single points, and files."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from flask import Flask, Response, abort, jsonify, request
from numpy.typing import NDArray

from dashboard.canvas.spec import GRID_TOKENS, draw_panels, encode_points
from dashboard.points import colours
from dashboard.points.clicked_point import focus, point_card
from dashboard.points.density import clusters_of_head, contours_of_head
from dashboard.points.distance import density, density_table
from dashboard.points.head_tokens import HeadTokens, column_of, columns
from dashboard.points.pairs import stored_pairs
from dashboard.points.point_set import (
    FIELDS,
    MOST_OF_DATA,
    Beside,
    PointSet,
    Selection,
    column_named,
    encode,
    mask,
    parse_selection,
    values,
)
from dashboard.points.similar import Point
from dashboard.ui.files import FORM, Table, file, large_file
from dashboard.ui.theme import Scheme
from dashboard.web.http import (
    BASE,
    ONE_HEAD,
    binary,
    bounded,
    check_head,
    check_token,
    codes,
    corpus_of,
    lasting,
    png,
    scheme,
    share_of_query,
)
from dashboard.web.results import cached
from dashboard.web.served_store import ServedStore
from dashboard.web.state import HEAD, LEAST, MOST_TOKENS, MOST_TOP, TOP, head_numbers
from store import Corpus
from store.phrases import whole_number

#: Most pixels of a panel's side: of a single large panel, and of a panel in the grid.
MOST_RASTER_SIDE, MOST_GRID_SIDE = 1_200, 400
#: Most labels of one picture, and most tokens that are named as near.
MOST_LABELS, MOST_NEAR = 50_000, 50
_POINT = f"{ONE_HEAD}/<any(query, key):role>/<int:token>.json"
#: Rows of a file made at once.
ROWS = 20_000


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    _points(server, served_store)
    _rasters(server, served_store)
    _densities(server, served_store)
    _colours(server, served_store)
    _masks(server, served_store)
    _tokens(server, served_store)
    _files(server, served_store)
    _tables(server, served_store)


def _points(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{BASE}/points/<view>/grid.bin")
    def grid_points(snapshot: str, model: str, view: str) -> Response:
        drawn = _grid_of(served_store, snapshot, model)
        return binary(_grid_points(drawn.corpus, drawn.tokens, view))

    @server.get(f"{BASE}/points/<view>/{ONE_HEAD}.bin")
    def head_points(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        return binary(encode_points(_beside(served_store, snapshot, model, layer, head).places(view), width=2))


@cached
def _grid_points(corpus: Corpus, tokens: int, view: str) -> bytes:
    return encode_points(HeadTokens(corpus, tokens).places(view), width=1)


def _rasters(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{BASE}/raster/<view>/grid.png")
    def grid_raster(snapshot: str, model: str, view: str) -> Response:
        drawn = _grid_of(served_store, snapshot, model)
        return png(_grid_raster(drawn.corpus, drawn.tokens, view, _panels_of(drawn.corpus), scheme()))

    @server.get(f"{BASE}/raster/<view>/{ONE_HEAD}.png")
    def head_raster(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        places = _beside(served_store, snapshot, model, layer, head).places(view)
        columns = bounded("columns", 1, len(places))
        return send_raster(places, columns=columns, side=600, most=MOST_RASTER_SIDE, title=40)


@dataclass(frozen=True)
class _Panels:
    """The panels of an image: numbers of its heads, layer after layer; columns; side, gap and title in pixels."""

    heads: tuple[int, ...]
    columns: int
    side: int
    gap: int
    title: int


def _panels_of(corpus: Corpus) -> _Panels:
    """The panels that the query string asks for: by default every head, a layer in a row."""
    every = range(corpus.layers * corpus.heads)
    asked = dict.fromkeys(map(whole_number, request.args.get("heads", "").split(".")))
    return _Panels(
        heads=tuple(head for head in asked if head is not None and head in every) or tuple(every),
        columns=bounded("columns", corpus.heads, len(every)),
        side=bounded("side", 96, MOST_GRID_SIDE),
        gap=bounded("gap", 4, 20),
        title=bounded("title", 0, 40, fewest=0),
    )


@cached
def _grid_raster(corpus: Corpus, tokens: int, view: str, panels: _Panels, palette: Scheme) -> bytes:
    places = HeadTokens(corpus, tokens).places(view)[list(panels.heads)]
    return draw_panels(
        places, columns=panels.columns, side=panels.side, gap=panels.gap, title=panels.title, scheme=palette
    )


def _densities(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{BASE}/contours/<view>/{ONE_HEAD}.json")
    def contours(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        return lasting(
            jsonify(_densities_of_heads(_heads_of(served_store, snapshot, model, layer, head), view, contours_of_head))
        )

    @server.get(f"{BASE}/clusters/<view>/{ONE_HEAD}.json")
    def clusters(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        return lasting(
            jsonify(_densities_of_heads(_heads_of(served_store, snapshot, model, layer, head), view, clusters_of_head))
        )


def _densities_of_heads(
    heads: list[HeadTokens], view: str, compute: Callable[..., list[Any]]
) -> list[list[dict[str, object]]]:
    """Contours or clusters of each head, JSON-ready; 404 for a picture that is not 2D."""
    if heads[0].corpus.view(view).attrs["components"] != 2:
        abort(404, "Densities are drawn in 2D pictures. Choose a 2D picture.")
    each = [compute(drawn.corpus, view, drawn.tokens, drawn.layer, drawn.head) for drawn in heads]
    return [[asdict(part) for part in parts] for parts in each]


def _colours(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{BASE}/colours/<column>/grid.bin")
    def grid_colours(snapshot: str, model: str, column: str) -> Response:
        drawn = _grid_of(served_store, snapshot, model)
        return codes(_grid_colours(drawn.corpus, drawn.tokens, column))

    @server.get(f"{BASE}/colours/<column>/{ONE_HEAD}.bin")
    def head_colours(snapshot: str, model: str, column: str, layer: int, head: int) -> Response:
        return send_colours(_beside(served_store, snapshot, model, layer, head), column)


@cached
def _grid_colours(corpus: Corpus, tokens: int, column: str) -> bytes:
    return colour_bytes(HeadTokens(corpus, tokens), column)


def _masks(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{BASE}/mask/grid.bin")
    def grid_mask(snapshot: str, model: str) -> Response:
        drawn = _grid_of(served_store, snapshot, model)
        return send_mask(drawn, selection_of(drawn.corpus))

    @server.get(f"{BASE}/mask/{ONE_HEAD}.bin")
    def head_mask(snapshot: str, model: str, layer: int, head: int) -> Response:
        drawn = _head_of(served_store, snapshot, model, layer, head)
        return send_mask(drawn, selection_of(drawn.corpus))


def send_raster(
    places: NDArray[np.float32], *, columns: int, side: int, most: int, title: int, slots: Sequence[int] | None = None
) -> Response:
    """Places (panel, token, role, component) as an image.

    The query string has pixels: of a panel's side (by default `side`, at most `most`), of the gap between panels, and of the titles
    above them (at most `title`).
    """
    pixels, gap, above = bounded("side", side, most), bounded("gap", 4, 20), bounded("title", 0, title, fewest=0)
    drawn = draw_panels(places, columns=columns, side=pixels, gap=gap, scheme=scheme(), slots=slots, title=above)
    return png(drawn)


def send_colours(points: PointSet, column: str) -> Response:
    """The colour codes of the points by a column; 404 for an unknown one."""
    return codes(colour_bytes(points, column))


def colour_bytes(points: PointSet, column: str) -> bytes:
    """The colour codes of the points as bytes."""
    return colours.encode(colours.colour_codes(column_named(points.columns, column), points))


def send_mask(points: PointSet, selection: Selection) -> Response:
    """The mask of the selected points, as bytes."""
    return codes(encode(mask(points, selection)))


def _tokens(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{BASE}/tokens.json")
    def labels(snapshot: str, model: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        rows = corpus.rows[: bounded("tokens", MOST_LABELS, MOST_LABELS)]
        different, ids = np.unique(corpus.tokens.token_id.values[rows], return_inverse=True)
        return lasting(jsonify({"pieces": [str(piece) for piece in corpus.vocab[different]], "ids": ids.tolist()}))

    @server.get(f"{BASE}/token/{_POINT}")
    def card(snapshot: str, model: str, layer: int, head: int, role: str, token: int) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        check_token(corpus, token)
        return lasting(jsonify(asdict(point_card(corpus, layer=layer, head=head, role=role, token=token))))

    @server.get(f"{BASE}/focus/<view>/{_POINT}")
    def overlay(snapshot: str, model: str, view: str, layer: int, head: int, role: str, token: int) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        check_token(corpus, token)
        return lasting(jsonify(_focus_of(corpus, view, Point(layer, head, role, token))))


def _focus_of(corpus: Corpus, view: str, point: Point) -> dict[str, object]:
    """The overlay of a clicked point; the query string has the numbers of lines and of near tokens."""
    return focus(
        corpus,
        view,
        point,
        top=bounded("top", TOP, MOST_TOP, fewest=0),
        least=share_of_query("least", LEAST),
        lines="sentence" if request.args.get("lines") == "sentence" else "point",
        near=bounded("near", 10, MOST_NEAR, fewest=0),
    )


def _files(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{BASE}/<any(points, selection):what>/<view>/{ONE_HEAD}.{FORM}")
    def one_head(snapshot: str, model: str, what: str, view: str, layer: int, head: int, form: str) -> Response:
        drawn = _head_of(served_store, snapshot, model, layer, head)
        drawn.corpus.view(view)  # an unknown view is a 404 before the first byte
        selected = mask(drawn, selection_of(drawn.corpus) if what == "selection" else Selection())[0]
        return large_file(tables_of_head(drawn, view, selected), f"{what}-{view}-L{layer}-H{head}", form)

    @server.get(f"{BASE}/points/<view>/grid.{FORM}")
    def every_head(snapshot: str, model: str, view: str, form: str) -> Response:
        drawn = _grid_of(served_store, snapshot, model)
        drawn.corpus.view(view)
        return large_file(tables_of_heads(drawn, view), f"points-{view}", form)


def _tables(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{BASE}/pairs/{ONE_HEAD}.{FORM}")
    def pairs_of_head(snapshot: str, model: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        rows = [vars(pair) for pair in stored_pairs(corpus, layer, head)]
        table = {name: np.array([row[name] for row in rows]) for name in rows[0]} if rows else {}
        return file(iter([table]), f"pairs-L{layer}-H{head}", form)

    @server.get(f"{BASE}/density/<normalization>/{ONE_HEAD}.{FORM}")
    def density_of_head(snapshot: str, model: str, normalization: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        pairs = density(corpus, layer=layer, head=head, normalization=normalization)
        return file(iter([density_table(pairs)]), f"density-{normalization}-L{layer}-H{head}", form)


def _grid_of(served_store: ServedStore, snapshot: str, model: str) -> HeadTokens:
    """The points of the grid: tokens in every head."""
    corpus = corpus_of(served_store, snapshot, model)
    return HeadTokens(corpus, min(bounded("tokens", GRID_TOKENS, GRID_TOKENS), corpus.n_tokens))


def _head_of(served_store: ServedStore, snapshot: str, model: str, layer: int, head: int) -> HeadTokens:
    """The points of one head; 404 for an unknown head."""
    corpus = corpus_of(served_store, snapshot, model)
    check_head(corpus, layer, head)
    return HeadTokens(corpus, min(bounded("tokens", MOST_TOKENS, MOST_TOKENS), corpus.n_tokens), layer, head)


def _heads_of(served_store: ServedStore, snapshot: str, model: str, layer: int, head: int) -> list[HeadTokens]:
    """The points of one head, and those of the pinned head in the query string."""
    drawn = _head_of(served_store, snapshot, model, layer, head)
    pinned = re.fullmatch(HEAD, request.args.get("pinned", "")) and head_numbers(request.args["pinned"])
    if not pinned:
        return [drawn]
    check_head(drawn.corpus, *pinned)
    return [drawn, HeadTokens(drawn.corpus, drawn.tokens, *pinned)]


def _beside(served_store: ServedStore, snapshot: str, model: str, layer: int, head: int) -> PointSet:
    """The points of one head and of the pinned head, as one set."""
    drawn, *pinned = _heads_of(served_store, snapshot, model, layer, head)
    return Beside(drawn, pinned[0]) if pinned else drawn


def selection_of(corpus: Corpus) -> Selection:
    """The selection of the query string; invalid parts are left out, as the page has said."""
    fields = {name: request.args.get(name, "") for name in FIELDS}
    return parse_selection(fields, corpus, columns(corpus), most=MOST_OF_DATA)[0]


def tables_of_head(drawn: HeadTokens, view: str, selected: NDArray[np.bool_], rows: int = ROWS) -> Iterator[Table]:
    """The selected points (token, role) of one head as columns, `rows` at a time; an empty table where none is selected.

    A row is a drawn query or key; x, y and z are its position in the picture, 0 to 1.
    """
    yield from _selected(_columns_of_panel(_file_columns(drawn, view), 0), selected, rows)


def tables_of_heads(drawn: HeadTokens, view: str) -> Iterator[Table]:
    """All drawn points of every head, one head after the other, with the columns layer and head in front.

    All heads are read at once: reading head by head took four times as long.
    """
    known, every = _file_columns(drawn, view), np.ones((len(drawn.rows), 2), bool)
    for panel, (layer, head) in enumerate(product(range(drawn.corpus.layers), range(drawn.corpus.heads))):
        for part in _selected(_columns_of_panel(known, panel), every, ROWS):
            rows = len(part["token"])
            yield {"layer": np.full(rows, layer), "head": np.full(rows, head), **part}


def _file_columns(drawn: HeadTokens, view: str) -> Table:
    """Every column of the file for all drawn points: (panel, token, role), of length 1 where an axis makes no difference."""
    places = np.moveaxis(drawn.places(view), -1, 0)
    categories = {name: _category_names(drawn, name) for name in ("label", "kind", "role")}
    return {
        "token": np.arange(len(drawn.rows))[None, :, None],
        "wordpiece": drawn.corpus.vocab[drawn.of_tokens("token_id")][None, :, None],
        "position": drawn.of_tokens("position")[None, :, None],
        "sentence": drawn.of_tokens("sentence_index")[None, :, None],
        **categories,
        **{axis: np.round(place.astype(np.float64), 6) for axis, place in zip("xyz", places, strict=False)},
        "norm": np.round(values(column_of(drawn.corpus, "norm"), drawn), 5),
    }


def _columns_of_panel(known: Table, panel: int) -> Table:
    """The columns of one head: (token, role), of length 1 where an axis makes no difference."""
    return {name: column[panel if len(column) > 1 else 0] for name, column in known.items()}


def _selected(known: Table, selected: NDArray[np.bool_], rows: int) -> Iterator[Table]:
    """The selected points (token, role), `rows` at a time; one empty table where none is selected."""
    points = np.flatnonzero(selected)
    whole = {name: np.broadcast_to(column, selected.shape) for name, column in known.items()}
    for start in range(0, max(1, len(points)), rows):
        token, role = np.divmod(points[start : start + rows], 2)
        yield {name: column[token, role] for name, column in whole.items()}


def _category_names(drawn: HeadTokens, column: str) -> NDArray[np.object_]:
    """Category names of the drawn points, empty for a point without a category."""
    known = columns(drawn.corpus).get(column)
    if known is None:
        return np.array([[[""]]], object)
    return np.array([*known.names, ""], object)[values(known, drawn)]
