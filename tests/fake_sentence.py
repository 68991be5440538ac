"""The views of a sentence alone, on bytes made by hand: every weight is known."""

import json
import struct
from collections.abc import Callable, Iterator
from functools import cache
from urllib.parse import quote, unquote

import numpy as np
import pytest
from dash import Dash, Input, Output, State, dcc, html, no_update
from flask import Response
from playwright.sync_api import Locator, Page, expect

from dashboard.sentence.picture import SentenceViews
from dashboard.ui.theme import CATEGORIES, PALETTE
from dashboard.web import assets, security
from tests.browser import Open, listening

NAMES = ["[CLS]", "the", "<b>cat</b>", "سلام", "👩‍🚀", "[SEP]", "it", "sat", "[SEP]"]
LAYERS, HEADS, CHANNELS = 2, 3, 4
SOURCE = "tiny on reviews, snapshot 1"
ROOT = "#sentence"
LEAST = 0.1

Show = Callable[..., Page]


def weights(layer: int) -> np.ndarray:
    """Attention of the fake sentence: (head, query, key), rows sum to one."""
    scores = np.random.default_rng(layer).normal(0, 2, (HEADS, len(NAMES), len(NAMES)))
    exponential = np.exp(scores)
    return exponential / exponential.sum(-1, keepdims=True)


def neuron(query: int) -> dict[str, object]:
    """The server's answer for one query; each vector entry is made from its position and channel."""
    vectors = np.arange(len(NAMES) * CHANNELS).reshape(-1, CHANNELS) / 10 - 1.5
    products = vectors[query] * vectors
    dots = products.sum(-1)
    shares = np.exp(dots / 2) / np.exp(dots / 2).sum()
    rows = zip(vectors, products, dots, shares, strict=True)
    keys = [
        {"key": key.tolist(), "product": product.tolist(), "dot": dot, "logit": dot / 2, "weight": weight}
        for key, product, dot, weight in rows
    ]
    return {"query": vectors[query].tolist(), "biased": False, "keys": keys}


def sentence(**changes: object) -> dict[str, object]:
    units = [
        {"name": name, "positions": [i], "segment": int(i > 5), "special": name[0] == "["}
        for i, name in enumerate(NAMES)
    ]
    fields: dict[str, object] = {
        "show": "head",
        "units": units,
        "keys": units,
        "layers": LAYERS,
        "heads": HEADS,
        "layer": 0,
        "chosen": [0, 1, 2],
        "head": 1,
        "head_names": {},
        "queries": [],
        "side": "query",
        "toward": None,
        "is_pair": True,
        "marks": [],
        "mark_colours": {scheme: list(colours) for scheme, colours in CATEGORIES.items()},
        "scale": "root",
        "csv": {"content": "Attention of layer 0", "url": "/fake/weights.csv"},
        "least": LEAST,
        "title": "Attention of layer 0",
        "source": SOURCE,
        "stem": "tiny-1",
        "colours": {scheme: list(colours) for scheme, colours in CATEGORIES.items()},
        "palette": PALETTE,
    } | changes
    query = next(iter(fields["queries"]), None)  # type: ignore[call-overload]
    return fields | {
        "layer_url": f"/fake/layer/{fields['layer']}.bin",
        "model_url": "/fake/model.bin",
        "neuron_url": None if query is None else f"/fake/neuron/{fields['layer']}/{fields['head']}/{query}.json",
    }


def routes(app: Dash) -> None:
    @app.server.post("/data/page")
    def page() -> Response:
        return Response(status=204)  # every page asks for it; here nobody shows it

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

    @app.server.get("/fake/neuron/<int:_layer>/<int:_head>/<int:query>.json")
    def neuron_json(_layer: int, _head: int, query: int) -> Response:
        return Response(json.dumps(neuron(query)), mimetype="application/json")


def create_app() -> Dash:
    """An application of the component alone. The address gives its `sentence`, as JSON; the page writes below it what it sends.

    Without a `sentence` in the address there is no component, so that the next component starts without a state.
    """
    page = {
        "index_string": assets.index_string(),
        "assets_ignore": assets.NAMED,
        "suppress_callback_exceptions": True,
    }
    app = Dash(__name__, assets_folder=str(assets.ASSETS), title="Fake", **page)
    app.renderer = assets.RENDERER
    app.layout = html.Main([dcc.Location(id="location"), html.H1("Fake"), html.Div(id="place")])
    routes(app)
    answer(app)
    security.add_headers(app)
    return app


def answer(app: Dash) -> None:
    @app.callback(Output("place", "children"), Input("location", "hash"), State("place", "children"))
    def place(fragment: str, there: list[object] | None) -> object:
        if bool(fragment) == bool(there):
            return no_update
        return [SentenceViews(id="sentence"), html.Pre(id="sent")] if fragment else []

    @app.callback(Output("sentence", "sentence"), Input("location", "hash"))
    def ask(fragment: str) -> object:
        return sentence(**json.loads(unquote(fragment.removeprefix("#")))) if fragment else no_update

    names = ("opened", "headed", "selected", "paired", "marked", "hidden", "stepped")

    @app.callback(Output("sent", "children"), [Input("sentence", name) for name in names])
    def write(*sent: object) -> str:
        return json.dumps(dict(zip(names, sent, strict=True)))


@pytest.fixture(scope="session")
def fake_server() -> Iterator[str]:
    with listening(create_app().server) as address:
        yield address


@pytest.fixture(scope="module")
def empty(fake_server: str, open_shared: Open) -> Callable[[str], Page]:
    """A page of each colour scheme, without the component."""

    @cache
    def opened(scheme: str) -> Page:
        page = open_shared(fake_server, scheme=scheme)
        page.add_style_tag(content="body { color: var(--ink); background: var(--paper); margin: 8px; }")
        return page

    def empty(scheme: str) -> Page:
        page = opened(scheme)
        page.mouse.move(0, 0)
        page.evaluate("() => { location.hash = ''; }")
        expect(page.locator("#place")).to_be_empty()
        return page

    return empty


@pytest.fixture
def show(empty: Callable[[str], Page]) -> Show:
    """Shows a component of its own with these fields of its `sentence`, once it is drawn."""

    def show(scheme: str = "light", **fields: object) -> Page:
        page = empty(scheme)
        page.evaluate("fields => { location.hash = fields; }", quote(json.dumps(fields)))
        expect(page.locator(f'{ROOT}[data-drawn^="/fake/"]')).to_be_attached()
        return page

    return show


def stored(layer: int = 0) -> np.ndarray:
    """The weights as they come over the wire: (head, query, key)."""
    return np.rint(weights(layer) * 65535) / 65535


def lines(page: Page, count: int) -> None:
    expect(page.locator(ROOT)).to_have_attribute("data-lines", str(count))


def sent(page: Page, name: str, wanted: dict[str, object]) -> None:
    """Wait until the component has sent this."""
    expect(page.locator("#sent")).to_contain_text(f'"{name}": {json.dumps(wanted)}'[:-1])


def token(page: Page, side: str, unit: int) -> Locator:
    return page.locator(f".tokens.{side} .token").nth(unit)
