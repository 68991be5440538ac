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
    """By every rule in light, by those of colours in dark; of one page, with what is drawn within its charts."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(300)
    assert serious(page, _rules(page), marks=marks, within=within) == []
    switch_scheme(page)
    assert serious(page, _rules(page), marks=marks, within=within) == []


def _rules(page: Page) -> tuple[str, ...]:
    return OF_COLOURS if page.evaluate("document.documentElement.dataset.mantineColorScheme === 'dark'") else ()


def switch_scheme(page: Page) -> None:
    """From light to dark, or back; once colours have faded."""
    page.get_by_role("button", name="Switch between light and dark").click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(400)


#: Kinds of elements in which axe found nothing serious, by its rules and whether it looked at marks: other pages have them too.
KNOWN: dict[tuple[tuple[str, ...], bool], set[str]] = {}
#: Marks each element that is `known`, or as three before it on this page; returns the kinds of all. What is within `left` is left
#: out. Elements of one kind have the same attributes, scroll alike, stand on the same background within ancestors with the same
#: attributes, and so does all within them, with text where the others have text. What axe says of one of them it says of all.
#: An odd and an even row are among the first three.
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
    """What axe calls serious or critical, by all its rules or by these alone: rule, elements. Without `marks` not within charts."""
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
