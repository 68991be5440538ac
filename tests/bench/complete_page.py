"""A page once everything that it shows has come and is drawn."""

from playwright.sync_api import Page

#: Milliseconds in which nothing is asked of the server before a page counts as complete, and seconds until it must be.
QUIET, PATIENCE = 1_000, 60
#: Charts that are to be seen and are not drawn, and parts that are computed; on a busy machine they begin long after all that they need has come.
UNDRAWN = ".undrawn, .dash-graph--pending, .chart:not(:has(.main-svg)):visible, .waiting[aria-busy]"

#: What a page of the dashboard has once it is that of its link.
THERE = "#page:not([aria-busy]) #above > *"


def wait_until_complete(page: Page, quiet: int = QUIET, there: str = THERE) -> None:
    """Wait for the page of the link, for what it asks of the server after that, and for its charts."""
    page.wait_for_selector(there, timeout=1000 * PATIENCE)
    page.wait_for_load_state("networkidle", timeout=1000 * PATIENCE)
    page.wait_for_selector(UNDRAWN, state="detached", timeout=1000 * PATIENCE)
    page.wait_for_timeout(quiet)


def opened(page: Page, url: str, there: str = THERE) -> list[str]:
    """Show a link until it is complete; the errors of its console, to which later ones are added."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url)
    wait_until_complete(page, there=there)
    return errors
