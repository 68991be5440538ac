"""Routes of two models on one corpus: their pictures, and the files of what differs between them."""

import numpy as np
from flask import Flask, Response, abort, request
from numpy.typing import NDArray

from dashboard.canvas.spec import encode_points
from dashboard.compare.data import changes_table, differences_table
from dashboard.compare.feature_points import (
    BothFeatures,
    both_features,
    point_places,
    point_similarity,
    similarity_table,
)
from dashboard.compare.matching import matched_heads, matching_table
from dashboard.compare.sentences import UNLIKE, both_patterns, patterns_table, typed_sentences, typed_weights
from dashboard.compare.two_models import MOST_TOKENS, ModelPair, both_places, drawn_of_both, selected_in_both
from dashboard.points.point_set import Beside, encode
from dashboard.points.routes import selection_of, send_colours, send_raster
from dashboard.sentence.sentence import stored_sentence
from dashboard.statistics.heads import special_statistic
from dashboard.ui.files import FORM, file
from dashboard.web.bounds import on_same_corpus
from dashboard.web.http import (
    BASE,
    ONE_HEAD,
    binary,
    bounded,
    check_head,
    codes,
    source_of_means,
)
from dashboard.web.served_store import ServedStore
from store.schema.model import varying_statistics

PAIR = f"{BASE}/compare/<other>"


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    _files(server, served_store)
    _pictures(server, served_store)
    _features(server, served_store)


def _files(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{PAIR}/changes.{FORM}")
    def changes(snapshot: str, model: str, other: str, form: str) -> Response:
        two, source = _alike(two_by_name(served_store, snapshot, model, other)), source_of_means()
        statistic = _statistic(source, special_statistic(two.own))
        return file(iter([changes_table(two, statistic, source)]), f"changes-{statistic}-{source}", form)

    @server.get(f"{PAIR}/differences.{FORM}")
    def differences(snapshot: str, model: str, other: str, form: str) -> Response:
        two, source = _alike(two_by_name(served_store, snapshot, model, other)), source_of_means()
        return file(iter([differences_table(two, source)]), f"differences-{source}", form)

    @server.get(f"{PAIR}/matching.{FORM}")
    def matching(snapshot: str, model: str, other: str, form: str) -> Response:
        two = two_by_name(served_store, snapshot, model, other)
        return file(iter([matching_table(matched_heads(two))]), "matching", form)

    @server.get(f"{PAIR}/pattern/<int:sentence>/{ONE_HEAD}.{FORM}")
    def pattern(snapshot: str, model: str, other: str, sentence: int, layer: int, head: int, form: str) -> Response:
        two = _with_head(two_by_name(served_store, snapshot, model, other), layer, head)
        if sentence >= two.sentences:
            abort(404, f"There is no sentence {sentence} in both models. Choose 0 to {two.sentences - 1}.")
        first = bounded("window", 0, MOST_TOKENS, fewest=0)
        weights = both_patterns(two, sentence, layer, head, first)
        table = patterns_table(stored_sentence(two.own, sentence).wordpieces, weights, first)
        return file(iter([table]), f"pattern-{sentence}-L{layer}-H{head}", form)

    @server.get(f"{PAIR}/typed/{ONE_HEAD}.{FORM}")
    def typed(snapshot: str, model: str, other: str, layer: int, head: int, form: str) -> Response:
        two = _with_head(two_by_name(served_store, snapshot, model, other), layer, head)
        own, others = typed_sentences(served_store, two, request.args.get("text", ""))
        if own.wordpieces != others.wordpieces:
            abort(404, UNLIKE)
        first = bounded("window", 0, MOST_TOKENS, fewest=0)
        table = patterns_table(own.wordpieces, typed_weights((own, others), layer, head, first), first)
        return file(iter([table]), f"pattern-typed-L{layer}-H{head}", form)


def _pictures(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{PAIR}/points/<view>/{ONE_HEAD}.bin")
    def points(snapshot: str, model: str, other: str, view: str, layer: int, head: int) -> Response:
        return binary(encode_points(_places(served_store, snapshot, model, other, view, layer, head), width=2))

    @server.get(f"{PAIR}/raster/<view>/{ONE_HEAD}.png")
    def both_raster(snapshot: str, model: str, other: str, view: str, layer: int, head: int) -> Response:
        return _raster(_places(served_store, snapshot, model, other, view, layer, head))

    @server.get(f"{PAIR}/colours/<column>/{ONE_HEAD}.bin")
    def both_colours(snapshot: str, model: str, other: str, column: str, layer: int, head: int) -> Response:
        return send_colours(_drawn(two_by_name(served_store, snapshot, model, other), layer, head), column)

    @server.get(f"{PAIR}/mask/{ONE_HEAD}.bin")
    def both_masks(snapshot: str, model: str, other: str, layer: int, head: int) -> Response:
        two = two_by_name(served_store, snapshot, model, other)
        return codes(encode(selected_in_both(_drawn(two, layer, head), selection_of(two.own))))


def _raster(places: NDArray[np.float32]) -> Response:
    """Two panels as an image."""
    return send_raster(places, columns=2, side=420, most=600, title=80)


def _features(server: Flask, served_store: ServedStore) -> None:
    @server.get(f"{PAIR}/features/points/<view>/<point>.bin")
    def feature_points(snapshot: str, model: str, other: str, view: str, point: str) -> Response:
        places = _point_places(two_by_name(served_store, snapshot, model, other), view, point)
        return binary(encode_points(places, width=2))

    @server.get(f"{PAIR}/features/raster/<view>/<point>.png")
    def feature_raster(snapshot: str, model: str, other: str, view: str, point: str) -> Response:
        return _raster(_point_places(two_by_name(served_store, snapshot, model, other), view, point))

    @server.get(f"{PAIR}/features/likeness.{FORM}")
    def likeness(snapshot: str, model: str, other: str, form: str) -> Response:
        two = two_by_name(served_store, snapshot, model, other)
        similarity = point_similarity(two, _both_features(two))
        return file(iter([similarity_table(similarity)]), "likeness", form)


def _both_features(two: ModelPair) -> BothFeatures:
    features = both_features(two)
    if features is None:
        abort(404, "One of the models has no feature vectors of the sample. Run `headscape ingest` with each model.")
    return features


def _point_places(two: ModelPair, view: str, point: str) -> NDArray[np.float32]:
    """Aligned positions at a common point: (2, token, 1, component); 404 for an unknown point."""
    features = _both_features(two)
    if point not in features.points:
        abort(404, f"The models do not both have the point {point[:40]!r}. Choose one of {', '.join(features.points)}.")
    return point_places(two, features, view, point).places


def two_by_name(served_store: ServedStore, snapshot: str, model: str, other: str) -> ModelPair:
    """The two models of a URL; 404 where they are not on one corpus."""
    opened = served_store.snapshot(snapshot)
    own = opened.corpus(model)
    others = on_same_corpus(opened, own)
    if other not in others:
        remedy = (
            f"Choose one of {', '.join(others)}."
            if others
            else "Ingest another one with `headscape ingest --model=...`."
        )
        abort(404, f"There is no other model “{other[:80]}” on the corpus of {own.name}. {remedy}")
    return ModelPair(own, opened.corpus(other))


def _places(
    served_store: ServedStore, snapshot: str, model: str, other: str, view: str, layer: int, head: int
) -> NDArray[np.float32]:
    """Aligned positions of the tokens of the query string: (2, token, role, component)."""
    two = _with_head(two_by_name(served_store, snapshot, model, other), layer, head)
    return both_places(two, view, layer, head, bounded("tokens", MOST_TOKENS, MOST_TOKENS)).places


def _drawn(two: ModelPair, layer: int, head: int) -> Beside:
    return drawn_of_both(_with_head(two, layer, head), layer, head, bounded("tokens", MOST_TOKENS, MOST_TOKENS))


def _with_head(two: ModelPair, layer: int, head: int) -> ModelPair:
    """The models, where both have the head; else 404."""
    check_head(two.own, layer, head)
    return _alike(two)


def _alike(two: ModelPair) -> ModelPair:
    if not two.same_heads:
        abort(404, f"{' '.join(two.differences())} Choose a model of as many layers and heads.")
    return two


def _statistic(source: str, standard: str) -> str:
    statistic = request.args.get("statistic", standard)
    if statistic not in varying_statistics(source):
        abort(404, f"Heads do not differ in “{statistic[:40]}”. Choose one of {', '.join(varying_statistics(source))}.")
    return statistic
