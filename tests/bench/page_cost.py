"""Cost of a page for its reader: bytes and seconds until the page can be used."""

import re
import time
from collections.abc import Mapping
from typing import NamedTuple

from playwright.sync_api import Browser, Error, Page, Route, sync_playwright

from tests.browser import CHROMIUM, FLAGS

#: Seconds after which a reader has gone.
PATIENCE = 180

#: Seconds after which a loaded page that draws every frame in time counts as complete.
STILL = 30

#: One rule for every page: its content is there, two frames have followed, and the main thread is idle.
#: The clock is the page's own and starts at the navigation. The condition is asked once a frame.
USABLE = """(() => {
  const ready = () => { try { return READY; } catch { return false; } };
  const frame = () => new Promise(requestAnimationFrame);
  const watch = async () => {
    let moved = 0;
    for (let last = 0, now = 0; !ready(); last = now) {
      await frame();
      now = performance.now();
      if (document.readyState !== "complete" || now - last > 1000) moved = now;
      if (now - moved > STILL * 1000) return window.tell(["at rest for STILL s and not there", ...errors].join("; "));
    }
    await frame();
    await frame();
    await new Promise(requestIdleCallback);
    window.tell(performance.now());
  };
  const errors = [];
  window.addEventListener("error", (event) => errors.push(event.message));
  watch();
})()""".replace("STILL", str(STILL))


class Cost(NamedTuple):
    """Bytes that the browser received, and seconds that the reader waited."""

    bytes: int
    seconds: float


class NotUsable(Exception):
    """A page that nobody can use. Names the limit that was hit, and the bytes that had come by then."""

    def __init__(self, limit: str, received: int = 0) -> None:
        super().__init__(limit)
        self.bytes = received


def measure(page_url: str, ready: str, cdn: Mapping[str, bytes] | None = None) -> Cost:
    """Open a page in a browser of its own until `ready`, a JavaScript expression, is true and the page is at rest.

    What the page asks of other hosts over https is answered from `cdn`, by address.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            return _measure(browser, page_url, ready, cdn or {})
        finally:
            browser.close()


def _measure(browser: Browser, page_url: str, ready: str, cdn: Mapping[str, bytes]) -> Cost:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(USABLE.replace("READY", ready))
    page.route(re.compile("^https:"), lambda route: _answer(route, cdn))
    received = _received(page)
    messages: list[float | str] = []
    page.expose_function("tell", lambda word: messages.append(word))
    try:
        page.goto(page_url, wait_until="commit", timeout=PATIENCE * 1000)
        _wait(page, messages)
    except Error as error:
        messages.append(error.message.splitlines()[0])
    if messages and not isinstance(messages[0], str):
        return Cost(round(sum(received)), messages[0] / 1000)
    raise NotUsable(str(messages[0]) if messages else f"not there after {PATIENCE} s", round(sum(received)))


def _wait(page: Page, messages: list[float | str]) -> None:
    """Wait until the page sends a message, or PATIENCE is over. The page is not asked: a busy page would not answer."""
    end = time.monotonic() + PATIENCE
    while not messages and time.monotonic() < end:
        page.wait_for_timeout(100)


def _received(page: Page) -> list[float]:
    """A list that fills with the bytes on the wire of each answer, also of a content delivery network."""
    received: list[float] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    return received


def _answer(route: Route, cdn: Mapping[str, bytes]) -> None:
    route.fulfill(body=cdn[route.request.url], content_type="text/javascript")
