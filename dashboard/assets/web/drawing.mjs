// What pictures are drawn with: the typeface, a canvas, colours, and how far a place is from a line. And what they are
// drawn for: the colours of the page, the pixels of the screen, the size of an element, and paper, which is white.
import { required } from "./elements.mjs";
import { hexDigits } from "./loading.mjs";

/** The typefaces where a reader has no Roboto: a saved file does not bring that of the page. */
const OTHERS = "system-ui, -apple-system, 'Segoe UI', sans-serif";
/** The typeface of pages, on canvases and in saved files. */
export const FAMILY = `Roboto, ${OTHERS}`;
/** Share by which other typefaces of a reader of a file are wider than those that it is laid out with. */
const RESERVE = 1.06;

/**
 * The width that a text may take in a file, whichever of the typefaces its reader has.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {string} font its weight and its size
 */
export function widthInFile(context, text, font) {
  const widths = [FAMILY, OTHERS].map((family) => {
    context.font = `${font} ${family}`;
    return context.measureText(text).width;
  });
  return RESERVE * Math.max(...widths);
}

/** What draws on a canvas. @param {HTMLCanvasElement} canvas */
export const contextOf = (canvas) => required(canvas.getContext("2d"), "a canvas to draw on");

/** Red, green and blue of a colour `#rrggbb`, 0..255. @param {string} hex @returns {Colour} */
export const rgbOf = (hex) =>
  /** @type {Colour} */ ([1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16)));
/** The colour `#rrggbb` of red, green and blue, 0..255. @param {number[]} colour */
export const hexOf = (colour) => `#${hexDigits(colour.map(Math.round))}`;

/**
 * Squared distance of a place from the line between two.
 * @param {Pair} place @param {Pair} from @param {Pair} to
 */
export function squaredDistance([x, y], [fromX, fromY], [toX, toY]) {
  const [dx, dy] = [toX - fromX, toY - fromY];
  const squaredLength = dx * dx + dy * dy;
  const along = squaredLength ? Math.max(0, Math.min(1, ((x - fromX) * dx + (y - fromY) * dy) / squaredLength)) : 0;
  return (x - fromX - along * dx) ** 2 + (y - fromY - along * dy) ** 2;
}

/** The attribute of the page that names its colours. */
export const SCHEME = "data-mantine-color-scheme";

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
