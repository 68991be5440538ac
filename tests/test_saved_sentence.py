"""Files that the views of a sentence save, with known weights: drawings, pictures, a page."""

import json
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from PIL import Image
from playwright.sync_api import Browser, Download, Page, expect

from tests.fake_sentence import CHANNELS, HEADS, LAYERS, LEAST, NAMES, SOURCE, Show, lines, neuron, stored, token


def saved(page: Page, kind: str) -> Download:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Save {kind}").click()
    return waiting.value


def test_weights_that_failed_to_load_cannot_be_saved(fake_server: str, chromium: Browser) -> None:
    page = chromium.new_page()
    page.goto(f"{fake_server}/#{quote(json.dumps({'layer': 7}))}")
    expect(page.get_by_role("alert")).not_to_be_empty()
    expect(page.get_by_role("button", name="Save PNG")).to_be_hidden()
    page.close()


def drawing_and_picture(page: Page) -> ElementTree.Element:
    """The saved drawing. The saved picture has the same name and many colours; the drawing names its source."""
    drawing = ElementTree.parse(saved(page, "SVG").path()).getroot()
    assert drawing.findtext("{*}desc") == SOURCE
    assert SOURCE in texts_of(drawing)
    download = saved(page, "PNG")
    colours = Image.open(download.path()).convert("RGB").getcolors(1 << 24)
    assert download.suggested_filename == "attention-of-layer-0-tiny-1.png"
    assert colours is not None
    assert len(colours) > 50
    return drawing


def texts_of(drawing: ElementTree.Element) -> list[str | None]:
    return [element.text for element in drawing.findall("{*}text")]


def test_lines_are_saved_as_a_picture_and_a_drawing_and_their_numbers_can_be(show: Show) -> None:
    page = show(queries=[2])
    drawing = drawing_and_picture(page)
    assert len(drawing.findall("{*}line")) == (stored()[:, 2] >= LEAST).sum()
    assert texts_of(drawing).count("<b>cat</b>") == 2
    assert [element.text for element in drawing.findall("{*}text[@font-weight='700']")] == ["<b>cat</b>"]
    link = page.get_by_role("group", name="Export").get_by_role("link", name="CSV")
    expect(link).to_have_attribute("href", "/fake/weights.csv")


def test_a_heat_map_is_saved_with_its_numbers_and_the_legend_of_its_scale(show: Show) -> None:
    texts = set(texts_of(drawing_and_picture(show(show="matrix", scale="row"))))
    assert texts >= {f"{weight:.2f}".removeprefix("0") for weight in stored()[1].ravel()} | set(NAMES)
    assert texts >= {"0", "largest of its row", "each row"}


def test_channels_are_saved_with_their_numbers(show: Show) -> None:
    drawing = drawing_and_picture(show(show="neuron", queries=[4], head=2))
    numbers = {f"{key['weight']:.2%}" for key in neuron(4)["keys"]}  # type: ignore[attr-defined]
    assert set(texts_of(drawing)) >= numbers | set(NAMES)
    ground = 1
    assert len(drawing.findall("{*}rect")) - ground == CHANNELS * (1 + 2 * len(NAMES))


def test_every_head_is_saved_as_an_image_beside_the_legend_of_its_scale(show: Show) -> None:
    drawing = drawing_and_picture(show(show="model", scale="row"))
    images = [element.attrib["href"] for element in drawing.findall("{*}image")]
    assert len(images) == LAYERS * HEADS
    assert all(image.startswith("data:image/png;base64,") for image in images)
    assert set(texts_of(drawing)) >= {"0", "largest of its row", "each row"}


def test_the_saved_page_shows_the_same_lines_without_any_network(show: Show, tmp_path: Path, chromium: Browser) -> None:
    file = tmp_path / "saved.html"
    saved(show(), "HTML").save_as(file)
    context = chromium.new_context(offline=True)
    page = context.new_page()
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(file.as_uri())
    expect(page.get_by_text(SOURCE)).to_be_visible()
    lines(page, int((stored() >= LEAST).sum()))
    token(page, "query", 3).hover()
    lines(page, int((stored()[:, 3] >= LEAST).sum()))
    assert (urls, errors) == ([file.as_uri()], [])
    context.close()
