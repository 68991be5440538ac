// What a page is drawn for: the colours of the page, the pixels of the screen, the size of an element, and paper, which
// is white.

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
 * Calls each time when the window has come to another pixel ratio: what is drawn on a canvas is drawn anew.
 * @param {() => void} act @param {AbortSignal} signal
 */
export function whenPixelRatioChanges(act, signal) {
  const media = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
  const changed = () => (whenPixelRatioChanges(act, signal), act());
  media.addEventListener("change", changed, { once: true, signal });
}

/**
 * Calls as long as the signal lasts: `rescaled` when the window has another pixel ratio, `resized` when an element has
 * another size, `recoloured` when the page has other colours.
 * @param {Element} element @param {{ rescaled: () => void, resized: () => void, recoloured: () => void }} acts
 * @param {AbortSignal} signal
 */
export function watchScreen(element, { rescaled, resized, recoloured }, signal) {
  whenPixelRatioChanges(rescaled, signal);
  const [size, colours] = [new ResizeObserver(() => resized()), new MutationObserver(() => recoloured())];
  size.observe(element);
  colours.observe(document.documentElement, { attributeFilter: [SCHEME] });
  signal.addEventListener("abort", () => (size.disconnect(), colours.disconnect()));
}

/** The colours of the page now. */
export const schemeNow = () => /** @type {Scheme} */ (document.documentElement.getAttribute(SCHEME) || "light");
