"""The views of a sentence in a browser, on bytes made by hand: every weight is known."""

import json
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from dash import Dash, Input, Output, dcc, html
from flask import Response
from werkzeug.serving import make_server

from dashboard.sentence_views import SentenceViews
from dashboard.theme import CATEGORIES, PALETTE

ASSETS = Path(__file__).parents[1] / "dashboard" / "assets"
NAMES = ["[CLS]", "the", "<b>cat</b>", "سلام", "👩‍🚀", "[SEP]", "it", "sat", "[SEP]"]
LAYERS, HEADS, CHANNELS = 2, 3, 4
ROOT = "#sentence"
LEAST = 0.1


def weights(layer: int) -> np.ndarray:
    """Attention of the fake sentence: (head, query, key), rows sum to one."""
    scores = np.random.default_rng(layer).normal(0, 2, (HEADS, len(NAMES), len(NAMES)))
    exponential = np.exp(scores)
    return exponential / exponential.sum(-1, keepdims=True)


def neuron(layer: int, head: int, query: int) -> dict[str, object]:
    """What the server says of one query, of vectors that are their position and channel."""
    vectors = np.arange(len(NAMES) * CHANNELS).reshape(-1, CHANNELS) / 10 - 1.5
    products = vectors[query] * vectors
    dots = products.sum(-1)
    shares = np.exp(dots / 2) / np.exp(dots / 2).sum()
    rows = zip(vectors, products, dots, shares, strict=True)
    keys = [
        {"key": key.tolist(), "product": product.tolist(), "dot": dot, "logit": dot / 2, "weight": weight}
        for key, product, dot, weight in rows
    ]
    return {"query": vectors[query].tolist(), "keys": keys}


def sentence(**asked: object) -> dict[str, object]:
    units = [{"name": name, "segment": int(i > 5), "special": name[0] == "["} for i, name in enumerate(NAMES)]
    fields: dict[str, object] = {
        "show": "head",
        "units": units,
        "keys": units,
        "layers": LAYERS,
        "heads": HEADS,
        "layer": 0,
        "chosen": [0, 1, 2],
        "head": 1,
        "queries": [],
        "side": "query",
        "least": LEAST,
        "title": "Attention of layer 0",
        "colours": {scheme: list(colours) for scheme, colours in CATEGORIES.items()},
        "palette": PALETTE,
    } | asked
    query = next(iter(fields["queries"]), None)  # type: ignore[call-overload]
    return fields | {
        "layer_url": f"/fake/layer/{fields['layer']}.bin",
        "model_url": "/fake/model.bin",
        "neuron_url": None if query is None else f"/fake/neuron/{fields['layer']}/{fields['head']}/{query}.json",
    }


def routes(app: Dash) -> None:
    @app.server.get("/fake/layer/<int:layer>.bin")
    def layer_bytes(layer: int) -> Response:
        if layer >= LAYERS:
            return Response("There is no such layer. Choose one of the list.", 404)
        codes = np.rint(weights(layer) * 65535).astype("<u2")
        return Response(b"HSL1" + struct.pack("<3If", *codes.shape, 1) + codes.tobytes())

    @app.server.get("/fake/model.bin")
    def model_bytes() -> Response:
        codes = np.rint(np.stack([weights(layer) for layer in range(LAYERS)]) * 255).astype("u1")
        return Response(b"HST1" + struct.pack("<4If", *codes.shape, 1) + codes.tobytes())

    @app.server.get("/fake/neuron/<int:layer>/<int:head>/<int:query>.json")
    def neuron_json(layer: int, head: int, query: int) -> Response:
        return Response(json.dumps(neuron(layer, head, query)), mimetype="application/json")


def create_app() -> Dash:
    """The component alone. Its `sentence` is what the address asks for, as JSON; what it sends is written below it."""
    app = Dash(__name__, assets_folder=str(ASSETS), title="Fake")
    app.layout = html.Main(
        [dcc.Location(id="location"), html.H1("Fake"), SentenceViews(id="sentence"), html.Pre(id="sent")]
    )
    routes(app)

    @app.callback(Output("sentence", "sentence"), Input("location", "hash"))
    def ask(fragment: str) -> dict[str, object]:
        return sentence(**json.loads(unquote(fragment.removeprefix("#")) or "{}"))

    @app.callback(
        Output("sent", "children"), [Input("sentence", name) for name in ("opened", "headed", "selected", "stepped")]
    )
    def write(*sent: object) -> str:
        return json.dumps(dict(zip(("opened", "headed", "selected", "stepped"), sent, strict=True)))

    return app


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = make_server("127.0.0.1", 0, create_app().server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
