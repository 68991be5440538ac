"""Screenshots of every page, wide and narrow, light and dark, a sheet of these for each page, and violations that axe finds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.accessibility import KNOWN, serious
from tests.bench.browser import production_server
from tests.bench.complete_page import opened
from tests.bench.table import show
from tests.browser import CHROMIUM, FLAGS, GOT_IT

#: Link of every page of a store by the name of its file; any store has the clicked token.
PAGES = {
    "overview": "",
    "lessons": "lessons",
    "heads": "heads",
    "head": "head?layer=0&head=0",
    "head-point": "head?layer=0&head=0&token=8&tab=point",
    "statistics": "statistics",
    "map": "map",
    "relations": "relations",
    "features": "features",
    **{f"sentence-{show}": f"sentence?show={show}" for show in ("head", "model", "matrix", "positions", "mixing")},
    "sentence-neuron": "sentence?show=neuron&queries=2",
    "compare": "compare",
    "models": "models",
    "notes": "notes",
    "store": "store",
    "server": "server",
}
WINDOWS = ((1440, 900), (900, 900), (390, 844))
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
#: Pixels: width of a sheet, height that is shown of a long page, and space between pictures.
SHEET, DEPTH, GAP = 2000, 2400, 12
BACKDROP = (128, 128, 128)


@dataclass(frozen=True)
class Shot:
    """A page in a window: the file of its picture, and its faults."""

    name: str
    path: Path
    width: int
    faults: tuple[str, ...]


def screenshots(store: str, folder: Path, address: str | None = None) -> int:
    """Photograph every page of a store, or of a running server; returns 1 where a page has an error or is too wide."""
    if address:
        return _report(folder, photograph(address, folder))
    with production_server(store) as address:
        return _report(folder, photograph(address, folder))


def photograph(address: str, folder: Path, pages: Mapping[str, str] = PAGES) -> list[Shot]:
    """Write a file for each page, window and scheme, and a sheet for each page."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        shots = [shot for scheme in SCHEMES for shot in _in_scheme(browser, address, folder, pages, scheme)]
    for name in pages:
        sheet([shot for shot in shots if shot.name == name]).save(folder / f"sheet-{name}.png")
    return shots


def _in_scheme(
    browser: Browser, address: str, folder: Path, pages: Mapping[str, str], scheme: Scheme
) -> Iterator[Shot]:
    """Photograph all pages in one colour scheme, in one browser context, which keeps scripts from page to page."""
    for width, height in WINDOWS:
        size: ViewportSize = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        context.add_init_script(GOT_IT)
        KNOWN.clear()  # axe may find other violations in another window
        for name, path in pages.items():
            file = folder / f"{name}-{width}-{scheme}.png"
            yield Shot(name, file, width, _photograph_page(context.new_page(), f"{address}/{path}", file))
        context.close()


def _photograph_page(page: Page, url: str, file: Path) -> tuple[str, ...]:
    """Write a picture of the whole page to a file; returns the faults of the page."""
    errors = opened(page, url)
    page.screenshot(path=file, full_page=True)
    beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    wide = [f"{beyond} pixels wider than the window"] if beyond > 0 else []
    barriers = [f"axe: {rule}: {' '.join(elements)[:200]}" for rule, elements in serious(page)]
    page.close()
    return (*errors, *wide, *barriers)


def sheet(shots: list[Shot]) -> Image.Image:
    """The pictures of a page beside each other: a row for each scheme, each as wide as its window."""
    rows = [[shot.path for shot in shots if shot.path.stem.endswith(scheme)] for scheme in SCHEMES]
    scale = SHEET / sum(width for width, _ in WINDOWS)
    return _stacked([_beside([_reduced(path, scale) for path in row]) for row in rows])


def _reduced(path: Path, scale: float) -> Image.Image:
    picture = Image.open(path).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, DEPTH)))
    return picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS)


def _beside(pictures: list[Image.Image]) -> Image.Image:
    row = Image.new(
        "RGB", (sum(each.width + GAP for each in pictures), max(each.height for each in pictures)), BACKDROP
    )
    left = 0
    for each in pictures:
        row.paste(each, (left, 0))
        left += each.width + GAP
    return row


def _stacked(rows: list[Image.Image]) -> Image.Image:
    whole = Image.new("RGB", (max(each.width for each in rows), sum(each.height + GAP for each in rows)), BACKDROP)
    top = 0
    for each in rows:
        whole.paste(each, (0, top))
        top += each.height + GAP
    return whole


def _report(folder: Path, shots: list[Shot]) -> int:
    faulty = [shot for shot in shots if shot.faults]
    rows = [(shot.path.name, "; ".join(shot.faults)) for shot in faulty]
    show(f"{len(shots)} screenshots in {folder}, {len(faulty)} with a fault", ("page", "fault"), rows)
    return int(bool(faulty))
