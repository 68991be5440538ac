"""Milliseconds from an input of a reader until the page has changed for the last time, in a browser."""

from playwright.sync_api import Page

#: Milliseconds without a change or an open request after which a page is settled, and after which a reader gives up.
QUIET, PATIENCE = 800, 20_000
#: Notes the last input, and the frames in which the first and the last change of the page after it were painted.
OBSERVE = """
window.settled = { input: NaN, first: NaN, last: NaN, open: 0 };
for (const kind of ["pointerdown", "click", "keydown", "wheel"])
  window.addEventListener(kind, ({ isTrusted, timeStamp }) => {
    if (isTrusted) Object.assign(settled, { input: timeStamp, first: NaN, last: NaN });
  }, { capture: true });
const ask = window.fetch;
window.fetch = (...request) => {
  settled.open += 1;
  return ask(...request).finally(() => (settled.open -= 1));
};
const painted = () => requestAnimationFrame(() => requestAnimationFrame(() => {
  settled.last = performance.now();
  if (Number.isNaN(settled.first)) settled.first = settled.last;
}));
document.addEventListener("DOMContentLoaded", () => new MutationObserver((changes) => {
  if (changes.some(({ target }) => !target.closest?.("#newer"))) painted();
}).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true }));
"""
#: Milliseconds from the input to the first and to the last change, once the page of the link is there and settled.
SETTLED = """([quiet, patience]) => new Promise((resolve) => {
  const look = () => {
    const { input, first, last, open } = window.settled;
    const now = performance.now();
    const page = document.querySelector("#page");
    const isHere = page?.dataset.link === location.pathname + location.search;
    const busy = !isHere || page.hasAttribute("aria-busy") || open > 0;
    if (now - input > patience) return resolve([first - input, NaN]);
    if (!busy && now - Math.max(input, Number.isNaN(last) ? input : last) > quiet) return resolve([first - input, last - input]);
    setTimeout(look, 50);
  };
  look();
})"""


def settle(page: Page) -> tuple[float, float]:
    """Milliseconds from the last input to its first and to its last change; waits for both."""
    first, last = page.evaluate(SETTLED, [QUIET, PATIENCE])
    return (float("nan") if first is None else float(first)), (float("nan") if last is None else float(last))
