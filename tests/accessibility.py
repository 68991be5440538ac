"""What shuts readers out of a page, by axe."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

#: The rules that colours decide: what breaks another is the same in light and in dark.
OF_COLOURS = ("color-contrast", "link-in-text-block")
#: What Plotly draws within a chart: thousands of marks, the same kinds in every chart.
MARKS = ".js-plotly-plot .main-svg"


def is_accessible(page: Page, *, marks: bool = False) -> None:
    """In the scheme that it has and in the other one; of one page, with what is drawn within its charts."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(300)
    assert serious(page, marks=marks) == []
    switch_scheme(page)
    assert serious(page, OF_COLOURS, marks=marks) == []


def switch_scheme(page: Page) -> None:
    """From light to dark, or back; once colours have faded."""
    page.get_by_role("button", name="Switch between light and dark").click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(400)


def serious(page: Page, rules: tuple[str, ...] = (), *, marks: bool = False) -> list[tuple[str, list[str]]]:
    """What axe calls serious or critical, by all its rules or by these alone: rule, elements. Without `marks` not within charts."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    only = {"runOnly": rules} if rules else {}
    where = {"exclude": [] if marks else [[MARKS]]}
    found = page.evaluate(
        "([where, options]) => axe.run(where, options)", [where, {"resultTypes": ["violations"]} | only]
    )
    return [
        (violation["id"], [node["html"] for node in violation["nodes"]])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
