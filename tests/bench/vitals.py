"""Measurements of a reader's browser on each page, with an empty cache: paints, layout shifts, long tasks, bytes.

Each page has a newly started server: the first visit finds an empty server cache, later visits find the page in it.
"""

from statistics import median
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.bench.browser import production_server
from tests.bench.complete_page import wait_until_complete
from tests.bench.table import show
from tests.browser import CHROMIUM, FLAGS

ROUNDS = 3
PAGES = (
    "",
    "lessons",
    "heads",
    "head?layer=0&head=0",
    "statistics",
    "map",
    "relations",
    "features",
    "sentence",
    "compare",
    "models",
    "notes",
    "store",
    "server",
)
#: Notes the browser's performance entries while the page loads.
OBSERVE = """
window.vitals = { largest: 0, shift: 0, task: 0, blocked: 0 };
const observe = (type, note) =>
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
observe("largest-contentful-paint", (entry) => (vitals.largest = entry.startTime));
observe("layout-shift", (entry) => (vitals.shift += entry.hadRecentInput ? 0 : entry.value));
observe("longtask", ({ duration }) => {
  vitals.task = Math.max(vitals.task, duration);
  vitals.blocked += duration - 50;
});
"""
READ = """() => ({
  ...vitals,
  first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
})"""


def vitals(store: str) -> None:
    """Print one row for each page: its first visit, then medians of `ROUNDS` visits."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        rows = [_row(browser, store, page) for page in PAGES]
    columns = (
        "",
        "first visit: largest paint",
        "first paint",
        "largest paint",
        "layout shift",
        "longest task",
        "blocked",
        "CPU time",
        "on the wire",
    )
    show(f"Pages, medians of {ROUNDS}, empty cache (headless Chromium, software WebGL, 1440x900)", columns, rows)


def _row(browser: Browser, store: str, page: str) -> tuple[str, ...]:
    with production_server(store, None, "--workers=1") as address:
        cold, *visits = (_visit(browser, f"{address}/{page}") for _ in range(ROUNDS + 1))
    middle = {name: median(visit[name] for visit in visits) for name in visits[0]}
    times = (f"{middle[name]:,.0f} ms" for name in ("first", "largest"))
    shift = max(visit["shift"] for visit in (cold, *visits))
    tasks = (f"{middle[name]:,.0f} ms" for name in ("task", "blocked", "work"))
    return f"/{page}", f"{cold['largest']:,.0f} ms", *times, f"{shift:.3f}", *tasks, f"{middle['bytes'] / 1e6:.2f} MB"


def _visit(browser: Browser, url: str) -> dict[str, Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script(OBSERVE)
    received: list[float] = []
    session = context.new_cdp_session(page)
    for domain in ("Network", "Performance"):
        session.send(f"{domain}.enable")
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    page.goto(url)
    wait_until_complete(page)
    measured: dict[str, Any] = page.evaluate(READ)
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    return measured | {"bytes": sum(received), "work": 1000 * metrics["TaskDuration"]}
