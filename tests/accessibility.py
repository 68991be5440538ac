"""What shuts readers out of a page, by axe."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

#: The rules that colours decide: what breaks another is the same in light and in dark.
OF_COLOURS = ("color-contrast", "link-in-text-block")
#: What breaks it is moderate, never serious: to look for it takes a fifth of the time.
MODERATE = {"region": {"enabled": False}}
#: What Plotly draws within a chart: thousands of marks, the same kinds in every chart.
MARKS = ".js-plotly-plot .main-svg"


def is_accessible(page: Page, *, marks: bool = False, within: str = "") -> None:
    """In the scheme that it has and in the other one; of one page, with what is drawn within its charts."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(300)
    assert serious(page, marks=marks, within=within) == []
    switch_scheme(page)
    assert serious(page, OF_COLOURS, marks=marks, within=within) == []


def switch_scheme(page: Page) -> None:
    """From light to dark, or back; once colours have faded."""
    page.get_by_role("button", name="Switch between light and dark").click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(400)


#: Marks each element that is as three of its siblings before it: it and all within have the same attributes, and text where
#: those have text. What axe says of one of them it says of all. An odd and an even row are among the first three.
ALIKE = """() => {
  const kinds = new Map();
  const kindOf = (element) => {
    const saysOf = (name) => (/^(class|style|role|aria-(?!label))/.test(name) ? `${name}=${element.getAttribute(name)}` : name);
    const own = element.getAttributeNames().filter((name) => name !== "data-alike").map(saysOf).join(" ");
    const kind = `${element.tagName} ${own} ${Boolean(element.textContent)}(${[...element.children].map(kindOf).join()})`;
    kinds.set(element, kind);
    return kind;
  };
  const note = (parent) => {
    const counts = new Map();
    for (const child of parent.children) {
      const count = 1 + (counts.get(kinds.get(child)) ?? 0);
      counts.set(kinds.get(child), count);
      child.toggleAttribute("data-alike", count > 3);
      if (count <= 3) note(child);
    }
  };
  kindOf(document.body);
  note(document.body);
}"""


def serious(
    page: Page, rules: tuple[str, ...] = (), *, marks: bool = False, within: str = ""
) -> list[tuple[str, list[str]]]:
    """What axe calls serious or critical, by all its rules or by these alone: rule, elements. Without `marks` not within charts."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    page.evaluate(ALIKE)
    only = {"runOnly": rules} if rules else {"rules": MODERATE}
    where = {"exclude": [["[data-alike]"], *([] if marks else [[MARKS]])]} | ({"include": [[within]]} if within else {})
    found = page.evaluate(
        "([where, options]) => axe.run(where, options)", [where, {"resultTypes": ["violations"]} | only]
    )
    return [
        (violation["id"], [node["html"] for node in violation["nodes"]])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
