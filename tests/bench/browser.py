"""Waiting times of a reader in a real browser on a production server: first paint, bytes, hover, head switch."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO

from playwright.sync_api import Browser, Page, sync_playwright

from store import open_corpus
from tests.bench.synthetic import temporary_store
from tests.bench.table import show
from tests.browser import CHROMIUM, DRAWN, FLAGS, canvas_place

ROUNDS = 5
#: Milliseconds before the reader's next request, so that all effects of the last change are over.
REST = 800

#: Time from a step's key to the frame that shows the new head, from inside the page.
SWITCH = """(key) => new Promise((resolve) => {
  const before = document.querySelector(".frame").dataset.drawn;
  const began = performance.now();
  const watch = () => {
    const now = document.querySelector(".frame")?.dataset.drawn;
    now && now !== before ? resolve(performance.now() - began) : requestAnimationFrame(watch);
  };
  document.querySelector(".frame").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  watch();
})"""

#: Time from the first of several arrow keys, `pause` apart, to the frame with title, numbers and picture of the last head.
STEPS = """([keys, name, pause]) => new Promise((resolve) => {
  const numbers = () => document.querySelector("#beside table").textContent;
  const before = numbers();
  const place = name.replace("L", "/").replace(" H", "/") + ".bin";
  const began = performance.now();
  const isThere = () => document.querySelector("h1").textContent.endsWith(name) && numbers() !== before && document.querySelector(".frame").dataset.drawn.includes(place);
  const watch = () => (isThere() ? resolve(performance.now() - began) : performance.now() - began > 20000 ? resolve(NaN) : requestAnimationFrame(watch));
  keys.forEach((key, i) => setTimeout(() => document.querySelector(".frame").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })), i * pause));
  watch();
})"""
#: Milliseconds between the keys of a reader who is in a hurry.
HURRY = 120

#: Time from a change of the link to the frame that shows the change, by this attribute of the canvas.
CHANGE = """([search, attribute]) => new Promise((resolve) => {
  const frame = document.querySelector(".frame");
  const before = frame.dataset[attribute] || "";
  const began = performance.now();
  const watch = () => {
    const now = frame.dataset[attribute] || "";
    now !== before ? resolve(performance.now() - began) : performance.now() - began > 20000 ? resolve(NaN) : requestAnimationFrame(watch);
  };
  history.pushState({}, "", search);
  window.dispatchEvent(new PopStateEvent("popstate"));
  watch();
})"""
#: Different searches, so that no answer comes from the browser's cache.
SEARCHES = [f"?q={word}" for word in ("movie", "film", "actor", "music", "plot")]
FILTERS = [f"?where=kind:word;position:{low}..20" for low in range(1, 6)]
COLOURS = [f"?colour={column}" for column in ("position", "norm", "kind", "frequency", "entropy")]
LASSOS = [f"pca-exact-2d,3,3,0,0,{low},{low},700,{low},700,700,{low},700" for low in (300, 320, 340, 360, 380)]

#: Time from the pointer's move to the text that it brings up.
HOVER = """([x, y, wanted]) => new Promise((resolve) => {
  const tip = document.querySelector(".tip");
  tip.replaceChildren();
  const frame = document.querySelector(".frame");
  const began = performance.now();
  const watch = () => (tip.textContent && tip.style.display === "block" ? resolve(performance.now() - began) : performance.now() - began > 3000 ? resolve(NaN) : setTimeout(watch, 1));
  frame.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
  watch();
})"""


@contextmanager
def production_server(store: str, log: IO[bytes] | None = None, *flags: str) -> Iterator[str]:
    """The address of `python -m dashboard` in a process of its own."""
    with server_process(store, log, *flags) as (_, address):
        yield address


@contextmanager
def server_process(
    store: str, log: IO[bytes] | None = None, *flags: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A process of `python -m dashboard`, which logs to a file or to our own log, and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "dashboard", "--store", store, "--port", str(port), *flags],
        stdout=subprocess.DEVNULL,
        stderr=log,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/_healthz")
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def _wait_for(url: str) -> None:
    for _ in range(1_200):
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(url)


def pages(shapes: list[tuple[int, int, int, int]]) -> None:
    """Print a reader's waiting times in stores of these (layers, heads, channels, tokens), one column each."""
    measured = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for shape in shapes:
            layers, heads, channels, tokens = shape
            store = temporary_store(layers=layers, heads=heads, channels=channels, tokens=tokens)
            with production_server(store) as address:
                tokens = open_corpus(store).n_tokens
                measured.append((f"{shape[0]}x{shape[1]}x{shape[2]}, {tokens:,} tokens", measure(browser, address)))
            shutil.rmtree(Path(store).parent)
    columns = ("", *(name for name, _ in measured))
    rows = [(name, *(figures[name] for _, figures in measured)) for name in measured[0][1]]
    show(
        f"In the browser, medians of {ROUNDS}, a rest before each (headless Chromium, software WebGL, 1440x900)",
        columns,
        rows,
    )


def measure(browser: Browser, address: str) -> dict[str, str]:
    """All figures of one store; the first round warms the server."""
    firsts, wires = zip(*(first_paint(browser, address) for _ in range(ROUNDS + 1)), strict=True)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{address}/heads")
    page.wait_for_selector(DRAWN)
    times = {"hover over a head": [hover(page, 0.1 + 0.15 * turn, 0.3) for turn in range(ROUNDS)]}
    times["search, highlighted in all heads"] = changes(page, SEARCHES, "masked")
    times["two filters, in all heads"] = changes(page, FILTERS, "masked")
    times["colour of all heads"] = changes(page, COLOURS, "coloured")
    page.goto(f"{address}/head?layer=3&head=3")
    page.wait_for_selector(DRAWN)
    times["next head"] = [page.evaluate(SWITCH, key) for key in ["ArrowRight", "ArrowDown"] * (ROUNDS // 2 + 1)]
    times |= steps(page, address)
    page.goto(f"{address}/head?layer=3&head=3")
    page.wait_for_selector(DRAWN)
    times["hover over a point, until its card"] = [hover(page, 0.4 + 0.05 * turn, 0.5) for turn in range(ROUNDS)]
    times["lasso, with table and summary"] = changes(
        page, [f"?layer=3&head=3&lasso={lasso}" for lasso in LASSOS], "masked"
    )
    page.close()
    figures = {
        "first paint of all heads, empty cache": f"{1000 * median(firsts[1:]):,.0f} ms",
        "on the wire until then": f"{median(wires[1:]) / 1e6:.2f} MB",
    }
    return figures | {name: f"{median(each):,.0f} ms" for name, each in times.items()}


def steps(page: Page, address: str) -> dict[str, list[float]]:
    """Milliseconds to title, numbers and picture of the next head, and of the fourth head from here; a rest before each step."""
    page.goto(f"{address}/head?layer=0&head=0")
    page.wait_for_selector(DRAWN)
    page.wait_for_selector("#beside table")
    alone = [_step(page, ["ArrowRight"], head) for head in range(1, ROUNDS + 2)]
    ways = [("ArrowLeft", ROUNDS - 3), ("ArrowRight", ROUNDS + 1)] * (ROUNDS // 2)
    quick = [_step(page, [key] * 4, head) for key, head in ways]
    return {"next head, its numbers too": alone[1:], "four heads on, its numbers too": quick}


def _step(page: Page, keys: list[str], head: int) -> float:
    page.wait_for_timeout(REST)
    return float(page.evaluate(STEPS, [keys, f"L0 H{head}", HURRY]))


def changes(page: Page, links: list[str], attribute: str) -> list[float]:
    """Milliseconds until each link is painted, with a rest before each; the first link warms the server."""
    return [_change(page, link, attribute) for link in links][1:]


def _change(page: Page, link: str, attribute: str) -> float:
    page.wait_for_timeout(REST)
    return float(page.evaluate(CHANGE, [link, attribute]))


def first_paint(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds from navigation to painted points with an empty cache, and bytes received."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    received: list[float] = []
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    page.goto(f"{address}/heads")
    page.wait_for_selector(DRAWN)
    page.wait_for_timeout(200)
    painted = page.evaluate("performance.getEntriesByName('headscape-drawn')[0].startTime")
    context.close()
    return painted / 1000, sum(received)


def hover(page: Page, x: float, y: float) -> float:
    """Milliseconds from a move of the pointer to the text that it brings up."""
    px, py = canvas_place(page, x, y)
    return float(page.evaluate(HOVER, [px, py, ""]))
