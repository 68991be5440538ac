"""What moves on a page while it loads and while a reader uses it: elements above the fold whose box is no longer the one it was."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

from tests.browser import until

#: Pixels by which a box may differ: browsers round.
NEAR = 0.4
#: Frames in which the page is looked at after a hover: a picture that moves away from the pointer comes back in the next one.
FRAMES = 6
#: Frames without a movement after which a page stands, and how often that is tried.
CALM, PATIENCE = 12, 40
#: Notes the box and the text of every element that is to be seen. What lies over the page lets the pointer through.
NOTE = """() => {
  const isSeen = ({ width, height, bottom, top }) => width && height && bottom > 0 && top < innerHeight;
  const elements = [...document.querySelectorAll("#react-entry-point *:not(svg *)")].map(
    (element) => [element, element.getBoundingClientRect()]);
  const seen = elements.filter(([element, box]) => isSeen(box) && getComputedStyle(element).pointerEvents !== "none");
  window.stood = seen.map(([element, box]) => [element, box, element.textContent]);
}"""
#: The elements that moved. Where the text is another one its box may be wider or higher, towards the side on which nothing stands;
#: what stands in a line of text follows it.
MOVED = """([near, frames]) => {
  const far = (a, b) => Math.abs(a - b) > near;
  const nameOf = ({ tagName, id, className }) => `${tagName.toLowerCase()} ${id} ${className.baseVal ?? className}`;
  const texts = new Map(window.stood.map(([element, , text]) => [element, text]));
  const isOther = (element) => element.textContent !== texts.get(element);
  const isInLine = (element) => getComputedStyle(element).display.startsWith("inline") && isOther(element.parentElement);
  const hasMoved = ([element, before]) => {
    const box = element.getBoundingClientRect();
    if (!element.isConnected || !box.width) return false;
    if (far(box.top, before.top)) return true;
    const sides = [far(box.left, before.left), far(box.right, before.right)];
    if (isInLine(element)) return false;
    return isOther(element) ? sides.every(Boolean) : sides.some(Boolean) || far(box.bottom, before.bottom);
  };
  return new Promise((resolve) => {
    const found = new Set();
    const look = (left) => {
      for (const stood of window.stood) if (hasMoved(stood)) found.add(nameOf(stood[0]));
      if (left) requestAnimationFrame(() => look(left - 1));
      else resolve([...found]);
    };
    look(frames);
  });
}"""
#: What the browser saw move since the page was opened: element, and its box before and after. New elements are none of it.
SHIFTED = """() => new Promise((resolve) => {
  const nameOf = ({ tagName, id, className }) => `${tagName.toLowerCase()} ${id} ${className.baseVal ?? className}`;
  const boxOf = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
  const elementOf = (node) => (node?.nodeType === Node.TEXT_NODE ? node.parentElement : node);
  const textOf = ({ node, previousRect, currentRect }) =>
    `${node ? nameOf(elementOf(node)) : "gone"}: ${boxOf(previousRect)} to ${boxOf(currentRect)}`;
  const found = [];
  const add = (entries) => found.push(...entries.flatMap(({ sources }) => sources.map(textOf)));
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => (add(observer.takeRecords()), observer.disconnect(), resolve(found)), 50);
})"""
#: The page of the link is there, and nothing that it shows is still to come.
SETTLED = """!document.querySelector("#page[aria-busy], .waiting, .job .cancel, .frame[aria-busy], .sentence-views[aria-busy]")
  && document.querySelector("#page")?.dataset.link === location.pathname + location.search"""


def settled(page: Page) -> None:
    """Wait until the page is as its link says, and stands."""
    until(page, SETTLED)
    for _ in range(PATIENCE):
        page.evaluate(NOTE)
        if not page.evaluate(MOVED, [NEAR, CALM]):
            return
    raise AssertionError("The page never stands.")


@contextmanager
def standing(page: Page, what: str) -> Iterator[None]:
    """What is done within moves no element above the fold; `what` says it where one moves."""
    page.evaluate(NOTE)
    yield
    moved = page.evaluate(MOVED, [NEAR, FRAMES])
    if page.locator("#page").count():
        until(page, SETTLED)
        moved += page.evaluate(MOVED, [NEAR, FRAMES])
    assert not moved, f"{what} moves {len(moved)} elements: {', '.join(moved[:8])}"


def shifted(page: Page) -> list[str]:
    """What moved since the page was opened, until now."""
    moved: list[str] = page.evaluate(SHIFTED)
    return moved
