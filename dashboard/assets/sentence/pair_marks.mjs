// Pairs of a query and a key that a reader marks, each in a colour and with a number: their legend above a view, with a
// button that marks the selected pair and one that takes each mark away; and what views draw of them.
import { pairOf } from "./choice.mjs";
import { rgbOf } from "../web/drawing.mjs";
import { schemeNow, make, makeSvg } from "../web/elements.mjs";

/** Most marks: one for each colour. @param {SentencePicture} shown */
const most = ({ mark_colours }) => mark_colours.light.length;

const HOW = "Or press m with a pair selected; or hold Shift and click a line, a cell, or a key of the selected query.";
const NONE = "No pair is marked.";
/** How to mark a pair, by view; by touch, without Shift, where sentence.css shows it. */
const EMPTY = {
  head: {
    mouse: `${NONE} Click a token on the left, then hold Shift and click one on the right.`,
    touch: `${NONE} Tap a token on the left and one on the right, then Mark pair.`,
  },
  matrix: { mouse: `${NONE} Click a cell, then Mark pair.`, touch: `${NONE} Tap a cell, then Mark pair.` },
};
/** Sides of a number's box, and of the smallest frame in a thumbnail. */
export const BADGE = 12;
const LEAST_FRAME = 5;

/**
 * The marked pairs with one more, or without it where it was marked; null where no colour is left.
 * @param {SentencePicture} shown @param {TokenPair} pair @returns {MarkedPair[] | null}
 */
export function toggledMarks(shown, { query, key }) {
  const marks = shown.marks ?? [];
  const left = marks.filter((mark) => mark.query !== query || mark.key !== key);
  if (left.length < marks.length) return left;
  if (marks.length >= most(shown)) return null;
  const ends = [shown.units[query], shown.keys[key]];
  const [positions, names] = [ends.map((unit) => unit.positions[0]), ends.map((unit) => unit.name)];
  return [...marks, /** @type {MarkedPair} */ ({ positions, names, query, key })];
}

/**
 * A marked pair that is shown, with its number and its colour.
 * @typedef {TokenPair & { number: number, colour: string }} Shown
 */

/**
 * The marked pairs that are among the shown tokens.
 * @param {Pick<SentencePicture, "marks" | "mark_colours">} shown @returns {Shown[]}
 */
export function shownMarks({ marks, mark_colours }) {
  const colours = mark_colours[schemeNow()] ?? mark_colours.light;
  return (marks ?? []).flatMap(({ query, key }, i) =>
    query === null || key === null ? [] : [{ query, key, number: i + 1, colour: colours[i] }],
  );
}

/** Relative luminance of a colour, 0 to 1 (WCAG 2). @param {Colour} colour */
function luminance(colour) {
  const [red, green, blue] = colour.map((part) =>
    part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white, whichever is legible on a colour. @param {Colour} colour */
export const inkOn = (colour) => (luminance(colour) > 0.18 ? "#000000" : "#ffffff");

/**
 * Shapes of a mark's number on its colour, around a place.
 * @param {Shown} mark @param {Pair} place @returns {Shape[]}
 */
export const badgeShapes = ({ number, colour }, [x, y]) => [
  { box: [x - BADGE / 2, y - BADGE / 2, BADGE, BADGE], colour },
  { text: String(number), at: [x, y + 0.5], colour: inkOn(rgbOf(colour)), size: 11, weight: 600, align: "middle" },
];

/**
 * The place of a mark's number on its line: numbers of several marks stand apart.
 * @param {Shown} mark @param {Box} line @returns {Pair}
 */
export function badgePlace({ number }, [x1, y1, x2, y2]) {
  const share = 0.3 + 0.05 * number;
  return [x1 + share * (x2 - x1), y1 + share * (y2 - y1)];
}

/** A mark's number in the page. @param {Shown} mark @param {Pair} place */
export function badgeElements({ number, colour }, [x, y]) {
  const box = { x: x - BADGE / 2, y: y - BADGE / 2, width: BADGE, height: BADGE, rx: 3, fill: colour };
  const text = makeSvg("text", { x, y: y + 0.5, fill: inkOn(rgbOf(colour)), class: "badge" });
  text.textContent = String(number);
  return [makeSvg("rect", box), text];
}

/**
 * The frame around a mark's cell in a thumbnail, at least `LEAST_FRAME` wide and high.
 * @param {TokenPair} mark @param {{ units: Unit[], keys: Unit[] }} shown @param {Pair} corner @param {number} side
 * @returns {Box}
 */
export function thumbnailFrame({ query, key }, { units, keys }, [left, top], side) {
  const [width, height] = [side / keys.length, side / units.length];
  const [wide, high] = [Math.max(LEAST_FRAME, width), Math.max(LEAST_FRAME, height)];
  return [left + (key + 0.5) * width - wide / 2, top + (query + 0.5) * height - high / 2, wide, high];
}

/**
 * A mark in the legend, with the button that takes it away.
 * @param {MarkedPair} mark @param {number} i @param {string} colour @param {() => void} remove
 */
function chip(mark, i, colour, remove) {
  const number = make("span", { className: "badge", textContent: String(i + 1) });
  number.style.background = colour;
  number.style.color = inkOn(rgbOf(colour));
  const [from, to] = mark.names.map((name) => make("bdi", { textContent: name }));
  const named = { "aria-label": `Remove the mark of ${mark.names.join(" to ")}`, title: "Remove this mark" };
  const button = make("button", { type: "button", className: "remove", textContent: "✕", ...named });
  button.addEventListener("click", remove);
  return make("li", { className: "chip" }, number, from, " → ", to, button);
}

/** The item of a legend without marks. @param {string} show */
function none(show) {
  const ways = EMPTY[/** @type {keyof typeof EMPTY} */ (show)] ?? { mouse: NONE, touch: NONE };
  const words = Object.entries(ways).map(([by, textContent]) => make("span", { className: `by-${by}`, textContent }));
  return make("li", { className: "none" }, ...words);
}

/** The row above a view; it is as high without marks as with them. @param {Views} views @param {AbortSignal} signal */
export function createMarkLegend(views, signal) {
  const button = make("button", { type: "button", className: "plain", textContent: "Mark pair", title: HOW });
  const list = make("ul", { "aria-label": "Marked pairs" });
  const row = make("div", { className: "marked-pairs", hidden: true, tabIndex: -1 }, button, list);

  /** @param {MarkedPair} mark */
  const remove = (mark) => views.showMarks((views.shown.marks ?? []).filter((other) => other !== mark));

  function draw() {
    const { marks, mark_colours } = views.shown;
    row.hidden = !marks || views.shown.show === "neuron";
    if (!marks) return;
    const pair = pairOf(views.shown);
    const isMarked = Boolean(pair && marks.some(({ query, key }) => query === pair.query && key === pair.key));
    button.disabled = !pair || (!isMarked && marks.length >= most(views.shown));
    button.setAttribute("aria-pressed", String(isMarked));
    const colours = mark_colours[schemeNow()] ?? mark_colours.light;
    const chips = marks.map((mark, i) => chip(mark, i, colours[i], () => remove(mark)));
    const focused = [...list.children].findIndex((item) => item.contains(document.activeElement));
    list.replaceChildren(...(chips.length ? chips : [none(views.shown.show)]));
    if (focused >= 0) focus(focused);
  }

  /** Focuses the button of a mark by its place, or the last; without marks, Mark pair or the row. @param {number} i */
  function focus(i) {
    const buttons = list.querySelectorAll("button");
    const left = button.disabled ? row : button;
    (buttons[Math.min(i, buttons.length - 1)] ?? left).focus();
  }

  button.addEventListener(
    "click",
    () => {
      const pair = pairOf(views.shown);
      if (pair) views.toggleMark(pair);
    },
    { signal },
  );
  return { row, draw };
}
