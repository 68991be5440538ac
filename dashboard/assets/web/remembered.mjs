// What this browser remembers of its reader beside the link, nothing where it stores nothing: the width of the tabs
// beside the picture of a head, by pointer and keyboard, and whether they are shown; whether the worked example of
// page Heads was read.

/** @param {string} name */
const named = (name) => `headscape-${name}`;

/** @param {string} name */
export function recall(name) {
  try {
    return window.localStorage.getItem(named(name)) || "";
  } catch {
    return "";
  }
}

/** @param {string} name @param {string} value */
export function remember(name, value) {
  try {
    if (value) window.localStorage.setItem(named(name), value);
    else window.localStorage.removeItem(named(name));
  } catch {
    // Private windows may refuse: the choice then lasts as long as the page.
  }
}

const [LEAST, MOST, STEP] = [280, 720, 24];
const [WIDTH, CLOSED] = ["inspector-width", "inspector"];
const BORDER = ".inspector-border";
const root = document.documentElement;

/** A width within bounds that leaves most of a narrow window to the picture. @param {number} width */
const within = (width) => Math.round(Math.max(LEAST, Math.min(MOST, 0.55 * window.innerWidth, width)));
const widthNow = () => document.querySelector("#beside").getBoundingClientRect().width;

/** @param {number} width */
function widen(width) {
  const pixels = within(width);
  root.style.setProperty("--inspector", `${pixels}px`);
  remember(WIDTH, String(pixels));
  say();
}

/** A screen reader hears the width that is shown, also where the page brought the border anew. */
function say() {
  const values = { "aria-valuemin": LEAST, "aria-valuemax": MOST, "aria-valuenow": Math.round(widthNow()) };
  const border = document.querySelector(BORDER);
  for (const [name, value] of Object.entries(values)) border.setAttribute(name, String(value));
}

/** @param {PointerEvent} event */
function drag(event) {
  const border = event.target.closest?.(BORDER);
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
function pressed(event) {
  if (!event.target.matches?.(BORDER)) return;
  /** @type {Record<string, number>} */
  const widths = { ArrowLeft: widthNow() + STEP, ArrowRight: widthNow() - STEP, Home: LEAST, End: MOST };
  if (!(event.key in widths)) return;
  event.preventDefault();
  widen(widths[event.key]);
}

/** @param {Event} event */
function turn({ target }) {
  if (!target.closest?.(".inspector-turn")) return;
  const closed = root.toggleAttribute("data-inspector-closed");
  remember(CLOSED, closed ? "closed" : "");
}

export function sizeInspector() {
  root.toggleAttribute("data-inspector-closed", recall(CLOSED) === "closed");
  const width = Number(recall(WIDTH));
  if (width) root.style.setProperty("--inspector", `${within(width)}px`);
  document.addEventListener("pointerdown", drag);
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", turn);
  document.addEventListener("focusin", ({ target }) => target.matches?.(BORDER) && say());
}

const NAME = "example";
const SEEN = "data-example-seen";

/** Shows or hides the example, and moves the keyboard to the button that does the opposite. @param {boolean} hide */
function turnExample(hide) {
  document.documentElement.toggleAttribute(SEEN, hide);
  remember(NAME, hide ? "seen" : "");
  document.querySelector(`[data-example="${hide ? "show" : "hide"}"]`)?.focus();
}

/** @param {KeyboardEvent} event */
function leftExample(event) {
  if (event.key === "Escape" && event.target.closest?.(".example")) turnExample(true);
}

export function showExampleOnce() {
  document.documentElement.toggleAttribute(SEEN, recall(NAME) === "seen");
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("[data-example]");
    if (button) turnExample(button.dataset.example === "hide");
  });
  document.addEventListener("keydown", leftExample);
}
