// Finds and makes elements of a page. Text is always text: a wordpiece is never read as HTML.
//
// A browser that translates the page leaves data as it is: wordpieces, sentences, numbers and the names of heads.
// Data is known by its element, its class or its letters.
//
// Drawings follow the colours of the page, the pixels of the screen, the size of an element, and paper, which is
// white.

/**
 * The found value, whose type says that it may be missing; an error if it is.
 * @template T @param {T} found @param {string} what @returns {NonNullable<T>}
 */
export function required(found, what) {
  if (found === null || found === undefined) throw new Error(`The page lacks ${what}. Reload the page.`);
  return found;
}

/** The element of a selector that every page has. @param {ParentNode} root @param {string} selector */
export const elementIn = (root, selector) => required(root.querySelector(selector), selector);
/** @param {string} id */
export const elementOf = (id) => required(document.getElementById(id), `#${id}`);

/**
 * Makes an object on the element of a Dash component, for as long as the page shows it; gives the element's reference.
 * @template {{ release: () => void }} T
 * @param {(host: HTMLElement) => T} create @param {(created: T) => void} [update] after each drawing
 */
export function useOnElement(create, update = () => {}) {
  const { useEffect, useRef } = window.React;
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const created = useRef(/** @type {T | null} */ (null));
  useEffect(() => {
    const onHost = create(required(host.current, "the element of a component"));
    created.current = onHost;
    return () => onHost.release();
  }, []);
  useEffect(() => update(required(created.current, "a component")));
  return host;
}

/**
 * Tells Dash an action of the reader, by its name; a count makes a repeated action news.
 * @param {{ setProps: SetProps, count: number }} component @param {Outgoing} event
 */
export function tellDash(component, event) {
  const [name] = Object.keys(event);
  component.setProps({ [name]: { ...event[name], count: ++component.count } });
}

const PROPERTIES = new Set(["className", "textContent", "hidden", "type", "title", "tabIndex", "disabled", "dir"]);

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (PROPERTIES.has(name)) Object.assign(element, { [name]: value });
    else element.setAttribute(name, value);
  }
  if (isData(tag, attributes, attributes.textContent)) element.translate = false;
  element.append(...children);
  return element;
}

/**
 * An element of a drawing in the page.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag @param {Record<string, string | number>} attributes
 * @returns {SVGElementTagNameMap[T]}
 */
export function makeSvg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/**
 * Shows a ring round a box in pixels.
 * @param {HTMLElement} ring @param {number} left @param {number} top @param {number} width @param {number} height
 */
export const showRing = (ring, left, top, width, height) =>
  Object.assign(ring.style, {
    display: "block",
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
  });

/**
 * Writes a text into an element, its data in elements that no browser translates.
 * @param {HTMLElement} element @param {string} text
 */
export const write = (element, text) =>
  element.replaceChildren(...partsOf(text).map((part) => make("span", { textContent: part })));

/** Elements around a word, a name, a sentence, a key of the keyboard or a command. */
const TAGS = new Set(["bdi", "mark", "code", "kbd", "pre", "q", "svg"]);
const CLASSES = new Set([
  "example-sentence",
  "formula",
  "head-name",
  "mini-lines",
  "model-name",
  "number",
  "one-model",
  "sentence",
  "sentence-pieces",
  "sentence-text",
  "snapshot",
  "token",
  "word",
]);
const WORD = /\p{Letter}{2}/u;
/**
 * A word with a digit or an underline, without the punctuation around it: `0.43`, `95%`, `L3`, a checksum,
 * `en_core_web_sm`.
 */
const NUMBER = String.raw`[^\s“”(]*[\d_][^\s“”]*?(?=[.,;:)]*(?:[\s“”]|$))`;
/** Data in a sentence of a page: a quotation, a special token, a number, or several such as `L3 H7`. */
const DATA = new RegExp(String.raw`(“[^”]*”|\[\p{Lu}+\]|${NUMBER}(?:\s${NUMBER})*)`, "u");

/** A text in parts that may be translated and parts that may not. @param {string} text */
export const partsOf = (text) => text.split(DATA).filter(Boolean);

/**
 * Whether an element with this text, if it has nothing else, is data. The title of a column of numbers is none.
 * @param {string} tag @param {{ className?: string, dir?: string }} given @param {string | undefined} text
 */
export function isData(tag, { className, dir }, text) {
  if (TAGS.has(tag) || dir) return true;
  if (tag !== "th" && className?.split(" ").some((name) => CLASSES.has(name))) return true;
  return Boolean(text?.trim() && (!WORD.test(text) || !text.replace(DATA, "").trim()));
}

/** The attribute of the page that names its colours. */
export const SCHEME = "data-mantine-color-scheme";

/** Prints in light colours; call it before the picture listens, which draws itself for paper. */
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
 * Calls `act` each time the window has another pixel ratio: canvases are drawn anew.
 * @param {() => void} act @param {AbortSignal} signal
 */
export function whenPixelRatioChanges(act, signal) {
  const media = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
  const changed = () => (whenPixelRatioChanges(act, signal), act());
  media.addEventListener("change", changed, { once: true, signal });
}

/**
 * Calls, as long as the signal lasts: `rescaled` when the window has another pixel ratio, `resized` when an element has
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
