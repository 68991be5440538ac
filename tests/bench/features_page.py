"""Waiting times of a reader of page Features, on a store with a sample of 20,000 tokens: `python -m tests.bench features`."""

from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from store import open_corpus
from tests.bench.browser import REST, ROUNDS, changes, first_paint, hover, production_server
from tests.bench.table import show
from tests.browser import CHROMIUM, DRAWN, FLAGS

#: Time from a step's key until the points are at the next feature point, the glide included.
STEP = """(key) => new Promise((resolve) => {
  const frame = document.querySelector(".frame");
  const before = frame.dataset.at;
  const began = performance.now();
  const watch = () => (frame.dataset.at !== before ? resolve(performance.now() - began) : performance.now() - began > 20000 ? resolve(NaN) : requestAnimationFrame(watch));
  frame.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  watch();
})"""
SEARCHES = [f"?q={word}" for word in ("movie", "film", "actor", "music", "plot", "good")]
COLOURS = [f"?fcolour={column}" for column in ("position", "wordpiece", "label", "sentence", "kind", "position")]
#: Milliseconds until the link of a step is written and its page drawn.
SETTLED = 1_500


def features_page(store: str) -> None:
    """Print the table of one store."""
    features = open_corpus(store).features("sample")
    with sync_playwright() as playwright, production_server(store) as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        rows = [*_grid(browser, f"{address}/features"), *_large(browser, f"{address}/features", features.views[0])]
    title = f"Page Features, medians of {ROUNDS} (headless Chromium, software WebGL, 1440x900)"
    show(title, ("", f"{features.n_tokens:,} tokens at {len(features.points)} points"), rows)


def _grid(browser: Browser, address: str) -> list[tuple[str, str]]:
    firsts, wires = zip(*(first_paint(browser, address) for _ in range(ROUNDS + 1)), strict=True)
    page = _open(browser, address)
    times = {
        "hover over a panel": [hover(page, 0.2 + 0.15 * turn, 0.3) for turn in range(ROUNDS)],
        "search, highlighted in all panels": changes(page, SEARCHES, "masked"),
        "colour of all panels": changes(page, COLOURS, "coloured"),
    }
    page.close()
    return [
        ("first paint of all points, empty cache", _milliseconds([1000 * first for first in firsts[1:]])),
        ("on the wire until then", f"{median(wires[1:]) / 1e6:.2f} MB"),
        *((name, _milliseconds(each)) for name, each in times.items()),
    ]


def _large(browser: Browser, address: str, view: str) -> list[tuple[str, str]]:
    point = "?point=L02.mixed"
    page = _open(browser, address + point)
    lassos = [
        f"{point}&flasso=points,{view},L02.mixed,0,0,{low},{low},700,{low},700,700" for low in range(300, 420, 20)
    ]
    tokens = [link for token in (5, 50, 500, 1000, 5000, 77) for link in (f"{point}&ftoken={token}", point)]
    times = {
        "next point, 280 ms of glide included": [_step(page, turn) for turn in range(ROUNDS)],
        "hover over a token, until its card": [hover(page, 0.4 + 0.05 * turn, 0.5) for turn in range(ROUNDS)],
        "lasso": changes(page, lassos, "masked"),
        "token, until its nearest are drawn": changes(page, tokens[:-1], "overlay")[1::2],
    }
    page.close()
    return [(name, _milliseconds(each)) for name, each in times.items()]


def _step(page: Page, turn: int) -> float:
    page.wait_for_timeout(SETTLED)
    return float(page.evaluate(STEP, "ArrowLeft" if turn % 2 else "ArrowRight"))


def _open(browser: Browser, address: str) -> Page:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.wait_for_selector(DRAWN)
    page.wait_for_timeout(2 * REST)
    return page


def _milliseconds(times: list[float]) -> str:
    return f"{median(times):,.0f} ms"
