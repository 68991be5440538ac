"""A page once everything that it shows has come and is drawn."""

from playwright.sync_api import Page

#: Milliseconds in which nothing is asked of the server before a page counts as complete, and seconds until it must be.
QUIET, PATIENCE = 1_000, 60
#: Charts that are to be seen and are not drawn; on a busy machine they begin long after all that they need has come.
UNDRAWN = ".undrawn, .dash-graph--pending, .chart:not(:has(.main-svg)):visible"


def wait_until_complete(page: Page, quiet: int = QUIET) -> None:
    """Wait for the page of the link, for what it asks of the server after that, and for its charts."""
    page.wait_for_selector("#page:not([aria-busy]) #above > *", timeout=1000 * PATIENCE)
    page.wait_for_load_state("networkidle", timeout=1000 * PATIENCE)
    page.wait_for_selector(UNDRAWN, state="detached", timeout=1000 * PATIENCE)
    page.wait_for_timeout(quiet)
