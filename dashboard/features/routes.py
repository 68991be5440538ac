"""Routes of the feature points: what the canvas draws, cards of tokens, files."""

from collections.abc import Iterator

import numpy as np
from flask import Flask, Response, abort, jsonify, request
from numpy.typing import NDArray

from dashboard.canvas.spec import encode_points
from dashboard.features.data import POINTS, Series, cosines, pieces_of
from dashboard.features.feature_tokens import FIELDS, FeatureTokens, TokenSelection, parse_token_selection
from dashboard.features.token import NEAR, token_card, token_focus
from dashboard.features.trials import Trials
from dashboard.points.head_tokens import KINDS, kinds_of
from dashboard.points.point_set import mask
from dashboard.points.routes import MOST_GRID_SIDE, MOST_RASTER_SIDE, ROWS, send_colours, send_mask, send_raster
from dashboard.ui.files import FORM, Table, file, large_file
from dashboard.web.http import BASE, binary, bounded, corpus_of, lasting
from dashboard.web.library import Library
from dashboard.web.results import current_cache
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
        points = _points(_series(library, snapshot, model, token_set, series), panel)
        if points.panel is not None:
            return binary(encode_points(points.places(view), width=2))
        key = "grid points", series, view, points.tokens
        return binary(
            current_cache().get(points.series.features, key, lambda: encode_points(points.places(view), width=1))
        )

    @server.get(f"{_TOKEN_SET}/raster/<series>/<view>/<panel>.png")
    def panel_raster(snapshot: str, model: str, token_set: str, series: str, view: str, panel: str) -> Response:
        points = _points(_series(library, snapshot, model, token_set, series), panel)
        is_single = points.panel is not None
        columns, slots = (1, (0,)) if is_single else points.series.grid
        side = MOST_RASTER_SIDE if is_single else MOST_GRID_SIDE
        return send_raster(points.places(view), columns=columns, slots=slots, side=120, most=side, title=80)

    @server.get(f"{_TOKEN_SET}/colours/<column>.bin")
    def token_colours(snapshot: str, model: str, token_set: str, column: str) -> Response:
        series = _series(library, snapshot, model, token_set)
        most = series.features.n_tokens - 1
        chosen = bounded("token", 0, most, fewest=0) if "token" in request.args else None
        return send_colours(FeatureTokens(series, _count(series.features), chosen=chosen), column)

    @server.get(f"{_TOKEN_SET}/mask.bin")
    def selected_tokens(snapshot: str, model: str, token_set: str) -> Response:
        series = _series(library, snapshot, model, token_set)
        chosen = _selection(series)
        return send_mask(FeatureTokens(series, _count(series.features), chosen=chosen.chosen), chosen)


def _tokens(server: Flask, library: Library) -> None:
    @server.get(f"{_TOKEN_SET}/tokens.json")
    def token_names(snapshot: str, model: str, token_set: str) -> Response:
        features = _features(library, snapshot, model, token_set)
        different, ids = np.unique(features.wordpieces(), return_inverse=True)
        return lasting(jsonify({"pieces": different.tolist(), "ids": ids.tolist()}))

    @server.get(f"{_TOKEN_SET}/card/token/<int:token>.json")
    def feature_card(snapshot: str, model: str, token_set: str, token: int) -> Response:
        features = _features(library, snapshot, model, token_set)
        return lasting(jsonify(token_card(features, _checked(features, token))))

    @server.get(f"{_TOKEN_SET}/focus/<series>/<view>/<panel>/<int:token>.json")
    def feature_focus(
        snapshot: str, model: str, token_set: str, series: str, view: str, panel: str, token: int
    ) -> Response:
        shown, near = _series(library, snapshot, model, token_set, series), bounded("near", NEAR, MOST_NEAR, fewest=0)
        return lasting(jsonify(token_focus(shown, view, panel, _checked(shown.features, token), near=near)))


def _files(server: Flask, library: Library) -> None:
    @server.get(f"{_TOKEN_SET}/<any(tokens, selection):what>/<series>/<view>/<panel>.{FORM}")
    def tokens_file(
        snapshot: str, model: str, token_set: str, what: str, series: str, view: str, panel: str, form: str
    ) -> Response:
        shown = _series(library, snapshot, model, token_set, series)
        panels = shown.names if panel == "grid" else (panel,)
        shown.places(view, 1, panels[0])  # a wrong name is a 404 before the first byte
        chosen = _selection(shown) if what == "selection" else TokenSelection()
        rows = mask(FeatureTokens(shown, shown.tokens(view), chosen=chosen.chosen), chosen)[0, :, 0]
        return large_file(token_tables(shown, view, panels, rows), f"{what}-{token_set}-{view}-{panel}", form)

    @server.get(f"{_TOKEN_SET}/<any(similarity, cka, explained):measure>.{FORM}")
    def measure_file(snapshot: str, model: str, token_set: str, measure: str, form: str) -> Response:
        features = _features(library, snapshot, model, token_set)
        return file(iter([measure_table(features, measure)]), f"{measure}-{token_set}", form)


def _features(library: Library, snapshot: str, model: str, token_set: str) -> Features:
    return corpus_of(library, snapshot, model).features(token_set)


def _series(library: Library, snapshot: str, model: str, token_set: str, series: str = POINTS) -> Series:
    """The panels of a URL."""
    corpus = corpus_of(library, snapshot, model)
    return Series.parse(corpus, corpus.features(token_set), series, library.get(Trials))


def _points(series: Series, panel: str) -> FeatureTokens:
    """The tokens of the query string in one panel, or in all."""
    return FeatureTokens(series, _count(series.features), None if panel == "grid" else panel)


def _count(features: Features) -> int:
    return bounded("tokens", features.n_tokens, features.n_tokens)


def _checked(features: Features, token: int) -> int:
    if token >= features.n_tokens:
        abort(404, f"There is no token {token}; there are 0 to {features.n_tokens - 1}.")
    return token


def _selection(series: Series) -> TokenSelection:
    """The selection of the query string; what is invalid is ignored (the page shows a notice)."""
    return parse_token_selection({name: request.args.get(name, "") for name in FIELDS}, series)[0]


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
