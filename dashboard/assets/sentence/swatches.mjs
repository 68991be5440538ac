// The heads of a layer as a row of coloured boxes that turn their lines on and off.
import { make } from "../web/elements.mjs";

/** @param {number[]} chosen @param {number} head */
const without = (chosen, head) => chosen.filter((other) => other !== head);
/** @param {number[]} chosen @param {number} head */
const isLast = (chosen, head) => chosen.length === 1 && chosen[0] === head;
/** The last head stays on: a link without heads means all of them. @param {number[]} chosen @param {number} head */
export const toggledHeads = (chosen, head) => {
  if (isLast(chosen, head)) return chosen;
  return chosen.includes(head) ? without(chosen, head) : [...chosen, head].sort((a, b) => a - b);
};
/** @param {number[]} chosen @param {number} head @param {number} heads */
export const headAlone = (chosen, head, heads) =>
  isLast(chosen, head) ? Array.from({ length: heads }, (_, i) => i) : [head];

/** @param {string} name */
const spokenName = (name) => name.replace(/^H(?=\d)/, "Head ");

/** The heads as a row of coloured boxes. @param {Views} views @param {AbortSignal} signal */
export function createSwatches(views, signal) {
  const row = make("div", {
    className: "swatches",
    role: "group",
    "aria-label": "Heads. Shift and Enter shows one head alone.",
  });
  /** @type {number[]} */
  let before = [];

  /** @param {Event} event */
  const headOf = (event) => Number(event.target.closest("button")?.dataset.head ?? -1);
  /** @param {number[]} heads */
  function send(heads) {
    if (heads === views.shown.chosen) return views.announce("The last head stays on.");
    views.choose({ chosen: heads }, { headed: { heads } });
  }

  /**
   * The first click of a double click has already changed the choice, so the choice before it counts.
   * @param {MouseEvent} event
   */
  function click(event) {
    const head = headOf(event);
    if (head < 0 || event.detail > 1) return;
    before = views.shown.chosen;
    send(toggledHeads(before, head));
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    if (event.key !== "Enter" || headOf(event) < 0) return;
    event.preventDefault();
    const { chosen } = views.shown;
    send(event.shiftKey ? headAlone(chosen, headOf(event), count()) : toggledHeads(chosen, headOf(event)));
  }

  const count = () => views.shown.data.heads;

  /** @param {number} head */
  function swatch(head) {
    const button = make("button", {
      type: "button",
      className: "head",
      role: "checkbox",
      "data-head": head,
      title: "Click: on or off, one stays on. Double click: this head alone, and again: all.",
    });
    button.append(make("span", { className: "colour" }), make("span", { className: "head-name" }));
    return button;
  }

  /** @param {ShownSentence} shown */
  function draw(shown) {
    if (row.children.length !== count())
      row.replaceChildren(...Array.from({ length: count() }, (_, head) => swatch(head)));
    /** @type {HTMLElement[]} */ ([...row.children]).forEach((swatchOfHead, head) => {
      swatchOfHead.setAttribute("aria-checked", String(shown.chosen.includes(head)));
      swatchOfHead.style.setProperty("--colour", views.colour(head));
      swatchOfHead.querySelector(".head-name").textContent = views.nameOf(head);
      swatchOfHead.setAttribute("aria-label", spokenName(views.nameOf(head)));
    });
  }

  row.addEventListener("click", click, { signal });
  row.addEventListener("dblclick", (event) => headOf(event) >= 0 && send(headAlone(before, headOf(event), count())), {
    signal,
  });
  row.addEventListener("keydown", press, { signal });
  return { row, draw };
}
