// The room of a window: which parts of a page stay in sight and are open, and their width. The least height of a
// scrolled page, the navigation of a narrow window, the tabs beside the picture of a head, the worked example of page
// Heads, and the controls that a button opens. This browser, or this tab, remembers the reader's choice for the last
// three, where it may store.
import { elementIn, required } from "./elements.mjs";
import { hasModifier } from "./keyboard.mjs";

/** Most frames to wait for a part that a page draws. */
const MOST_FRAMES = 600;

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
  const below = parseFloat(getComputedStyle(required(page.parentElement, "the parent of #page")).paddingBottom);
  const least = leastHeight({ top, height, window: document.documentElement.clientHeight, below });
  page.style.minHeight = window.scrollY > 0 ? `${least}px` : "";
}

/** Follows the window: as its reader scrolls up, room that is no longer needed goes. */
export function keepRoom() {
  for (const name of ["scroll", "resize"]) window.addEventListener(name, keep, { passive: true });
}

/**
 * Whether the navigation of a narrow window is open, for its button and for itself: either changes both, another page
 * closes it.
 * @param {boolean} burger @param {boolean} drawer
 */
export function toggleDrawer(burger, drawer) {
  const [used] = window.dash_clientside.callback_context.triggered.map(({ prop_id }) => prop_id);
  const open = used === "burger.opened" ? burger : used === "drawer.opened" && drawer;
  return [open, open];
}

/** The tab that is open, by its name. @param {Element | null} inspector */
const openTab = (inspector) => inspector?.querySelector('[role="tab"][aria-selected="true"]')?.textContent;

/** Tabs that are drawn anew stay scrolled as they are while the same one is open: a click in them moves nothing. */
export async function keepTabsScrolled() {
  const before = document.querySelector(".inspector");
  const [top, tab] = [before?.scrollTop, openTab(before)];
  for (let frame = 0; top && frame < MOST_FRAMES; frame += 1) {
    await new Promise(requestAnimationFrame);
    const now = document.querySelector(".inspector");
    if (!now || now === before) continue;
    if (openTab(now) === tab) now.scrollTop = top;
    return;
  }
}

const ACTS = ["wheel", "touchstart", "pointerdown", "keydown"];

/** Shows a part that a link names as `#part` once it is drawn, unless its reader acts before. @param {string} hash */
export async function showPart(hash) {
  let waits = Boolean(hash);
  const [ending, act] = [new AbortController(), () => (waits = false)];
  for (const name of ACTS) window.addEventListener(name, act, { signal: ending.signal, capture: true, passive: true });
  for (let frame = 0; waits && frame < MOST_FRAMES; frame += 1) {
    const part = document.getElementById(hash.slice(1));
    part?.scrollIntoView();
    waits &&= !part;
    if (waits) await new Promise(requestAnimationFrame);
  }
  ending.abort();
}

/** A link that names a part of its page scrolls there: Dash has taken the click and scrolled to the top before. */
export function scrollToParts() {
  window.addEventListener("click", (event) => {
    const link = /** @type {HTMLAnchorElement | null} */ (event.target?.closest?.("a[href]"));
    if (event.defaultPrevented && link?.hash && link.pathname === window.location.pathname) showPart(link.hash);
  });
}

/** @param {string} name */
const named = (name) => `headscape-${name}`;

/**
 * The text that this browser, or this tab, remembers under a name; empty without storage.
 * @param {"localStorage" | "sessionStorage"} storage @param {string} name
 */
export function recall(storage, name) {
  try {
    return window[storage].getItem(named(name)) || "";
  } catch {
    return "";
  }
}

/**
 * Remembers a text under a name, or forgets what it has there. Private windows may refuse.
 * @param {"localStorage" | "sessionStorage"} storage @param {string} name @param {string} text
 */
export function remember(storage, name, text) {
  try {
    if (text) window[storage].setItem(named(name), text);
    else window[storage].removeItem(named(name));
  } catch {
    // What is not stored lasts as long as the page.
  }
}

const [LEAST_WIDTH, MOST_WIDTH, WIDTH_STEP] = [280, 720, 24];
const [WIDTH_NAME, CLOSED_NAME] = ["inspector-width", "inspector"];
const BORDER = ".inspector-border";

/** A width within bounds that leaves most of a narrow window to the picture. @param {number} width */
const within = (width) => Math.round(Math.max(LEAST_WIDTH, Math.min(MOST_WIDTH, 0.55 * window.innerWidth, width)));
const widthNow = () => elementIn(document, "#beside").getBoundingClientRect().width;

/** @param {number} width */
function widen(width) {
  const pixels = within(width);
  document.documentElement.style.setProperty("--inspector", `${pixels}px`);
  remember("localStorage", WIDTH_NAME, String(pixels));
  announceWidth();
}

/** Tells a screen reader the shown width, also where the page brought the border anew. */
function announceWidth() {
  const values = { "aria-valuemin": LEAST_WIDTH, "aria-valuemax": MOST_WIDTH, "aria-valuenow": Math.round(widthNow()) };
  const border = document.querySelector(BORDER);
  for (const [name, value] of Object.entries(values)) border?.setAttribute(name, String(value));
}

/** @param {PointerEvent} event */
function dragBorder(event) {
  const border = event.target?.closest?.(BORDER);
  if (!border || event.button) return;
  event.preventDefault();
  border.focus();
  const [from, width] = [event.clientX, widthNow()];
  /** @param {PointerEvent} pointerEvent */
  const moved = ({ clientX }) => widen(width + from - clientX);
  const ending = new AbortController();
  const { signal } = ending;
  border.setPointerCapture(event.pointerId);
  border.addEventListener("pointermove", moved, { signal });
  for (const end of ["pointerup", "pointercancel"]) border.addEventListener(end, () => ending.abort(), { signal });
}

/** @param {KeyboardEvent} event */
function pressedOnBorder(event) {
  if (!event.target?.matches?.(BORDER)) return;
  /** @type {Record<string, number>} */
  const widths = {
    ArrowLeft: widthNow() + WIDTH_STEP,
    ArrowRight: widthNow() - WIDTH_STEP,
    Home: LEAST_WIDTH,
    End: MOST_WIDTH,
  };
  if (hasModifier(event) || !(event.key in widths)) return;
  event.preventDefault();
  widen(widths[event.key]);
}

/** @param {Event} event */
function toggleInspector({ target }) {
  if (!target?.closest?.(".inspector-turn")) return;
  const closed = document.documentElement.toggleAttribute("data-inspector-closed");
  remember("localStorage", CLOSED_NAME, closed ? "closed" : "");
}

export function sizeInspector() {
  const root = document.documentElement;
  root.toggleAttribute("data-inspector-closed", recall("localStorage", CLOSED_NAME) === "closed");
  const width = Number(recall("localStorage", WIDTH_NAME));
  if (width) root.style.setProperty("--inspector", `${within(width)}px`);
  document.addEventListener("pointerdown", dragBorder);
  document.addEventListener("keydown", pressedOnBorder);
  document.addEventListener("click", toggleInspector);
  document.addEventListener("focusin", ({ target }) => target?.matches?.(BORDER) && announceWidth());
}

const EXAMPLE_NAME = "example";
const SEEN = "data-example-seen";

/** The example's room lasts with the page: an example opened later stands at the end of the page. */
const [CLOSED, LATE] = ["data-closed", "data-late"];

/** Shows or hides the example, and moves the keyboard to the button that does the opposite. @param {boolean} hide */
function turnExample(hide) {
  const [root, place] = [document.documentElement, document.querySelector(".example-place")];
  if (!hide && root.hasAttribute(SEEN) && !place?.hasAttribute(CLOSED)) place?.toggleAttribute(LATE, true);
  place?.toggleAttribute(CLOSED, hide);
  root.toggleAttribute(SEEN, hide);
  remember("localStorage", EXAMPLE_NAME, hide ? "seen" : "");
  document.querySelector(`[data-example="${hide ? "show" : "hide"}"]`)?.focus();
}

/** @param {KeyboardEvent} event */
function leftExample(event) {
  if (event.key === "Escape" && event.target?.closest?.(".example")) turnExample(true);
}

export function showExampleOnce() {
  document.documentElement.toggleAttribute(SEEN, recall("localStorage", EXAMPLE_NAME) === "seen");
  document.addEventListener("click", ({ target }) => {
    const button = target?.closest?.("[data-example]");
    if (button) turnExample(button.dataset.example === "hide");
  });
  document.addEventListener("keydown", leftExample);
}

const CONTROLS_NAME = "controls";
const CONTROLS_OPEN = "data-controls-open";

/** Whether the controls are open that a button opens: also where the page brings the button anew. */
export const areControlsOpen = () => document.documentElement.hasAttribute(CONTROLS_OPEN);

/** Opens controls by their button, or closes them; the tab remembers which. */
export function openControls() {
  document.documentElement.toggleAttribute(CONTROLS_OPEN, recall("sessionStorage", CONTROLS_NAME) === "open");
  document.addEventListener("click", ({ target }) => {
    const button = target?.closest?.("[data-opens]");
    if (!button) return;
    const open = document.documentElement.toggleAttribute(CONTROLS_OPEN);
    remember("sessionStorage", CONTROLS_NAME, open ? "open" : "");
    button.setAttribute("aria-expanded", String(open));
  });
}
