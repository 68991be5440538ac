"""Routes of single tokens: what they are called, the card of one, and what belongs to a clicked one."""

import numpy as np
from flask import Flask, Response, jsonify, request

from dashboard.points.focus import Point, focus
from dashboard.points.hover import as_json, point_card
from dashboard.web.library import Library
from dashboard.web.request import BASE, MOST_LINES, ONE_HEAD, bounded, check_head, check_token, corpus_of, share
from dashboard.web.response import lasting
from store import Corpus

#: Labels of one picture, and tokens named as near.
MOST_LABELS, MOST_NEAR = 50_000, 50
_POINT = f"{ONE_HEAD}/<any(query, key):role>/<int:token>.json"


def register(server: Flask, library: Library) -> None:
    """Add the routes."""

    @server.get(f"{BASE}/tokens.json")
    def labels(snapshot: str, model: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        rows = corpus.rows[: bounded("tokens", MOST_LABELS, MOST_LABELS)]
        different, ids = np.unique(corpus.tokens.token_id.values[rows], return_inverse=True)
        return lasting(jsonify({"pieces": [str(piece) for piece in corpus.vocab[different]], "ids": ids.tolist()}))

    @server.get(f"{BASE}/token/{_POINT}")
    def card(snapshot: str, model: str, layer: int, head: int, role: str, token: int) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        check_token(corpus, token)
        return lasting(jsonify(as_json(point_card(corpus, layer=layer, head=head, role=role, token=token))))

    @server.get(f"{BASE}/focus/<view>/{_POINT}")
    def overlay(snapshot: str, model: str, view: str, layer: int, head: int, role: str, token: int) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        check_token(corpus, token)
        return lasting(jsonify(_focus(corpus, view, Point(layer, head, role, token))))


def _focus(corpus: Corpus, view: str, point: Point) -> dict[str, object]:
    """What belongs to a point, as much of it as the query string asks for."""
    return focus(
        corpus,
        view,
        point,
        top=bounded("top", 2, MOST_LINES, fewest=0),
        least=share("least", 0.05),
        lines="sentence" if request.args.get("lines") == "sentence" else "point",
        near=bounded("near", 10, MOST_NEAR, fewest=0),
    )
