"""Page Sentence in a browser: how tests open it, and read its weights, tokens and link."""

import struct
from urllib.parse import parse_qs, urlencode, urlparse

import numpy as np
from playwright.sync_api import Page, expect

from tests.browser import Open, Visit

ROOT = "#sentence"
LEAST = 0.05


def sentence_page(open_page: Open | Visit, server: str, **fields: object) -> Page:
    """The page of a sentence, once its weights are drawn."""
    return shown(open_page(f"{server}/sentence?{urlencode(fields)}"))


def shown(page: Page) -> Page:
    """The page once weights are drawn and the controls above them are there; controls that come later move the drawing."""
    expect(page.locator(f'{ROOT}[data-drawn^="/data/"]')).to_be_visible()
    expect(page.locator("#above h1")).to_be_visible()
    return page


def open_controls(page: Page) -> None:
    """Open the controls that the row has no room for; the tab remembers that they are open."""
    button = page.locator("#open-controls")
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    expect(button).to_have_attribute("aria-expanded", "true")


def line_count(weights: np.ndarray, least: float = LEAST) -> int:
    """How many weights are large enough for a line, after their rounding to 16 bits for the browser."""
    return int((np.rint(weights * 65_535) >= max(1, least * 65_535)).sum())


def has_lines(page: Page, weights: np.ndarray, least: float = LEAST) -> None:
    """Wait until the page draws a line for each of these weights that is at least `least`."""
    expect(page.locator(ROOT)).to_have_attribute("data-lines", str(line_count(weights, least)))


def drawn_weights(page: Page) -> np.ndarray:
    """The weights that the page got from the server: (head, query, key)."""
    address = page.locator(ROOT).get_attribute("data-drawn") or ""
    body = page.request.get("/".join(page.url.split("/")[:3]) + address).body()
    heads, queries, keys, most = struct.unpack("<3If", body[4:20])
    codes = np.frombuffer(body, "<u2", offset=20).reshape(heads, queries, keys)
    return codes.astype(np.float64) / 65_535 * most


def pieces(page: Page, side: str = "query") -> list[str]:
    """Names of the tokens in the column of queries or of keys."""
    return page.locator(f".tokens.{side} .token").all_inner_texts()


def link_fields(page: Page) -> dict[str, str]:
    """The fields of the link in the address bar."""
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query).items()}
