"""What shuts readers out of a page, by axe."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def serious(page: Page) -> list[tuple[str, list[str]]]:
    """What axe calls serious or critical: rule, elements."""
    violations = Axe().run(page).response["violations"]
    return [
        (found["id"], [node["html"] for node in found["nodes"]])
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]
