"""Every page in Firefox: whether it is complete, how its picture is drawn, and its errors."""

import time
from typing import Any

from tests.bench.browser import production_server
from tests.bench.marionette import Firefox, running
from tests.bench.screenshots import PAGES
from tests.bench.table import show

#: Seconds until a page is complete.
PATIENCE = 90
#: Whether the page of the link is there, and its picture.
COMPLETE = """
const page = document.querySelector("#page:not([aria-busy])");
const frames = [...document.querySelectorAll("#points .frame")].filter((frame) => frame.offsetParent);
return Boolean(page?.querySelector("#above > *")) && frames.every((frame) => frame.dataset.drawn?.startsWith("/data/"))
  && !document.querySelector(".dash-graph--pending");
"""
#: Points by WebGL, the still picture of the server, or a page without points.
PICTURE = """
const seen = (selector) => [...document.querySelectorAll(selector)].some((element) => element.offsetParent);
if (seen(".frame img")) return "still picture";
return seen(".points .frame canvas") ? "WebGL points" : "";
"""
#: Errors of pages, and errors that pages wrote to the console, since the last call.
ERRORS = """
const isOurs = (file) => file?.startsWith("http://127.0.0.1"); // Firefox complains of its own requests, too
const written = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage);
const said = written.getEvents().filter(({ level, filename }) => level === "error" && isOurs(filename));
const raised = Services.console.getMessageArray().filter((message) =>
  message instanceof Ci.nsIScriptError && !(message.flags & Ci.nsIScriptError.warningFlag) && isOurs(message.sourceName));
written.clearEvents();
Services.console.reset();
return [...said.map((event) => String(event.arguments[0])), ...raised.map((message) => message.errorMessage)];
"""


def firefox(store: str, address: str | None = None) -> int:
    """Open every page of a store, or of a running server; returns 1 where a page has an error or is not complete in time."""
    if address is None:
        with production_server(store) as served:
            return firefox(store, served)
    with running() as browser:
        visits = [(name, *visit(browser, f"{address}/{path}")) for name, path in PAGES.items()]
        version = browser.evaluate("return Services.appinfo.version;", of_browser=True)
    rows = [(name, picture, f"{seconds:.1f} s", "; ".join(errors)) for name, picture, seconds, errors in visits]
    show(f"Pages in Firefox {version}, headless, software WebGL", ("page", "picture", "complete after", "errors"), rows)
    return int(any(errors for *_, errors in visits))


def visit(browser: Firefox, url: str) -> tuple[str, float, list[Any]]:
    """How the picture of a page is drawn, seconds until the page is complete, and its errors."""
    began = time.perf_counter()
    browser.go(url)
    while not (complete := browser.evaluate(COMPLETE)) and time.perf_counter() - began < PATIENCE:
        time.sleep(0.1)
    seconds = time.perf_counter() - began
    errors = browser.evaluate(ERRORS, of_browser=True)
    return browser.evaluate(PICTURE), seconds, errors if complete else [*errors, "not complete"]
