"""The picture of feature points: its content for the canvas, the captions, and the routes of its bytes, cards and files.

The captions say how many tokens are drawn, by which method, and how trustworthy the picture is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from dash import html
from flask import Flask, Response, abort, jsonify, request
from numpy.typing import NDArray

from dashboard.canvas.spec import ChosenPoint, Headings, LinkFields, Panel, Picture, RowHeading, Step, encode_points
from dashboard.features.data import POINTS, ROLES, FeaturePanels, cosines, pieces_of, token_set_title
from dashboard.features.feature_tokens import (
    FIELDS,
    FeatureTokens,
    TokenSelection,
    parse_token_selection,
)
from dashboard.features.shown import FeatureView
from dashboard.features.token import NEAR, token_card, token_focus, where_of
from dashboard.features.trials import Trials
from dashboard.points.head_tokens import KINDS, kinds_of
from dashboard.points.picture import Sources, point_picture
from dashboard.points.point_set import MOST_OF_DATA, mask
from dashboard.points.routes import MOST_GRID_SIDE, MOST_RASTER_SIDE, ROWS, send_colours, send_mask, send_raster
from dashboard.ui.files import FORM, Table, file, large_file
from dashboard.ui.markup import Markup
from dashboard.web.http import BASE, binary, bounded, corpus_of, lasting
from dashboard.web.results import current_cache
from dashboard.web.served_store import ServedStore
from dashboard.web.token_sets import TokenSets
from store.features import Features
from store.phrases import many
from store.schema.features import FACTORS, point_kind, point_kinds, point_title

PAGE = "features"
#: Title of the points before the layers.
INPUT = "input"
_TOKEN_SET = f"{BASE}/features/<token_set>"
MOST_NEAR = 50
#: Measures between two points.
BETWEEN_POINTS = ("similarity", "cka")


def features_picture(shown: FeatureView) -> Picture:
    """The picture of all panels, or of the large panel with its sequence through all panels."""
    return _grid(shown) if shown.panel is None else _large(shown, shown.panel)


def _grid(shown: FeatureView) -> Picture:
    series = shown.series
    columns, slots = series.grid
    trust = series.trustworthiness(shown.view)
    panels = [
        Panel(name=title, summary=f"trustworthiness {value:.2f}", fields={"point": name})
        for name, title, value in zip(series.names, series.titles, trust.tolist(), strict=True)
    ]
    label = f"{many(shown.tokens, 'token')} of {token_set_title(series.features.name)} {_panels(series)}"
    return replace(_picture(shown, panels, columns, label), slots=slots, titled=True, headings=_headings(series))


def _headings(series: FeaturePanels) -> Headings | None:
    """The way through the model: layers from left to right, within each from top to bottom."""
    if series.layer is not None:
        return None
    columns, slots = series.grid
    kinds = point_kinds(series.corpus.attributes)
    rows: dict[int, str] = {}
    for name, slot in zip(series.names, slots, strict=True):
        known = kinds[point_kind(name)]
        row, column = divmod(slot, columns)
        named = f"{known.title} · {known.stage}" if column else known.title
        rows.setdefault(row * columns + min(column, 1), f"↓ {named}" if row else named)
    above = [INPUT, *(f"L{layer}" for layer in range(columns - 1))]
    return Headings(above=above, rows=[RowHeading(slot=slot, name=rows[slot]) for slot in sorted(rows)])


def _panels(series: FeaturePanels) -> str:
    count = len(series.names)
    return (
        f"at {many(count, 'place')}"
        if series.layer is None
        else f"by the values of {many(count, 'head')} in layer {series.layer}"
    )


def _large(shown: FeatureView, panel: str) -> Picture:
    series, state = shown.series, shown.state
    token = None if state.ftoken is None or state.ftoken >= shown.tokens else state.ftoken
    title = series.titles[series.index(panel)]
    where = f"{series}/{shown.view}/{panel}"
    return replace(
        _picture(shown, [Panel(name=title)], 1, f"{headline(shown)}{title}"),
        sequence=[_step(shown, *names) for names in zip(series.names, series.titles, strict=True)],
        labels=f"{shown.base}/tokens.json" if state.labels else None,
        card=f"{shown.base}/card/",
        chosen=None if token is None else ChosenPoint(token=token, role=ROLES[0]),
        focus=None if token is None else f"{shown.base}/focus/{where}/{token}.json?near={NEAR}",
        focus_caption=None if token is None else focus_caption(shown, token),
        lasso=state.flasso,
        region=f"{series},{shown.view},{panel}",
    )


def _step(shown: FeatureView, name: str, title: str) -> Step:
    """A panel as a step of the sequence through which the tokens move."""
    return Step(
        name=title,
        points=_points(shown, name),
        fields={"point": name},
        label=f"{headline(shown)}{title}",
        texts=panel_texts(shown, name),
    )


def _picture(shown: FeatureView, panels: list[Panel], columns: int, label: str) -> Picture:
    """The parts that the grid and the large panel have in common."""
    where = shown.panel or "grid"
    sources = Sources(
        points=_points(shown, where),
        raster=f"{shown.base}/raster/{shown.series}/{shown.view}/{where}.png?tokens={shown.tokens}",
        colours=shown.colours,
        mask=shown.mask,
    )
    return replace(
        point_picture(shown, sources, panels=panels, columns=columns, label=label),
        page=PAGE,
        after=shown.base,
        dropped_fields=("point",),
        link_fields=LinkFields(token="ftoken", lasso="flasso"),
    )


def _points(shown: FeatureView, where: str) -> str:
    return f"{shown.base}/points/{shown.series}/{shown.view}/{where}.bin?tokens={shown.tokens}"


def headline(shown: FeatureView) -> str:
    """The title of the picture, up to the name of the large panel."""
    series = shown.series
    at = " at" if series.layer is None else ", values of"
    return f"{many(series.tokens(shown.view), 'token')} of {token_set_title(series.features.name)}{at} "


def panel_texts(shown: FeatureView, panel: str) -> dict[str, str]:
    """The texts that differ between panels, by name: the browser updates them while the tokens move to the next panel."""
    series = shown.series
    index = series.index(panel)
    trust = float(series.trustworthiness(shown.view)[index])
    return {
        "name": series.titles[index],
        "meaning": _meaning(shown, panel, series.titles[index]),
        "trust": "not known" if trust != trust else f"{trust:.2f}",
    }


def text_of(name: str, texts: Mapping[str, str]) -> html.Span:
    """A text of a panel, with an id by which the browser updates it."""
    return html.Span(Markup(tree=[texts[name]]), id={"caption": name})


def focus_caption(shown: FeatureView, token: int) -> str:
    """Caption on what is drawn over the points for the chosen token."""
    features = shown.series.features
    return (
        f"Ringed: “{pieces_of(features)[token]}”, {where_of(features, token)}. Large: the tokens of its sentence; dashed: "
        f"lines to the {NEAR} tokens whose vectors have the largest cosine with its vector."
    )


def _meaning(shown: FeatureView, panel: str, title: str) -> str:
    if shown.series.layer is not None:
        return f"Value vectors of head {panel} in layer {shown.series.layer}."
    return f"{title[0].upper()}{title[1:]}: {point_kinds(shown.corpus.attributes)[point_kind(panel)].meaning}."


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    _picture_routes(server, served_store)
    _token_routes(server, served_store)
    _file_routes(server, served_store)


def _picture_routes(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{_TOKEN_SET}/points/<series>/<view>/<panel>.bin")
    def panel_points(snapshot: str, model: str, token_set: str, series: str, view: str, panel: str) -> Response:
        points = _points_of(_series(served_store, snapshot, model, token_set, series), panel)
        if points.panel is not None:
            return binary(encode_points(points.places(view), width=2))
        key = "grid points", series, view, points.tokens
        return binary(
            current_cache().get(points.series.features, key, lambda: encode_points(points.places(view), width=1))
        )

    @server.get(f"{_TOKEN_SET}/raster/<series>/<view>/<panel>.png")
    def panel_raster(snapshot: str, model: str, token_set: str, series: str, view: str, panel: str) -> Response:
        points = _points_of(_series(served_store, snapshot, model, token_set, series), panel)
        is_single = points.panel is not None
        columns, slots = (1, (0,)) if is_single else points.series.grid
        side = MOST_RASTER_SIDE if is_single else MOST_GRID_SIDE
        return send_raster(points.places(view), columns=columns, slots=slots, side=120, most=side, title=80)

    @server.get(f"{_TOKEN_SET}/colours/<column>.bin")
    def token_colours(snapshot: str, model: str, token_set: str, column: str) -> Response:
        series = _series(served_store, snapshot, model, token_set)
        most = series.features.n_tokens - 1
        chosen = bounded("token", 0, most, fewest=0) if "token" in request.args else None
        return send_colours(FeatureTokens(series, _count(series.features), chosen=chosen), column)

    @server.get(f"{_TOKEN_SET}/mask.bin")
    def selected_tokens(snapshot: str, model: str, token_set: str) -> Response:
        series = _series(served_store, snapshot, model, token_set)
        chosen = _selection(series)
        return send_mask(FeatureTokens(series, _count(series.features), chosen=chosen.chosen), chosen)


def _token_routes(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{_TOKEN_SET}/tokens.json")
    def token_names(snapshot: str, model: str, token_set: str) -> Response:
        features = _features(served_store, snapshot, model, token_set)
        different, ids = np.unique(features.wordpieces(), return_inverse=True)
        return lasting(jsonify({"pieces": different.tolist(), "ids": ids.tolist()}))

    @server.get(f"{_TOKEN_SET}/card/token/<int:token>.json")
    def feature_card(snapshot: str, model: str, token_set: str, token: int) -> Response:
        features = _features(served_store, snapshot, model, token_set)
        return lasting(jsonify(token_card(features, _checked(features, token))))

    @server.get(f"{_TOKEN_SET}/focus/<series>/<view>/<panel>/<int:token>.json")
    def feature_focus(
        snapshot: str, model: str, token_set: str, series: str, view: str, panel: str, token: int
    ) -> Response:
        shown, near = (
            _series(served_store, snapshot, model, token_set, series),
            bounded("near", NEAR, MOST_NEAR, fewest=0),
        )
        return lasting(jsonify(token_focus(shown, view, panel, _checked(shown.features, token), near=near)))


def _file_routes(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{_TOKEN_SET}/<any(tokens, selection):what>/<series>/<view>/<panel>.{FORM}")
    def tokens_file(
        snapshot: str, model: str, token_set: str, what: str, series: str, view: str, panel: str, form: str
    ) -> Response:
        shown = _series(served_store, snapshot, model, token_set, series)
        panels = shown.names if panel == "grid" else (panel,)
        shown.places(view, 1, panels[0])  # a wrong name is a 404 before the first byte
        chosen = _selection(shown) if what == "selection" else TokenSelection()
        rows = mask(FeatureTokens(shown, shown.tokens(view), chosen=chosen.chosen), chosen)[0, :, 0]
        return large_file(token_tables(shown, view, panels, rows), f"{what}-{token_set}-{view}-{panel}", form)

    @server.get(f"{_TOKEN_SET}/<any(similarity, cka, explained):measure>.{FORM}")
    def measure_file(snapshot: str, model: str, token_set: str, measure: str, form: str) -> Response:
        features = _features(served_store, snapshot, model, token_set)
        return file(iter([measure_table(features, measure)]), f"{measure}-{token_set}", form)


def _features(served_store: ServedStore, snapshot: str, model: str, token_set: str) -> Features:
    return served_store.service(TokenSets).open(corpus_of(served_store, snapshot, model), token_set)


def _series(
    served_store: ServedStore, snapshot: str, model: str, token_set: str, series: str = POINTS
) -> FeaturePanels:
    """The panels of a URL."""
    corpus = corpus_of(served_store, snapshot, model)
    features = served_store.service(TokenSets).open(corpus, token_set)
    return FeaturePanels.parse(corpus, features, series, served_store.service(Trials))


def _points_of(series: FeaturePanels, panel: str) -> FeatureTokens:
    """The tokens of the query string in one panel, or in all."""
    return FeatureTokens(series, _count(series.features), None if panel == "grid" else panel)


def _count(features: Features) -> int:
    return bounded("tokens", features.n_tokens, features.n_tokens)


def _checked(features: Features, token: int) -> int:
    if token >= features.n_tokens:
        abort(404, f"There is no token {token}; there are 0 to {features.n_tokens - 1}.")
    return token


def _selection(series: FeaturePanels) -> TokenSelection:
    """The selection of the query string; invalid parts are ignored (the page shows a notice)."""
    fields = {name: request.args.get(name, "") for name in FIELDS}
    return parse_token_selection(fields, series, most=MOST_OF_DATA)[0]


def token_tables(
    series: FeaturePanels, view: str, panels: tuple[str, ...], selected: NDArray[np.bool_]
) -> Iterator[Table]:
    """Tables of the selected tokens (token,), one panel after the other; x and y as in the picture, 0 to 1."""
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
