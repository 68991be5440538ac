"""What shuts readers out of a page, by axe."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

#: All that another scheme of colours can change.
OF_COLOURS = ["color-contrast", "link-in-text-block"]


def serious(page: Page, scheme: str = "light") -> list[tuple[str, list[str]]]:
    """What axe calls serious or critical: rule, elements. In the dark, rules of colours alone."""
    rules = {"runOnly": OF_COLOURS} if scheme == "dark" else {}
    violations = Axe().run(page, options={"resultTypes": ["violations"]} | rules).response["violations"]
    return [
        (found["id"], [node["html"] for node in found["nodes"]])
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]
