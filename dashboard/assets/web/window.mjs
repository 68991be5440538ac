// What the window does to a page: paper is white, room below a reader stays, another screen has other pixels.

const SCHEME = "data-mantine-color-scheme";

/** Installs it for as long as the page lives; before the picture listens, which draws itself for paper. */
export function printLight(page = window, root = document.documentElement) {
  /** @type {string | null} */
  let scheme = null;
  page.addEventListener("beforeprint", () => {
    scheme = root.getAttribute(SCHEME);
    root.setAttribute(SCHEME, "light");
  });
  page.addEventListener("afterprint", () => scheme && root.setAttribute(SCHEME, scheme));
}

/**
 * The least height of a page, in pixels, with which the window stays scrolled as it is. `top` and `height` are the
 * page's in the window, `window` is the window's height, `below` what follows the page.
 * @param {{ top: number, height: number, window: number, below: number }} given
 */
export const leastHeight = ({ top, height, window, below }) => Math.max(0, Math.min(height, window - top - below));

function keep() {
  const page = document.getElementById("page");
  if (!page) return;
  const { top, height } = page.getBoundingClientRect();
  const below = parseFloat(getComputedStyle(page.parentElement).paddingBottom);
  const least = leastHeight({ top, height, window: document.documentElement.clientHeight, below });
  page.style.minHeight = window.scrollY > 0 ? `${least}px` : "";
}

/** Follows the window: as its reader scrolls up, room that is no longer needed goes. */
export function keepRoom() {
  for (const name of ["scroll", "resize"]) window.addEventListener(name, keep, { passive: true });
}

/**
 * Calls each time when the window has come to another pixel ratio: what is drawn on a canvas is drawn anew.
 * @param {() => void} act @param {AbortSignal} signal
 */
export function whenPixelRatioChanges(act, signal) {
  const media = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
  const changed = () => (whenPixelRatioChanges(act, signal), act());
  media.addEventListener("change", changed, { once: true, signal });
}

/** The colours of the page now. */
export const schemeNow = () =>
  /** @type {Scheme} */ (document.documentElement.getAttribute("data-mantine-color-scheme") || "light");
