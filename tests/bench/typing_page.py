"""Milliseconds from Enter in the box of page Sentence until the typed sentence's picture is painted, in a browser."""

from collections.abc import Iterator

from playwright.sync_api import Page, sync_playwright

from tests.browser import CHROMIUM, FLAGS

#: Milliseconds before a reader types again.
REST = 800

#: Measures from the next press of Enter to the frame after the one in which other weights are drawn.
WATCH = """() => {
  const views = document.querySelector("#sentence");
  const before = views.dataset.drawn;
  window.took = null;
  const after = (began) => requestAnimationFrame(() => (window.took = performance.now() - began));
  const watch = (began) => (views.dataset.drawn && views.dataset.drawn !== before ? after(began) : requestAnimationFrame(() => watch(began)));
  document.addEventListener("keydown", () => watch(performance.now()), { capture: true, once: true });
}"""


def entered(address: str, texts: Iterator[str], rounds: int) -> list[float | None]:
    """Milliseconds of `rounds` sentences, each typed into the page of the sentence before."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/sentence")
        page.wait_for_selector('#sentence[data-drawn^="/data/"]')
        return [_enter(page, next(texts)) for _ in range(rounds)]


def _enter(page: Page, text: str) -> float | None:
    page.wait_for_timeout(REST)
    page.get_by_role("textbox", name="Sentence A", exact=True).fill(text)
    page.evaluate(WATCH)
    page.keyboard.press("Enter")
    for _ in range(200):
        if took := page.evaluate("window.took"):
            return float(took)
        page.wait_for_timeout(50)
    return None
