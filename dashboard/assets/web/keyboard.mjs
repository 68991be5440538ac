// The keyboard. Its focus stays in a control that the page replaces. Keys of the whole page: `?` opens Help, which
// lists them, `g` and a letter opens a page, `/` goes to the search box, `c` copies the link. The list is in
// dashboard/documentation.py, the letter of a page on its link.
//
// Help and the tour are dialogs of the shell (dashboard/documentation.py). The server fills them when they are opened,
// for the model that the page shows; the tour is read by its buttons or the arrow keys.
import { required } from "./elements.mjs";

/**
 * Whether AltGr types the sign of a key, as "[" on a German keyboard: Windows reports AltGr as Ctrl and Alt.
 * @param {KeyboardEvent} event
 */
const typesSign = (event) => /^\P{Letter}$/u.test(event.key) && event.getModifierState("AltGraph");

/** Whether Ctrl or Cmd makes a key the browser's own. @param {KeyboardEvent} event */
export const isCommand = (event) => event.metaKey || (event.ctrlKey && !typesSign(event));

/** Whether a key is the browser's own: with Alt an arrow goes a page back. @param {KeyboardEvent} event */
export const hasModifier = (event) => isCommand(event) || (event.altKey && !typesSign(event));

/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Rows and columns by which an arrow key moves; nothing for another key. @param {KeyboardEvent} event */
export const arrowOf = (event) => (hasModifier(event) ? undefined : ARROWS[event.key]);

/**
 * The row and the column of a grid after steps from one of its cells; no step leaves the grid.
 * @param {readonly number[]} from @param {readonly number[]} steps @param {readonly number[]} shape rows and columns
 * @returns {[number, number]}
 */
export const stepInGrid = (from, steps, shape) =>
  /** @type {[number, number]} */ (
    shape.map((count, axis) => Math.max(0, Math.min(count - 1, from[axis] + steps[axis])))
  );

const FOCUSABLE = "a[href], button, input, [tabindex]";
const TEXT_BOX = ".mantine-TextInput-input";
/** @type {{ id: string, part: number, element: HTMLElement } | null} */
let last = null;
/** What was typed into the control that has the keyboard, until Enter. */
/** @type {{ text: string, caret: number | null } | null} */
let typed = null;
/** Whether React hears of no focus: a searchable list would open when its focus is given back. */
let quiet = false;

/** @param {HTMLElement} control */
const partsOf = (control) => [control, ...control.querySelectorAll(FOCUSABLE)];

/**
 * The control an element belongs to, and which of its parts it is: a slider has two thumbs. Only Dash's own ids last.
 * @param {HTMLElement} element
 */
function placeOf(element) {
  const control = element.closest('[id^="{"]') || (element.id && element);
  return control ? { id: control.id, part: partsOf(control).indexOf(element), element } : null;
}

/**
 * Types a text again: React hears of it only by an event.
 * @param {HTMLInputElement} box @param {{ text: string, caret: number | null }} given
 */
function typeAgain(box, { text, caret }) {
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  required(value?.set, "the setter of a text box").call(box, text);
  box.dispatchEvent(new Event("input", { bubbles: true }));
  box.setSelectionRange(caret, caret);
}

function restore() {
  if (document.activeElement !== document.body || !last || last.element.isConnected) return;
  const control = document.getElementById(last.id);
  if (!control?.closest("#above, #beside, #below")) return;
  const part = partsOf(control)[last.part];
  const wasOpen = last.element.hasAttribute("data-expanded");
  quiet = true;
  part?.focus({ preventScroll: true });
  quiet = false;
  if (part) last = { ...last, element: part };
  if (part && wasOpen) part.click();
  if (part && typed && part instanceof HTMLInputElement && part.value !== typed.text) typeAgain(part, typed);
}

/** Forgets a control that a press beside it has left: the page may replace the control later. */
function forgetLeft() {
  if (document.activeElement === document.body && last?.element.isConnected) last = null;
}

/** Gives the focus back to the control that had it when the page replaces that control. */
export function keepFocus() {
  window.addEventListener("focusin", (event) => quiet && event.stopImmediatePropagation(), true);
  document.addEventListener("focusin", (event) => {
    const place = placeOf(/** @type {HTMLElement} */ (event.target));
    if (place?.id !== last?.id) typed = null;
    last = place;
  });
  document.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLInputElement && target.matches(TEXT_BOX))
      typed = { text: target.value, caret: target.selectionStart };
  });
  /** @param {Event} event */
  const left = (event) => event.target?.matches?.(TEXT_BOX) || (typed = null);
  document.addEventListener("pointerdown", left, true);
  document.addEventListener("pointerup", forgetLeft, true);
  document.addEventListener("keydown", (event) => event.key === "Enter" && (typed = null), true);
  new MutationObserver(restore).observe(document.documentElement, { childList: true, subtree: true });
}

/** @param {string} id */
const dialogOf = (id) => /** @type {HTMLDialogElement | null} */ (document.getElementById(id));
let asked = 0;

/** Opens Help or the tour; nothing before the page has it. @param {string} id */
export function openHelp(id) {
  const dialog = dialogOf(id);
  if (!dialog) return;
  dialogOf("help")?.close();
  window.dash_clientside.set_props("asked-help", { data: ++asked });
  dialog.showModal();
  if (id === "tour") show(dialog, 0);
}

/**
 * The step of a tour after a turn, -1 back or 1 ahead; null where the tour is over.
 * @param {number} step @param {number} turn @param {number} steps
 */
export const stepAfter = (step, turn, steps) => (step + turn >= steps ? null : Math.max(0, step + turn));

/** @param {HTMLDialogElement} tour @param {number} step */
function show(tour, step) {
  const steps = Number(tour.dataset.steps);
  const [back, ahead] = ["-1", "1"].map((turn) => tour.querySelector(`[data-turn="${turn}"]`));
  tour.dataset.step = String(step);
  tour.querySelector(".tour-place")?.replaceChildren(`${step + 1} of ${steps}`);
  back?.toggleAttribute("disabled", step === 0);
  ahead?.replaceChildren(step === steps - 1 ? "Done" : "Next");
  ahead?.focus();
}

/** @param {HTMLDialogElement} tour @param {number} turn */
function turnTour(tour, turn) {
  const step = stepAfter(Number(tour.dataset.step), turn, Number(tour.dataset.steps));
  if (step === null) tour.close();
  else show(tour, step);
}

/** Follows the dialogs' buttons, a click beside them, and the arrow keys of the tour. Escape is the browser's. */
export function followHelp() {
  document.addEventListener("click", ({ target }) => {
    const button = target?.closest?.("[data-help], [data-close], [data-turn], dialog a[href]:not([target])");
    const { help, close, turn } = button?.dataset ?? {};
    if (help) openHelp(help);
    else if (close) dialogOf(close)?.close();
    else if (turn) turnTour(/** @type {HTMLDialogElement} */ (button?.closest("dialog")), Number(turn));
    else if (button || target instanceof HTMLDialogElement)
      /** @type {HTMLDialogElement | null} */ (target?.closest?.("dialog") ?? null)?.close();
  });
  document.addEventListener("keydown", (event) => {
    const tour = dialogOf("tour");
    const turn = arrowOf(event)?.[1];
    if (!tour?.open || !turn || (turn > 0 && tour.dataset.step === String(Number(tour.dataset.steps) - 1))) return;
    event.preventDefault();
    turnTour(tour, turn);
  });
}

/** Milliseconds in which the letter of a page follows `g`. */
const WAIT = 1500;
/** When `g` was pressed, if it is the last key. */
let pressed = -Infinity;

/** Whether a key comes after `g`, so that its letter names a page. @param {KeyboardEvent} event */
const followsG = (event) => event.timeStamp - pressed < WAIT;

/**
 * Whether a letter was pressed that a view may act on: alone, and not after `g`.
 * @param {KeyboardEvent} event @param {string} letter
 */
export const isLetter = (event, letter) => event.key === letter && !hasModifier(event) && !followsG(event);

/** @param {EventTarget | null} target */
const isTyped = (target) => target?.closest?.("input, textarea, select, [contenteditable='true'], [role='textbox']");
/** @param {string} letter */
const pageLink = (letter) => document.querySelector(`#navigation a[data-letter="${letter}"]`);
const searchBox = () => document.querySelector("#page input[placeholder]:not([aria-haspopup])");

/**
 * The action of a key; null for none. `afterG`: the key before was g.
 * @param {string} key @param {boolean} afterG
 */
export function actionOf(key, afterG) {
  if (afterG && /^[a-z]$/.test(key)) return { page: key };
  return { "?": { help: true }, "/": { search: true }, c: { copy: true }, g: { wait: true } }[key] ?? null;
}

/** @param {{ page?: string, help?: boolean, search?: boolean, copy?: boolean, wait?: boolean }} action */
function act(action) {
  if (action.help) openHelp("help");
  if (action.page) pageLink(action.page)?.click();
  if (action.search) searchBox()?.focus();
  if (action.copy) document.getElementById("copy-link")?.click();
  return Boolean(!action.wait && (!action.page || pageLink(action.page)) && (!action.search || searchBox()));
}

/** Follows keys of the page. */
export function followShortcuts() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || hasModifier(event) || isTyped(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const action = actionOf(event.key, followsG(event));
    pressed = action?.wait ? event.timeStamp : -Infinity;
    if (action && act(action)) event.preventDefault();
  });
}
