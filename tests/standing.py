"""Elements above the fold that move on a page while it loads and while a reader uses it: those whose box changes."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

from tests.browser import until

#: Pixels by which a box may differ, as browsers round.
NEAR = 0.4
#: Frames in which boxes are compared after a hover: a picture that moves away from the pointer is back in the next frame.
FRAMES = 6
#: Frames without a movement after which a page stands still, and how often a test waits for that many.
CALM, PATIENCE = 12, 40
#: Notes the box and the text of every visible element. Overlays let the pointer through.
NOTE = """() => {
  const isSeen = ({ width, height, bottom, top }) => width && height && bottom > 0 && top < innerHeight;
  const elements = [...document.querySelectorAll("#react-entry-point *:not(svg *)")].map(
    (element) => [element, element.getBoundingClientRect()]);
  const seen = elements.filter(([element, box]) => isSeen(box) && getComputedStyle(element).pointerEvents !== "none");
  window.stood = seen.map(([element, box]) => [element, box, element.textContent]);
}"""
#: The elements that moved. Where the text changes its box may grow, towards the side without neighbours;
#: elements within a line of text follow it.
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
#: Layout shifts that the browser noted since the page was opened: element, box before and after. New elements do not count.
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
#: The page of the link is there, and all that it shows has come.
SETTLED = """!document.querySelector("#page[aria-busy], .waiting, .job .cancel, .frame[aria-busy], .sentence-views[aria-busy]")
  && document.querySelector("#page")?.dataset.link === location.pathname + location.search"""


def settled(page: Page) -> None:
    """Wait until the page of the link is complete, and nothing on it moves."""
    until(page, SETTLED)
    for _ in range(PATIENCE):
        page.evaluate(NOTE)
        if not page.evaluate(MOVED, [NEAR, CALM]):
            return
    raise AssertionError("The page never stands.")


@contextmanager
def standing(page: Page, what: str) -> Iterator[None]:
    """Assert that the actions within the context move no element above the fold; `what` names the actions in the error."""
    page.evaluate(NOTE)
    yield
    moved = page.evaluate(MOVED, [NEAR, FRAMES])
    if page.locator("#page").count():
        until(page, SETTLED)
        moved += page.evaluate(MOVED, [NEAR, FRAMES])
    assert not moved, f"{what} moves {len(moved)} elements: {', '.join(moved[:8])}"


def shifted(page: Page) -> list[str]:
    """The elements that have moved since the page was opened."""
    moved: list[str] = page.evaluate(SHIFTED)
    return moved
