"""Routes of the feature points: what the canvas draws, cards of tokens, files."""

from collections.abc import Iterator

import numpy as np
from flask import Flask, Response, abort, jsonify, request
from numpy.typing import NDArray

from dashboard.canvas.spec import draw_panels, encode_points
from dashboard.features.data import Series, cosines, pieces_of, token_columns
from dashboard.features.shown import FIELDS, TokenSelection, parse_token_selection, token_mask
from dashboard.features.token import NEAR, token_card, token_focus
from dashboard.features.trials import Trials
from dashboard.points import selection
from dashboard.points.colours import codes_of, encode
from dashboard.points.columns import KINDS, kinds_of
from dashboard.points.routes import MOST_GRID_SIDE, MOST_RASTER_SIDE, ROWS
from dashboard.ui.files import FORM, Table, file, large_file
from dashboard.web.http import BASE, binary, bounded, codes, corpus_of, lasting, png, scheme
from dashboard.web.library import Library
from dashboard.web.results import current_cache
from store import Corpus
from store.features import Features
from store.schema.features import FACTORS, point_title

_TOKEN_SET = f"{BASE}/features/<token_set>"
MOST_NEAR = 50
#: Measures between two points.
BETWEEN_POINTS = ("similarity", "cka")


def register(server: Flask, library: Library) -> None:
    """Add the routes."""
    _pictures(server, library)
    _tokens(server, library)
    _files(server, library)


def _pictures(server: Flask, library: Library) -> None:
    @server.get(f"{_TOKEN_SET}/points/<series>/<view>/<panel>.bin")
    def panel_points(snapshot: str, model: str, token_set: str, series: str, view: str, panel: str) -> Response:
        corpus, features = _features(library, snapshot, model, token_set)
        shown = Series.parse(corpus, features, series, library.get(Trials))
        if panel == "grid":
            key = "grid points", series, view, _count(features)
            return binary(current_cache().get(features, key, lambda: _grid_points(shown, view, _count(features))))
        return binary(encode_points(shown.places(view, _count(features), panel), width=2))

    @server.get(f"{_TOKEN_SET}/raster/<series>/<view>/<panel>.png")
    def panel_raster(snapshot: str, model: str, token_set: str, series: str, view: str, panel: str) -> Response:
        corpus, features = _features(library, snapshot, model, token_set)
        shown = Series.parse(corpus, features, series, library.get(Trials))
        is_single = panel != "grid"
        places = shown.places(view, _count(features), panel if is_single else None)
        columns, slots = (1, (0,)) if is_single else shown.grid
        side = bounded("side", 120, MOST_RASTER_SIDE if is_single else MOST_GRID_SIDE)
        gap, title = bounded("gap", 4, 20), bounded("title", 0, 80, fewest=0)
        return png(draw_panels(places, columns=columns, side=side, gap=gap, scheme=scheme(), slots=slots, title=title))

    @server.get(f"{_TOKEN_SET}/colours/<column>.bin")
    def token_colours(snapshot: str, model: str, token_set: str, column: str) -> Response:
        _, features = _features(library, snapshot, model, token_set)
        token = bounded("token", 0, features.n_tokens - 1, fewest=0) if "token" in request.args else None
        known = token_columns(features, token)
        if column not in known:
            abort(404, f"There is no column {column[:60]!r}. Choose one of {', '.join(known)}.")
        values = known[column].values()[None, : _count(features), None]
        return codes(encode(codes_of(known[column].column, values)))

    @server.get(f"{_TOKEN_SET}/mask.bin")
    def selected_tokens(snapshot: str, model: str, token_set: str) -> Response:
        corpus, features = _features(library, snapshot, model, token_set)
        trials = library.get(Trials)
        selected = token_mask(corpus, features, _selection(corpus, features, trials), _count(features), trials)
        return codes(selection.encode(selected[None, :, None]))


def _grid_points(series: Series, view: str, tokens: int) -> bytes:
    return encode_points(series.places(view, tokens), width=1)


def _tokens(server: Flask, library: Library) -> None:
    @server.get(f"{_TOKEN_SET}/tokens.json")
    def token_names(snapshot: str, model: str, token_set: str) -> Response:
        _, features = _features(library, snapshot, model, token_set)
        different, ids = np.unique(features.wordpieces(), return_inverse=True)
        return lasting(jsonify({"pieces": different.tolist(), "ids": ids.tolist()}))

    @server.get(f"{_TOKEN_SET}/card/token/<int:token>.json")
    def feature_card(snapshot: str, model: str, token_set: str, token: int) -> Response:
        _, features = _features(library, snapshot, model, token_set)
        return lasting(jsonify(token_card(features, _checked(features, token))))

    @server.get(f"{_TOKEN_SET}/focus/<series>/<view>/<panel>/<int:token>.json")
    def feature_focus(
        snapshot: str, model: str, token_set: str, series: str, view: str, panel: str, token: int
    ) -> Response:
        corpus, features = _features(library, snapshot, model, token_set)
        near = bounded("near", NEAR, MOST_NEAR, fewest=0)
        shown = Series.parse(corpus, features, series, library.get(Trials))
        return lasting(jsonify(token_focus(shown, view, panel, _checked(features, token), near=near)))


def _files(server: Flask, library: Library) -> None:
    @server.get(f"{_TOKEN_SET}/<any(tokens, selection):what>/<series>/<view>/<panel>.{FORM}")
    def tokens_file(
        snapshot: str, model: str, token_set: str, what: str, series: str, view: str, panel: str, form: str
    ) -> Response:
        corpus, features = _features(library, snapshot, model, token_set)
        shown = Series.parse(corpus, features, series, library.get(Trials))
        panels = shown.names if panel == "grid" else (panel,)
        shown.places(view, 1, panels[0])  # a wrong name is a 404 before the first byte
        chosen = _selection(corpus, features, shown.trials) if what == "selection" else TokenSelection()
        selected = token_mask(corpus, features, chosen, shown.tokens(view), shown.trials)
        return large_file(token_tables(shown, view, panels, selected), f"{what}-{token_set}-{view}-{panel}", form)

    @server.get(f"{_TOKEN_SET}/<any(similarity, cka, explained):measure>.{FORM}")
    def measure_file(snapshot: str, model: str, token_set: str, measure: str, form: str) -> Response:
        _, features = _features(library, snapshot, model, token_set)
        return file(iter([measure_table(features, measure)]), f"{measure}-{token_set}", form)


def _features(library: Library, snapshot: str, model: str, token_set: str) -> tuple[Corpus, Features]:
    corpus = corpus_of(library, snapshot, model)
    return corpus, corpus.features(token_set)


def _count(features: Features) -> int:
    return bounded("tokens", features.n_tokens, features.n_tokens)


def _checked(features: Features, token: int) -> int:
    if token >= features.n_tokens:
        abort(404, f"There is no token {token}; there are 0 to {features.n_tokens - 1}.")
    return token


def _selection(corpus: Corpus, features: Features, trials: Trials | None) -> TokenSelection:
    """The selection of the query string; what is invalid is ignored (the page shows a notice)."""
    return parse_token_selection({name: request.args.get(name, "") for name in FIELDS}, corpus, features, trials)[0]


def token_tables(series: Series, view: str, panels: tuple[str, ...], selected: NDArray[np.bool_]) -> Iterator[Table]:
    """The selected tokens (token,) of one panel after the other; x and y as in the picture, 0 to 1."""
    rows = np.flatnonzero(selected)
    columns = {name: column[rows] for name, column in _token_columns(series.features).items()}
    titles = dict(zip(series.names, series.titles, strict=True))
    for panel in panels:
        places = series.places(view, series.features.n_tokens, panel)[0, rows, 0].astype(np.float64).round(6)
        for start in range(0, max(1, len(rows)), ROWS):
            part = slice(start, start + ROWS)
            own = {name: column[part] for name, column in columns.items()}
            yield {
                "point": np.full(len(places[part]), titles[panel], object),
                **own,
                "x": places[part, 0],
                "y": places[part, 1],
            }


def _token_columns(features: Features) -> dict[str, NDArray[np.generic]]:
    tokens = features.tokens
    return {
        "token": np.arange(features.n_tokens),
        "wordpiece": np.array(pieces_of(features), object),
        "position": tokens.position.values,
        "sentence": tokens.sentence_index.values,
        "label": np.array([*features.label_names, ""], object)[features.label],
        "kind": np.array(KINDS, object)[kinds_of(tokens.token_flags.values)],
    }


def measure_table(features: Features, measure: str) -> Table:
    """A measure of every two points, or the share of variance that each factor explains at every point."""
    points = np.array([point_title(point) for point in features.points], object)
    if measure not in BETWEEN_POINTS:
        shares = {factor: features.explained.sel(factor=factor).values.round(6) for factor in FACTORS}
        return {"point": points, **shares}
    between = features.cka.values if measure == "cka" else cosines(features)
    one, other = np.indices(between.shape)
    return {"point": points[one.ravel()], "other_point": points[other.ravel()], measure: between.ravel().round(6)}
