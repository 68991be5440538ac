"""A page with some of the dashboard's scripts on it and nothing else: no server, the files alone."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

ASSETS = Path(__file__).parents[1] / "dashboard" / "assets"


@contextmanager
def scripted(chromium: Browser, scripts: Iterable[Path], own: str = "") -> Iterator[Page]:
    """The page; a script of the test's own comes after the others."""
    page = chromium.new_page()
    for path in scripts:
        page.add_script_tag(path=path)
    if own:
        page.add_script_tag(content=own)
    yield page
    page.close()


@contextmanager
def of_points(chromium: Browser, *names: str, own: str = "") -> Iterator[Page]:
    """With scripts of the canvas, by their names."""
    with scripted(chromium, [ASSETS / "canvas" / f"{name}.mjs" for name in names], own) as page:
        yield page
