// The heads as a row of coloured boxes that turn their lines on and off.
import { make } from "../web/elements.mjs";

const without = (chosen, head) => chosen.filter((one) => one !== head);
const isLast = (chosen, head) => chosen.length === 1 && chosen[0] === head;
/** The last head stays on: a link without heads means all of them. */
export const toggledHeads = (chosen, head) => {
  if (isLast(chosen, head)) return chosen;
  return chosen.includes(head) ? without(chosen, head) : [...chosen, head].sort((a, b) => a - b);
};
export const headAlone = (chosen, head, heads) =>
  isLast(chosen, head) ? Array.from({ length: heads }, (_, i) => i) : [head];

const spoken = (name) => name.replace(/^H(?=\d)/, "Head ");

export function createSwatches(views, signal) {
  const row = make("div", {
    className: "swatches",
    role: "group",
    "aria-label": "Heads. Shift and Enter shows one head alone.",
  });
  let before = [];

  const headOf = (event) => Number(event.target.closest("button")?.dataset.head ?? -1);
  function send(heads) {
    if (heads === views.shown.chosen) return views.announce("The last head stays on.");
    views.choose({ chosen: heads }, { headed: { heads } });
  }

  /** The first click of a double click has already changed the choice, so the choice before it counts. */
  function click(event) {
    const head = headOf(event);
    if (head < 0 || event.detail > 1) return;
    before = views.shown.chosen;
    send(toggledHeads(before, head));
  }

  function press(event) {
    if (event.key !== "Enter" || headOf(event) < 0) return;
    event.preventDefault();
    const { chosen } = views.shown;
    send(event.shiftKey ? headAlone(chosen, headOf(event), count()) : toggledHeads(chosen, headOf(event)));
  }

  const count = () => views.shown.data.heads;

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

  function draw(shown) {
    if (row.children.length !== count())
      row.replaceChildren(...Array.from({ length: count() }, (_, head) => swatch(head)));
    [...row.children].forEach((one, head) => {
      one.setAttribute("aria-checked", String(shown.chosen.includes(head)));
      one.style.setProperty("--colour", views.colour(head));
      one.querySelector(".head-name").textContent = views.nameOf(head);
      one.setAttribute("aria-label", spoken(views.nameOf(head)));
    });
  }

  row.addEventListener("click", click, { signal });
  row.addEventListener("dblclick", (event) => headOf(event) >= 0 && send(headAlone(before, headOf(event), count())), {
    signal,
  });
  row.addEventListener("keydown", press, { signal });
  return { row, draw };
}
