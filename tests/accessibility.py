"""Accessibility of a page: the barriers to readers that axe finds."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

#: Axe's rules on colours. A page breaks every other rule in the light and the dark scheme alike.
OF_COLOURS = ("color-contrast", "link-in-text-block")
#: A rule that is left out: its violations are moderate, never serious, and looking for them takes a fifth of the time.
MODERATE = {"region": {"enabled": False}}
#: The marks that Plotly draws in a chart: thousands, of the same kinds in every chart.
MARKS = ".js-plotly-plot .main-svg"


def is_accessible(page: Page, *, marks: bool = False, within: str = "") -> None:
    """Assert that axe finds nothing serious: by all rules in light, by the colour rules in dark. `marks` includes marks of charts."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(300)
    assert serious(page, _rules(page), marks=marks, within=within) == []
    switch_scheme(page)
    assert serious(page, _rules(page), marks=marks, within=within) == []


def _rules(page: Page) -> tuple[str, ...]:
    return OF_COLOURS if page.evaluate("document.documentElement.dataset.mantineColorScheme === 'dark'") else ()


def switch_scheme(page: Page) -> None:
    """Switch between the light and the dark scheme, and wait until the colours have faded."""
    page.get_by_role("button", name="Switch between light and dark").click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(400)


#: Kinds of elements in which axe found nothing serious, by (rules, marks looked at): other pages have the same kinds.
KNOWN: dict[tuple[tuple[str, ...], bool], set[str]] = {}
#: Marks each element whose kind is `known` or that three elements before it on this page have; returns the kinds of all elements.
#: Descendants of `left` are left out. Elements of one kind have the same attributes, scroll alike, stand on the same background
#: within ancestors with the same attributes, and so do their descendants, with text where the others have text. Axe says the
#: same of all elements of a kind. An odd and an even row are among the first three.
ALIKE = """([known, left]) => {
  const brief = (text) => {
    let [one, other] = [1, 2];
    for (let at = 0; at < text.length; at++) {
      one = Math.imul(one ^ text.charCodeAt(at), 2654435761);
      other = Math.imul(other ^ text.charCodeAt(at), 1597334677);
      one ^= one >>> 15;
      other ^= other >>> 13;
    }
    return `${one} ${other}`;
  };
  const [owns, kinds, counts, seen] = [new Map(), new Map(), new Map(), new Set(known)];
  const kindOf = (element) => {
    const saysOf = (name) => (/^(class|style|role|aria-(?!label))/.test(name) ? `${name}=${element.getAttribute(name)}` : name);
    const names = element.getAttributeNames().filter((name) => name !== "data-alike").map(saysOf).join(" ");
    const scrolls = [element.scrollWidth > element.clientWidth, element.scrollHeight > element.clientHeight];
    owns.set(element, `${element.tagName} ${names} ${scrolls} ${element.checkVisibility()}`);
    const within = left && element.matches(left) ? "" : [...element.children].map(kindOf).join();
    const kind = brief(`${owns.get(element)} ${Boolean(element.textContent)}(${within})`);
    kinds.set(element, kind);
    return kind;
  };
  const note = (parent, above) => {
    const where = brief(`${above} ${owns.get(parent)}`);
    if (left && parent.matches(left)) return;
    for (const child of parent.children) {
      const kind = `${where} ${kinds.get(child)}`;
      counts.set(kind, 1 + (counts.get(kind) ?? 0));
      const isAlike = seen.has(kind) || counts.get(kind) > 3;
      child.toggleAttribute("data-alike", isAlike);
      if (!isAlike) note(child, where);
    }
  };
  kindOf(document.body);
  note(document.body, getComputedStyle(document.body).backgroundColor);
  return [...counts.keys()];
}"""


def serious(
    page: Page, rules: tuple[str, ...] = (), *, marks: bool = False, within: str = ""
) -> list[tuple[str, list[str]]]:
    """Violations that axe calls serious or critical (rule, elements), by all rules or `rules`; in charts too with `marks`."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    known = set() if within else KNOWN.setdefault((rules, marks), set())
    kinds = set(page.evaluate(ALIKE, [list(known), "" if marks else MARKS]))
    if rules and kinds <= known:
        return []
    only = {"runOnly": rules} if rules else {"rules": MODERATE}
    where = {"exclude": [["[data-alike]"], *([] if marks else [[MARKS]])]} | ({"include": [[within]]} if within else {})
    found = page.evaluate(
        "([where, options]) => axe.run(where, options)", [where, {"resultTypes": ["violations"]} | only]
    )
    broken = [
        (violation["id"], [node["html"] for node in violation["nodes"]])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    if not broken:
        known.update(kinds)
    return broken
