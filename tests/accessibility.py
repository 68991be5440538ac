"""What shuts readers out of a page, by axe."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def serious(page: Page, *rules: str) -> list[tuple[str, list[str]]]:
    """What axe calls serious or critical, by these of its rules or by all: rule, elements."""
    only = {"runOnly": {"type": "rule", "values": rules}} if rules else {}
    violations = Axe().run(page, options={"resultTypes": ["violations"], **only}).response["violations"]
    return [
        (found["id"], [node["html"] for node in found["nodes"]])
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]
