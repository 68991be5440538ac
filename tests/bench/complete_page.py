"""Waiting for a page until all that it shows has come and is drawn."""

from playwright.sync_api import Page

#: Milliseconds without a request to the server after which a page counts as complete, and seconds until it must be complete.
QUIET, PATIENCE = 1_000, 60
#: Visible charts that are not drawn yet, and parts still being computed; on a busy machine both begin long after their data have come.
UNDRAWN = ".undrawn, .dash-graph--pending, .chart:not(:has(.main-svg)):visible, .waiting[aria-busy]"

#: Selector of an element that a page of the dashboard has once it shows its link.
THERE = "#page:not([aria-busy]) #above > *"


def wait_until_complete(page: Page, quiet: int = QUIET, there: str = THERE) -> None:
    """Wait for the page of the link, for its later requests to the server, and for its charts."""
    page.wait_for_selector(there, timeout=1000 * PATIENCE)
    page.wait_for_load_state("networkidle", timeout=1000 * PATIENCE)
    page.wait_for_selector(UNDRAWN, state="detached", timeout=1000 * PATIENCE)
    page.wait_for_timeout(quiet)


def opened(page: Page, url: str, there: str = THERE) -> list[str]:
    """Open a link and wait until it is complete. Returns the errors on its console; later errors are added to the list."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url)
    wait_until_complete(page, there=there)
    return errors
