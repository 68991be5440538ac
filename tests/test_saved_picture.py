"""A saved picture in a browser: it has all that a reader needs without the page."""

import base64
import io
import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageColor
from playwright.sync_api import Page, expect

from dashboard.compare.two_models import ModelPair
from dashboard.ui.theme import PALETTE, ramp
from tests.browser import Visit, drawn, never_there, saved_picture

#: Notes every text that is drawn on a canvas.
NOTE = """() => {
  const { prototype } = CanvasRenderingContext2D;
  const { fillText } = prototype;
  const isNoted = Boolean(window.written);
  window.written = [];
  if (isNoted) return;
  prototype.fillText = function (text, ...where) {
    window.written.push(text);
    fillText.call(this, text, ...where);
  };
}"""
LINKS = {
    "all heads": "/heads?",
    "one head": "/head?layer=1&head=0",
    "all points": "/features?",
    "one point": "/features?point=L00.mixed",
}

#: Texts above and beside the panels of each picture.
NAMED = {
    "all heads": {"L0", "L1", "H0", "H1"},
    "one head": set(),
    "all points": {"embedding", "L1", "↓ layer output · end of the layer"},
    "one point": set(),
    "a head of both": set(),
}

#: The text of a caption without the parts that are useful only on the page.
OFF_PAGE = """(caption) => {
  const copy = caption.cloneNode(true);
  copy.querySelectorAll("a, button:not(.chip), .on-page").forEach((part) => part.remove());
  return copy.textContent;
}"""
SIZE = "[...document.querySelectorAll('.frame canvas, .overlay')].map(({ width, height }) => [width, height])"

Show = Callable[..., Page]
Pixels = np.ndarray


@pytest.fixture
def show(visit: Visit, three_server: str, alike: ModelPair) -> Show:
    """A function that shows one of the pictures of a model that can be compared with another model."""
    return lambda picture, query="": shown(visit, three_server, alike, picture, query)


def shown(visit: Visit, server: str, alike: ModelPair, picture: str, query: str = "") -> Page:
    page = drawn(visit(f"{server}{LINKS[picture]}&model={alike.own.name}&other={alike.other.name}{query}"))
    expect(page.locator(".caption.of-picture").first).to_be_visible()
    return page


def save(page: Page) -> tuple[Pixels, list[str]]:
    """The file (row, column, colour), and the texts that were written on it."""
    page.evaluate(NOTE)
    pixels = np.asarray(Image.open(saved_picture(page).path()).convert("RGB")).astype(int)
    return pixels, page.evaluate("written")


def below(page: Page, saved: Pixels) -> Pixels:
    """The rows of a saved file below the panels."""
    return saved[page.evaluate("document.querySelector('.frame canvas').height") + 40 :]


def coloured(pixels: Pixels) -> float:
    """Share of the pixels that are coloured, which are mostly points."""
    return float((np.ptp(pixels, axis=-1) > 40).mean())


def has(pixels: Pixels, colour: tuple[int, ...], *, least: int, within: int = 0) -> bool:
    return int((np.abs(pixels - colour).max(axis=-1) <= within).sum()) >= least


def test_what_the_page_says_of_a_picture_is_in_the_file(show: Show, alike: ModelPair) -> None:
    page = show("all heads")
    says_what_the_page_says(page, "all heads", alike, *save(page))


def says_what_the_page_says(page: Page, picture: str, alike: ModelPair, pixels: Pixels, written: list[str]) -> None:
    """The saved caption has the text of the page; for a head of two models see `test_compare_page.py`."""
    text = " ".join(written)
    region = below(page, pixels)
    assert (region != region[-1, -1]).any(axis=-1).mean() > 0.01
    for caption in page.locator(".caption.of-picture").all():
        assert " ".join(caption.evaluate(OFF_PAGE).split()) in text
    assert "hover" not in text
    assert str(page.locator(".frame").get_attribute("aria-label")) in text
    assert f"on {alike.own.attributes['corpus']}, snapshot" in text
    assert re.search(r"all [\d,]+ tokens\.|[\d,]+ of [\d,]+ tokens|all of them are drawn|drawn here", text)
    assert re.search(r"[Tt]rustworthiness (A )?[01]\.\d\d|Trustworthiness \(1: .*[01]\.\d\d", text)
    assert NAMED[picture] <= set(written)


def test_every_category_has_its_swatch_in_the_readers_theme_and_so_it_is_with_what_the_page_says(
    show: Show, alike: ModelPair
) -> None:
    page = show("all points", "&fcolour=kind")
    page.emulate_media(color_scheme="dark")
    pixels, written = save(page)
    assert tuple(pixels[0, 0]) == ImageColor.getrgb(PALETTE["dark"]["background"])
    swatches = page.locator(".legend .swatch")
    names = page.locator(".legend .chip").all_inner_texts()
    colours = [
        swatches.nth(number).evaluate("one => getComputedStyle(one).backgroundColor") for number in range(len(names))
    ]
    assert len(names) > 1
    for name, colour in zip(names, colours, strict=True):
        assert has(below(page, pixels), ImageColor.getrgb(colour), least=100)
        assert " ".join(name.split()) in " ".join(written)
    page.emulate_media(color_scheme="light")
    says_what_the_page_says(page, "all points", alike, pixels, written)


@pytest.mark.slow
def test_a_ramp_has_its_ends_and_what_they_and_the_page_say(show: Show, alike: ModelPair) -> None:
    page = show("one head", "&colour=entropy")
    pixels, written = save(page)
    assert tuple(pixels[0, 0]) == ImageColor.getrgb(PALETTE["light"]["background"])
    for role in ("query", "key"):
        *codes, _ = ramp("number")["light"][role]
        for end in (codes[0], codes[-1]):
            assert has(below(page, pixels), ImageColor.getrgb(end), least=10, within=10)
    assert "percentile" in written
    assert "nats" in " ".join(written)
    says_what_the_page_says(page, "one head", alike, pixels, written)


def test_what_is_selected_and_drawn_over_the_points_is_explained_with_what_the_page_says(
    show: Show, alike: ModelPair
) -> None:
    page = show("one head", "&text=the+film")
    expect(page.locator(".frame")).to_have_attribute("data-overlay", re.compile("/data/"))
    assert "Large: the queries and keys of “the film”" in " ".join(save(page)[1])
    page = show("one point", "&ftoken=5&q=film&within=prefix")
    expect(page.locator(".frame")).to_have_attribute("data-overlay", re.compile("/data/"))
    pixels, written = save(page)
    says_what_the_page_says(page, "one point", alike, pixels, written)
    text = " ".join(written)
    assert "dashed: lines to the 10 tokens whose vectors have the largest cosine with its vector." in text
    assert "What stands out is selected by “film” as the beginning of a token." in text
    assert "drawn tokens are selected, the same in every panel. " in text
    assert "clear" not in text


def test_a_picture_of_a_point_that_is_on_its_way_says_so(show: Show) -> None:
    page = show("one point")
    never_there(page)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".player output")).to_contain_text("L0 attention output")
    assert " ".join(save(page)[1]).count("at L0 attention output, on the way there") == 1
    page.get_by_role("button", name="Pause").click()
    page.evaluate("delete performance.now")


@pytest.mark.slow
def test_a_picture_is_saved_4000_pixels_wide_looks_the_same_and_leaves_the_page_as_it_is(show: Show) -> None:
    page = show("all heads")
    before = (page.locator(".frame canvas").bounding_box(), page.evaluate(SIZE))
    small = Image.open(saved_picture(page).path()).convert("RGB")
    large = Image.open(saved_picture(page, width="4000").path()).convert("RGB")
    assert large.width == 4000
    assert large.height == pytest.approx(4000 * small.height / small.width, abs=4)
    shrunk = np.asarray(large.resize(small.size, Image.Resampling.BOX)).astype(int)
    assert np.abs(shrunk - np.asarray(small).astype(int)).mean() < 6
    assert coloured(shrunk) == pytest.approx(coloured(np.asarray(small).astype(int)), rel=0.3)
    assert (page.locator(".frame canvas").bounding_box(), page.evaluate(SIZE)) == before


def test_a_drawing_has_points_as_an_image_and_the_rest_as_lines_and_text(show: Show, alike: ModelPair) -> None:
    page = show("one head", "&token=5&role=key&colour=entropy")
    expect(page.locator(".frame")).to_have_attribute("data-overlay", re.compile("/data/"))
    download = saved_picture(page, "SVG", "2000")
    assert download.suggested_filename == f"queries-and-keys-of-l1-h0-{alike.own.name}-{alike.own.snapshot}.svg"
    drawing = ElementTree.parse(download.path()).getroot()
    (image,) = drawing.findall("{*}image")
    raster = Image.open(io.BytesIO(base64.b64decode(image.attrib["href"].partition(",")[2])))
    written = " ".join(text.text or "" for text in drawing.findall("{*}text"))
    assert drawing.attrib["width"] == "2000"
    assert raster.width == pytest.approx(
        2000 * float(image.attrib["width"]) / float(drawing.attrib["viewBox"].split()[2]), abs=2
    )
    assert len(drawing.findall("{*}path")) > 4
    gradients = {f"url(#{element.attrib['id']})" for element in drawing.findall("{*}linearGradient")}
    assert len(gradients) == 2
    assert gradients <= {element.attrib["fill"] for element in drawing.findall("{*}rect")}
    assert "Queries and keys of L1 H0" in written
    assert "Ringed: the key of “" in written
    assert re.search(r"all \d+ tokens\.", written)
    assert drawing.findtext("{*}desc") in written
    assert f"on {alike.own.attributes['corpus']}, snapshot" in (drawing.findtext("{*}desc") or "")


def test_the_menu_is_used_with_keys_alone(show: Show) -> None:
    page = show("one head")
    page.get_by_role("button", name="Save", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Width")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Width")).to_be_hidden()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_focused()
