"""What shuts readers out of a page, by axe."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

#: The rules that colours decide: what breaks another is the same in light and in dark.
OF_COLOURS = ("color-contrast", "link-in-text-block")


def is_accessible(page: Page) -> None:
    """In the scheme that it has and in the other one."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(300)
    assert serious(page) == []
    switch_scheme(page)
    assert serious(page, OF_COLOURS) == []


def switch_scheme(page: Page) -> None:
    """From light to dark, or back; once colours have faded."""
    page.get_by_role("button", name="Switch between light and dark").click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(400)


def serious(page: Page, rules: tuple[str, ...] = ()) -> list[tuple[str, list[str]]]:
    """What axe calls serious or critical, by all its rules or by these alone: rule, elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    only = {"runOnly": rules} if rules else {}
    found = page.evaluate("options => axe.run(options)", {"resultTypes": ["violations"]} | only)
    return [
        (violation["id"], [node["html"] for node in violation["nodes"]])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
