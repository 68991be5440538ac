"""The views of a sentence in a browser, on bytes made by hand: every weight is known."""

import json
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from dash import Dash, Input, Output, dcc, html
from flask import Response
from PIL import Image
from playwright.sync_api import Browser, Download, Locator, Page, expect
from werkzeug.serving import make_server

from dashboard import security
from dashboard.app import INDEX
from dashboard.sentence.views import SentenceViews
from dashboard.theme import CATEGORIES, PALETTE
from tests.browser import Open

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


def neuron(query: int) -> dict[str, object]:
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

    @app.server.get("/fake/neuron/<int:_layer>/<int:_head>/<int:query>.json")
    def neuron_json(_layer: int, _head: int, query: int) -> Response:
        return Response(json.dumps(neuron(query)), mimetype="application/json")


def create_app() -> Dash:
    """The component alone. Its `sentence` is what the address asks for, as JSON; what it sends is written below it."""
    app = Dash(__name__, assets_folder=str(ASSETS), assets_ignore="color_scheme.js", index_string=INDEX, title="Fake")
    app.layout = html.Main(
        [dcc.Location(id="location"), html.H1("Fake"), SentenceViews(id="sentence"), html.Pre(id="sent")]
    )
    routes(app)
    answer(app)
    security.register(app)
    return app


def answer(app: Dash) -> None:
    @app.callback(Output("sentence", "sentence"), Input("location", "hash"))
    def ask(fragment: str) -> dict[str, object]:
        return sentence(**json.loads(unquote(fragment.removeprefix("#")) or "{}"))

    @app.callback(
        Output("sent", "children"), [Input("sentence", name) for name in ("opened", "headed", "selected", "stepped")]
    )
    def write(*sent: object) -> str:
        return json.dumps(dict(zip(("opened", "headed", "selected", "stepped"), sent, strict=True)))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = make_server("127.0.0.1", 0, create_app().server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


Show = Callable[..., Page]


@pytest.fixture
def show(address: str, open_page: Open) -> Show:
    """Opens the component with these fields of its `sentence`, once it is drawn."""

    def show(scheme: str = "light", **asked: object) -> Page:
        page = open_page(f"{address}/#{quote(json.dumps(asked))}", scheme=scheme)
        page.add_style_tag(content="body { color: var(--ink); background: var(--paper); margin: 8px; }")
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


def inked(page: Page, selector: str) -> int:
    """How many pixels of a canvas are drawn on."""
    return int(
        page.locator(selector).evaluate("""(canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, i) => i % 4 === 3 && value > 0).length;
    }""")
    )


# -- lines ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [0.0, 0.1, 0.5])
def test_every_weight_that_is_large_enough_is_a_line(show: Show, least: float) -> None:
    page = show(least=least)
    lines(page, int((stored() >= max(least, 1 / 65535)).sum()))
    assert inked(page, ".head-view canvas") > 500


def test_only_chosen_heads_have_lines(show: Show) -> None:
    lines(show(chosen=[1]), int((stored()[1] >= LEAST).sum()))


def test_hovering_over_a_query_leaves_only_its_lines(show: Show) -> None:
    page = show()
    token(page, "query", 3).hover()
    lines(page, int((stored()[:, 3] >= LEAST).sum()))
    token(page, "key", 5).hover()
    lines(page, int((stored()[:, :, 5] >= LEAST).sum()))
    page.mouse.move(5, 5)
    lines(page, int((stored() >= LEAST).sum()))


def test_the_tip_says_the_weight_of_what_is_selected_and_hovered(show: Show) -> None:
    page = show(queries=[2, 4])
    token(page, "key", 1).hover()
    for head in range(HEADS):
        expect(page.locator(".tip")).to_contain_text(f"{stored()[head, [2, 4], 1].sum():.4f}")


def test_the_tip_of_a_token_names_where_its_largest_weights_are(show: Show) -> None:
    page = show()
    token(page, "query", 2).hover()
    row = page.locator(".tip tr").nth(1)
    expect(row).to_contain_text(NAMES[stored()[1, 2].argmax()])
    expect(row).to_contain_text(f"{stored()[1, 2].max():.4f}")


def test_wordpieces_are_text_and_never_markup(show: Show) -> None:
    page = show()
    expect(token(page, "query", 2)).to_have_text("<b>cat</b>")
    token(page, "query", 2).hover()
    expect(page.locator(".tip b, .token b")).to_have_count(0)


def test_a_second_sentence_stands_apart(show: Show) -> None:
    page = show()
    tops = [token(page, "query", unit).bounding_box()["y"] for unit in (4, 5, 6)]  # type: ignore[index]
    assert tops[2] - tops[1] > tops[1] - tops[0]


def test_a_click_selects_and_shift_adds(show: Show) -> None:
    page = show()
    token(page, "query", 3).click()
    sent(page, "selected", {"side": "query", "units": [3]})
    token(page, "query", 1).click(modifiers=["Shift"])
    sent(page, "selected", {"side": "query", "units": [1, 3]})
    page.mouse.move(5, 5)
    lines(page, int((stored()[:, [1, 3]] >= LEAST).sum()))


def test_a_click_in_the_other_column_selects_there_alone(show: Show) -> None:
    page = show(queries=[2])
    token(page, "key", 6).click()
    sent(page, "selected", {"side": "key", "units": [6]})
    expect(token(page, "query", 2)).to_have_attribute("aria-pressed", "false")


def test_escape_leaves_the_selection(show: Show) -> None:
    page = show(queries=[2])
    token(page, "query", 2).focus()
    page.keyboard.press("Escape")
    sent(page, "selected", {"side": "query", "units": []})


def test_arrow_keys_reach_every_token_and_enter_selects(show: Show) -> None:
    page = show()
    token(page, "query", 0).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    expect(token(page, "key", 1)).to_be_focused()
    lines(page, int((stored()[:, :, 1] >= LEAST).sum()))
    page.keyboard.press("Enter")
    sent(page, "selected", {"side": "key", "units": [1]})


def test_brackets_step_through_the_layers_there_are(show: Show) -> None:
    page = show()
    token(page, "query", 0).focus()
    page.keyboard.press("[")
    page.keyboard.press("]")
    sent(page, "stepped", {"layer": 1, "count": 1})


def test_a_swatch_takes_its_head_out(show: Show) -> None:
    page = show()
    swatch = page.get_by_role("checkbox", name="Head 1")
    swatch.click()
    expect(swatch).to_have_attribute("aria-checked", "false")
    sent(page, "headed", {"heads": [0, 2]})
    lines(page, int((stored()[[0, 2]] >= LEAST).sum()))


def test_the_last_head_stays_on(show: Show) -> None:
    page = show(chosen=[1])
    swatch = page.get_by_role("checkbox", name="Head 1")
    swatch.click()
    expect(page.locator(f"{ROOT} .says")).to_have_text("The last head stays on.")
    expect(swatch).to_have_attribute("aria-checked", "true")
    lines(page, int((stored()[1] >= LEAST).sum()))


def test_a_double_click_shows_a_head_alone_and_another_all(show: Show) -> None:
    page = show()
    swatch = page.get_by_role("checkbox", name="Head 1")
    swatch.dblclick()
    sent(page, "headed", {"heads": [1]})
    page.wait_for_timeout(600)
    swatch.dblclick()
    sent(page, "headed", {"heads": [0, 1, 2]})


def test_shift_and_enter_shows_a_head_alone(show: Show) -> None:
    page = show()
    page.get_by_role("checkbox", name="Head 2").focus()
    page.keyboard.press("Shift+Enter")
    sent(page, "headed", {"heads": [2]})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"chosen": []}, "No head is chosen. Click a head's colour above to see its lines."),
        ({"least": 1}, "No weight is 1 or more here. Lower the least weight that is drawn, or choose more heads."),
        ({"show": "neuron"}, "No query is chosen. Click a token above to see how its weights come about."),
    ],
)
def test_what_shows_nothing_says_what_to_do(address: str, open_page: Open, asked: dict[str, object], said: str) -> None:
    expect(open_page(f"{address}/#{quote(json.dumps(asked))}").locator(".note")).to_have_text(said)


def test_a_request_that_fails_is_said_in_one_sentence(address: str, chromium: Browser) -> None:
    page = chromium.new_page()
    page.goto(f"{address}/#{quote(json.dumps({'layer': 7}))}")
    expect(page.get_by_role("alert")).to_have_text("There is no such layer. Choose one of the list.")
    expect(page.locator(ROOT)).to_have_attribute("data-drawn", "")
    page.close()


# -- thumbnails, heat map, channels -----------------------------------------------------------------


def test_a_thumbnail_opens_its_head(show: Show) -> None:
    page = show(show="model")
    canvas = page.locator(".model-view canvas")
    canvas.click(position={"x": 34 + 100 + 50, "y": 22 + 100 + 50})
    expect(page.locator(".tip")).to_have_text("Layer 1, head 1")
    sent(page, "opened", {"layer": 1, "head": 1})


def test_arrow_keys_and_enter_open_a_head(show: Show) -> None:
    page = show(show="model", head=0)
    page.locator(".model-view").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    sent(page, "opened", {"layer": 1, "head": 2})


def test_a_cell_of_the_heat_map_says_its_weight(show: Show) -> None:
    page = show(show="matrix")
    page.locator(".matrix-view").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".tip")).to_have_text(f"<b>cat</b> → the{stored()[1, 2, 1]:.4f}")
    box = page.locator(".matrix-view .ring").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 1.5 * box["width"], box["y"] + box["height"] / 2)
    expect(page.locator(".tip")).to_contain_text(f"{stored()[1, 2, 2]:.4f}")


def test_channels_show_how_a_weight_comes_about(show: Show) -> None:
    page = show(show="neuron", queries=[4], head=2)
    wanted = neuron(4)["keys"]
    for row, key in zip(page.locator(".neurons tbody tr[data-key]").all(), wanted, strict=True):  # type: ignore[call-overload]
        numbers = [text.replace("\u2212", "-") for text in row.locator(".number").all_inner_texts()]
        assert [float(number) for number in numbers] == pytest.approx(
            [key["dot"], key["logit"], key["weight"]], abs=6e-4
        )


def test_a_strip_says_the_numbers_of_a_channel(show: Show) -> None:
    page = show(show="neuron", queries=[4])
    page.locator('tr[data-key="2"] .strip[data-kind="product"]').hover(position={"x": 1, "y": 5})
    expect(page.locator(".tip")).to_have_text("channel 0q 0.100k \u22120.700q \u00d7 k \u22120.070")


def test_another_query_of_the_channels_is_sent(show: Show) -> None:
    page = show(show="neuron", queries=[4])
    token(page, "query", 1).click()
    sent(page, "selected", {"side": "query", "units": [1]})


def test_a_neuron_view_keeps_its_chosen_query_in_sight(show: Show) -> None:
    page = show(show="neuron", queries=[4])
    expect(token(page, "query", 4)).to_have_attribute("aria-pressed", "true")
    expect(token(page, "query", 4)).to_be_in_viewport()


# -- files ------------------------------------------------------------------------------------------


def saved(page: Page, kind: str) -> Download:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Save {kind}").click()
    return waiting.value


def test_nothing_can_be_saved_of_what_did_not_come(address: str, chromium: Browser) -> None:
    page = chromium.new_page()
    page.goto(f"{address}/#{quote(json.dumps({'layer': 7}))}")
    expect(page.get_by_role("alert")).not_to_be_empty()
    expect(page.get_by_role("button", name="Save PNG")).to_be_hidden()
    page.close()


def test_lines_are_saved_as_a_drawing(show: Show) -> None:
    page = show(queries=[2])
    drawing = ElementTree.parse(saved(page, "SVG").path()).getroot()
    assert len(drawing.findall("{*}line")) == (stored()[:, 2] >= LEAST).sum()
    assert [one.text for one in drawing.findall("{*}text")].count("<b>cat</b>") == 2
    assert [one.text for one in drawing.findall("{*}text[@font-weight='700']")] == ["<b>cat</b>"]


def test_a_heat_map_is_saved_as_a_drawing_with_its_numbers(show: Show) -> None:
    page = show(show="matrix")
    said = {one.text for one in ElementTree.parse(saved(page, "SVG").path()).getroot().findall("{*}text")}
    assert said >= {f"{weight:.2f}".removeprefix("0") for weight in stored()[1].ravel()} | set(NAMES)


def test_channels_are_saved_as_a_drawing_with_their_numbers(show: Show) -> None:
    drawing = ElementTree.parse(saved(show(show="neuron", queries=[4], head=2), "SVG").path()).getroot()
    said = {one.text for one in drawing.findall("{*}text")}
    assert said >= {f"{key['weight']:.4f}" for key in neuron(4)["keys"]} | set(NAMES)  # type: ignore[attr-defined]
    ground = 1
    assert len(drawing.findall("{*}rect")) - ground == CHANNELS * (1 + 2 * len(NAMES))


def test_every_head_is_saved_as_an_image_in_a_drawing(show: Show) -> None:
    drawing = ElementTree.parse(saved(show(show="model"), "SVG").path()).getroot()
    images = [one.attrib["href"] for one in drawing.findall("{*}image")]
    assert len(images) == LAYERS * HEADS
    assert all(image.startswith("data:image/png;base64,") for image in images)


@pytest.mark.parametrize("kind", ["head", "model", "matrix", "neuron"])
def test_what_is_shown_is_saved_as_a_picture(show: Show, kind: str) -> None:
    download = saved(show(show=kind, queries=[2]), "PNG")
    colours = Image.open(download.path()).convert("RGB").getcolors(1 << 24)
    assert download.suggested_filename == "attention-of-layer-0.png"
    assert colours is not None
    assert len(colours) > 50


def test_the_saved_page_shows_the_same_lines_without_any_network(show: Show, tmp_path: Path, chromium: Browser) -> None:
    file = tmp_path / "saved.html"
    saved(show(), "HTML").save_as(file)
    context = chromium.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(file.as_uri())
    lines(page, int((stored() >= LEAST).sum()))
    token(page, "query", 3).hover()
    lines(page, int((stored()[:, 3] >= LEAST).sum()))
    assert (asked, errors) == ([file.as_uri()], [])
    context.close()


# -- for everybody ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["head", "model", "matrix", "neuron"])
def test_nobody_is_shut_out(show: Show, scheme: str, kind: str) -> None:
    page = show(scheme, show=kind, queries=[2], chosen=[0, 2])
    found = Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in serious] == []


def test_another_layer_takes_the_place_of_the_one_before(show: Show) -> None:
    page = show()
    page.evaluate("() => (location.hash = encodeURIComponent(JSON.stringify({ layer: 1 })))")
    expect(page.locator(ROOT)).to_have_attribute("data-drawn", "/fake/layer/1.bin")
    lines(page, int((stored(1) >= LEAST).sum()))
