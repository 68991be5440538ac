"""Pictures of the gallery: taking them in a browser, saving them in few bytes, and the difference of two."""

import io
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.bench.complete_page import opened
from tests.browser import GOT_IT
from tests.gallery.views import Shot

FOLDER = Path(__file__).parents[2] / "docs/gallery"
#: Pixels around a section.
SPACE = 16
#: Pixels of a square whose mean luminance is compared: a point that moves within it changes nothing.
SQUARE = 8
#: Largest mean difference of luminance of the same picture. Two pictures of a view of one store differ by 0.0000 to 0.0030,
#: pictures of a published head in two stores, each trained anew, by 0.0071,
#: pictures of another head, relation, sentence or colour on the same page by 0.0092 to 0.0692; any two views by at least 0.0415.
MOST_DIFFERENT = 0.0085
#: Box of a section in the page, from its heading to the next one.
SECTION = """([id, space, most]) => {
  scrollTo(0, 0);
  const first = document.getElementById(id);
  let last = first;
  while (last.nextElementSibling && last.nextElementSibling.tagName !== "H2") last = last.nextElementSibling;
  const [top, bottom] = [first.getBoundingClientRect().top, last.getBoundingClientRect().bottom];
  const { left, width } = first.parentElement.getBoundingClientRect();
  return { x: left - space, y: top - space, width: width + 2 * space, height: Math.min(most, bottom - top + 2 * space) };
}"""


def photograph(browser: Browser, address: str, shot: Shot) -> Image.Image:
    """The picture of a page once it is complete. An error on its console is raised."""
    width, height = shot.window
    size: ViewportSize = {"width": width, "height": height}
    with browser.new_context(viewport=size, color_scheme="light", reduced_motion="reduce") as context:
        context.add_init_script(GOT_IT)
        page = context.new_page()
        errors = opened(page, address + shot.link, shot.there)
        expect(page.locator(shot.shows).first).to_be_visible()
        if errors:
            raise SystemExit(f"gallery: {shot.link} has an error on its console: {errors[0]}")
        return Image.open(io.BytesIO(_shown(page, shot))).convert("RGB")


def _shown(page: Page, shot: Shot) -> bytes:
    """Screenshot of the window, or of the section that the link's fragment names."""
    _, _, section = shot.link.partition("#")
    if not section:
        return page.screenshot()
    return page.screenshot(full_page=True, clip=page.evaluate(SECTION, [section, SPACE, shot.window[1]]))


def path_of(name: str, folder: Path = FOLDER) -> Path:
    """The file of a picture."""
    return folder / f"{name}.webp"


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture as it is, without loss, in few bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, "WEBP", lossless=True, quality=100, method=6)


def difference(one: Image.Image, other: Image.Image) -> float:
    """Mean difference of luminance, 0 to 1, between the squares of two pictures; 1 where the sizes differ."""
    if one.size != other.size:
        return 1.0
    return float(np.abs(_squares(one) - _squares(other)).mean() / 255)


def _squares(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture.convert("L").reduce(SQUARE), np.float64)
