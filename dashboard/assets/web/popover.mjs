// What opens beside a button: its place in the window; and the text behind an (i) or a term, shown on hover, focus and
// click, hidden on Escape. The buttons are made in dashboard/ui/controls.py and glossary.py.
import { make, makeSvg } from "./elements.mjs";

/** Pixels between the text and its button, and between the text and the border of the window. */
const APART = 6;
const MARGIN = 8;
/** Milliseconds that the pointer has to get from the button to the text. */
const LEAVE_MS = 150;

/**
 * The left edge of an element of this width, within the window and as near to `wanted` as there is room.
 * @param {number} wanted @param {number} width
 */
export const leftInWindow = (wanted, width) => Math.max(MARGIN, Math.min(wanted, window.innerWidth - width - MARGIN));

/**
 * Opens or closes a menu by a click on its button, and says whether it is open. The browser knows whose menu it is: a
 * press on the button does not close it before the click does, and Tab goes from the button into it.
 * @param {MouseEvent} event @param {HTMLButtonElement} button @param {HTMLElement} menu
 */
export function toggleMenu(event, button, menu) {
  event.preventDefault(); // the browser would toggle it too
  button.popoverTargetElement = menu;
  if (menu.matches(":popover-open")) menu.hidePopover();
  else menu.showPopover({ source: button });
  return menu.matches(":popover-open");
}

/**
 * The upper edge of a text of this height: below its button, above where there is no room.
 * @param {{ top: number, bottom: number }} button @param {number} height
 */
function topBeside({ top, bottom }, height) {
  const below = bottom + APART;
  return below + height + MARGIN <= window.innerHeight ? below : Math.max(MARGIN, top - APART - height);
}

/** The drawing of a term, of which the shell has one copy (dashboard/ui/glossary.py). @param {string} name */
function drawingOf(name) {
  const svg = makeSvg("svg", { width: 168, height: 44, class: "term-drawing", "aria-hidden": "true" });
  svg.append(makeSvg("use", { href: `#drawing-${name}` }));
  return svg;
}

/** @param {{ info?: string, drawing?: string }} given */
const contentOf = ({ info = "", drawing }) => [
  ...(drawing ? [drawingOf(drawing)] : []),
  make("span", { textContent: info }),
];

/** The one element that shows the text of the open button. */
function tooltip() {
  const text = Object.assign(document.createElement("div"), { id: "info", className: "info-text", popover: "manual" });
  text.setAttribute("role", "tooltip");
  document.body.append(text);
  return text;
}

/** Shows the text of any (i) or term of the page. */
export function explainButtons() {
  const text = tooltip();
  /** @type {HTMLElement | null} */
  let open = null;
  let leaving = 0;

  function hide() {
    clearTimeout(leaving);
    open?.removeAttribute("aria-describedby");
    open = null;
    if (text.matches(":popover-open")) text.hidePopover();
  }

  /** @param {HTMLElement} button */
  function show(button) {
    clearTimeout(leaving);
    if (open === button) return;
    hide();
    open = button;
    text.replaceChildren(...contentOf(button.dataset));
    button.setAttribute("aria-describedby", text.id);
    text.showPopover();
    put(button);
  }

  /** @param {HTMLElement} button */
  function put(button) {
    const box = button.getBoundingClientRect();
    text.style.left = `${leftInWindow(box.left, text.offsetWidth)}px`;
    text.style.top = `${topBeside(box, text.offsetHeight)}px`;
  }

  /** The focus scrolls its button into view: then the text goes with it. */
  const scrolled = () => open && (document.activeElement === open ? put(open) : hide());

  /** @param {Event} event */
  const buttonOf = (event) => event.target?.closest?.("button:is(.info, .term)");
  const leave = () => {
    clearTimeout(leaving);
    leaving = setTimeout(() => document.activeElement !== open && hide(), LEAVE_MS);
  };

  document.addEventListener("pointerover", (event) => {
    const button = buttonOf(event);
    if (button) show(button);
    else if (text.contains(/** @type {Node} */ (event.target))) clearTimeout(leaving);
    else if (open) leave();
  });
  /** @param {Event} event */
  const turnTo = (event) => {
    const button = buttonOf(event);
    if (button) show(button);
    else hide();
  };
  document.addEventListener("focusin", turnTo);
  document.addEventListener("focusout", hide);
  document.addEventListener("click", turnTo);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (open?.closest("dialog")) event.preventDefault(); // the text goes first, then its dialog
    hide();
  });
  document.addEventListener("scroll", scrolled, { capture: true, passive: true });
}
