"""A saved picture in a browser: it has what a reader needs who sees it without the page."""

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
from dashboard.ui.theme import PALETTE, Scheme, ramp
from tests.browser import Open, drawn, never_there, saved_picture

#: Notes every text that is drawn on a canvas.
NOTE = """() => {
  const { prototype } = CanvasRenderingContext2D;
  const { fillText } = prototype;
  window.written = [];
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
    "a head of both": "/compare?layer=1&head=1",
    "a point of both": "/compare?pictures=point&point=L00.mixed",
}

#: The last one has what those of a point and of both models have.
EVERY = pytest.mark.parametrize("picture", [*list(LINKS)[:-1], pytest.param(list(LINKS)[-1], marks=pytest.mark.slow)])

#: The text of a caption without what is of use on the page alone.
OFF_PAGE = """(caption) => {
  const copy = caption.cloneNode(true);
  copy.querySelectorAll("a, button:not(.chip), .on-page").forEach((part) => part.remove());
  return copy.textContent;
}"""
SIZE = "[...document.querySelectorAll('.frame canvas, .overlay')].map(({ width, height }) => [width, height])"

Show = Callable[..., Page]
TextsOf = Callable[[str], list[str]]
Pixels = np.ndarray


@pytest.fixture
def show(open_page: Open, three_server: str, alike: ModelPair) -> Show:
    """One of the pictures of a model that can be compared with another."""

    def show(picture: str, query: str = "", *, scheme: Scheme = "light") -> Page:
        both = f"&model={alike.own.name}&other={alike.other.name}"
        page = drawn(open_page(f"{three_server}{LINKS[picture]}{both}{query}", scheme=scheme))
        expect(page.locator(".caption.of-picture").first).to_be_visible()
        return page

    return show


def save(page: Page) -> tuple[Pixels, list[str]]:
    """The file (row, column, colour), and the texts that were written on it."""
    page.evaluate(NOTE)
    pixels = np.asarray(Image.open(saved_picture(page).path()).convert("RGB")).astype(int)
    return pixels, page.evaluate("written")


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    """What was written on the files that tests have saved, by their pictures."""
    return {}


@pytest.fixture
def texts_of(show: Show, texts: dict[str, list[str]]) -> TextsOf:
    """What is written on the file of a picture, which is saved where no test before has saved it."""

    def texts_of(picture: str) -> list[str]:
        if picture not in texts:
            _, texts[picture] = save(show(picture))
        return texts[picture]

    return texts_of


def below(page: Page, saved: Pixels) -> Pixels:
    """What of a file is below the panels, whatever stands above them."""
    return saved[page.evaluate("document.querySelector('.frame canvas').height") + 40 :]


def coloured(pixels: Pixels) -> float:
    """The share that is no grey: mostly points."""
    return float((np.ptp(pixels, axis=-1) > 40).mean())


def has(pixels: Pixels, colour: tuple[int, ...], *, least: int, within: int = 0) -> bool:
    return int((np.abs(pixels - colour).max(axis=-1) <= within).sum()) >= least


@EVERY
def test_what_the_page_says_of_a_picture_stands_below_it(
    show: Show, texts: dict[str, list[str]], picture: str, alike: ModelPair
) -> None:
    page = show(picture)
    pixels, texts[picture] = save(page)
    text = " ".join(texts[picture])
    region = below(page, pixels)
    assert (region != region[-1, -1]).any(axis=-1).mean() > 0.01
    for caption in page.locator(".caption.of-picture").all():
        assert " ".join(caption.evaluate(OFF_PAGE).split()) in text
    assert "hover" not in text
    assert str(page.locator(".frame").get_attribute("aria-label")) in text
    assert f"on {alike.own.attributes['corpus']}, snapshot" in text


@EVERY
def test_n_of_n_and_how_far_it_can_be_trusted_are_in_the_file(texts_of: TextsOf, picture: str) -> None:
    text = " ".join(texts_of(picture))
    assert re.search(r"all [\d,]+ tokens\.|[\d,]+ of [\d,]+ tokens|all of them are drawn|drawn here", text)
    assert re.search(r"[Tt]rustworthiness (A )?[01]\.\d\d|Trustworthiness \(1: .*[01]\.\d\d", text)


def test_every_category_has_its_swatch_in_the_readers_theme(show: Show) -> None:
    page = show("all points", "&fcolour=kind", scheme="dark")
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


def test_a_ramp_has_its_ends_and_what_they_stand_for(show: Show) -> None:
    page = show("one head", "&colour=entropy")
    pixels, written = save(page)
    assert tuple(pixels[0, 0]) == ImageColor.getrgb(PALETTE["light"]["background"])
    for role in ("query", "key"):
        *codes, _ = ramp("number")["light"][role]
        for end in (codes[0], codes[-1]):
            assert has(below(page, pixels), ImageColor.getrgb(end), least=10, within=10)
    assert "percentile" in written
    assert "nats" in " ".join(written)


def test_layers_and_heads_are_named_beside_all_heads(texts_of: TextsOf) -> None:
    assert {"L0", "L1", "H0", "H1"} <= set(texts_of("all heads"))


def test_points_are_named_above_their_panels(texts_of: TextsOf) -> None:
    assert {"embedding", "L1", "↓ layer output · end of the layer"} <= set(texts_of("all points"))


def test_a_saved_picture_names_its_selection_without_the_controls_of_the_page(show: Show) -> None:
    text = " ".join(save(show("one point", "&q=film&within=prefix"))[1])
    assert "What stands out is selected by “film” as the beginning of a token." in text
    assert "drawn tokens are selected, the same in every panel. " in text
    assert "clear" not in text


@pytest.mark.parametrize(
    ("picture", "query", "caption"),
    [
        ("one head", "&token=5&role=key", "Ringed: the key of “"),
        ("one head", "&text=the+film", "Large: the queries and keys of “the film”"),
        (
            "one point",
            "&ftoken=5",
            "dashed: lines to the 10 tokens whose vectors have the largest cosine with its vector.",
        ),
    ],
)
def test_what_is_drawn_over_the_points_is_explained(show: Show, picture: str, query: str, caption: str) -> None:
    page = show(picture, query)
    expect(page.locator(".frame")).to_have_attribute("data-overlay", re.compile("/data/"))
    assert caption in " ".join(save(page)[1])


def test_a_picture_of_a_point_that_is_on_its_way_says_so(show: Show) -> None:
    page = show("one point")
    never_there(page)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".player output")).to_contain_text("L0 attention output")
    assert " ".join(save(page)[1]).count("at L0 attention output, on the way there") == 1


def test_the_name_of_the_file_says_what_it_is_of(show: Show, alike: ModelPair) -> None:
    name = saved_picture(show("one head")).suggested_filename
    assert name == f"queries-and-keys-of-l1-h0-{alike.own.name}-{alike.own.snapshot}.png"


@pytest.mark.slow
def test_a_picture_is_saved_4000_pixels_wide_and_looks_the_same(show: Show) -> None:
    page = show("all heads")
    small = Image.open(saved_picture(page).path()).convert("RGB")
    large = Image.open(saved_picture(page, width="4000").path()).convert("RGB")
    assert large.width == 4000
    assert large.height == pytest.approx(4000 * small.height / small.width, abs=4)
    shrunk = np.asarray(large.resize(small.size, Image.Resampling.BOX)).astype(int)
    assert np.abs(shrunk - np.asarray(small).astype(int)).mean() < 6
    assert coloured(shrunk) == pytest.approx(coloured(np.asarray(small).astype(int)), rel=0.3)


@pytest.mark.slow
def test_the_page_shows_the_same_after_a_large_picture_was_saved(show: Show) -> None:
    page = show("one head")
    before = (page.locator(".frame canvas").bounding_box(), page.evaluate(SIZE))
    saved_picture(page, width="4000")
    assert (page.locator(".frame canvas").bounding_box(), page.evaluate(SIZE)) == before


def test_a_drawing_has_points_as_an_image_and_the_rest_as_lines_and_text(show: Show, alike: ModelPair) -> None:
    page = show("one head", "&token=5&role=query")
    expect(page.locator(".frame")).to_have_attribute("data-overlay", re.compile("/data/"))
    drawing = ElementTree.parse(saved_picture(page, "SVG", "2000").path()).getroot()
    (image,) = drawing.findall("{*}image")
    raster = Image.open(io.BytesIO(base64.b64decode(image.attrib["href"].partition(",")[2])))
    written = " ".join(text.text or "" for text in drawing.findall("{*}text"))
    assert drawing.attrib["width"] == "2000"
    assert raster.width == pytest.approx(
        2000 * float(image.attrib["width"]) / float(drawing.attrib["viewBox"].split()[2]), abs=2
    )
    assert len(drawing.findall("{*}path")) > 4
    assert "Queries and keys of L1 H0" in written
    assert re.search(r"all \d+ tokens\.", written)
    assert drawing.findtext("{*}desc") in written
    assert f"on {alike.own.attributes['corpus']}, snapshot" in (drawing.findtext("{*}desc") or "")


def test_a_drawing_of_a_ramp_has_its_gradients(show: Show) -> None:
    drawing = ElementTree.parse(saved_picture(show("one head", "&colour=entropy"), "SVG").path()).getroot()
    used = {element.attrib["fill"] for element in drawing.findall("{*}rect")}
    assert {f"url(#{element.attrib['id']})" for element in drawing.findall("{*}linearGradient")} <= used
    assert len(drawing.findall("{*}linearGradient")) == 2


def test_the_menu_is_used_with_keys_alone(show: Show) -> None:
    page = show("one head")
    page.get_by_role("button", name="Save", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Width")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Width")).to_be_hidden()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_focused()
