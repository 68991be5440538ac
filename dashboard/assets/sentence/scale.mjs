// The scales of matrices: which of 256 colours a weight has, and what the ends and marks of the colours are.
import { hexOf } from "./picture.mjs";

/** Powers of ten from the weakest colour to the strongest: weights of a thumbnail come in 8 bits, others in 16. */
const DECADES = { model: 2, matrix: 3 };
const DEEPEST = { model: 255, matrix: 65535 };

const ROOT_TICKS = [0, 0.1, 0.25, 0.5, 1];
const HALVES = [0, 0.5, 1];

const short = (number) => String(Number(number.toPrecision(2)));
const within = (share) => Math.max(0, Math.min(1, share));

/** The share of the way along the colours that a weight has, from its share of the top of the scale. */
const SHARES = {
  root: Math.sqrt,
  linear: (part) => part,
  largest: (part) => part,
  row: (part) => part,
  log: (part, decades) => (part > 0 ? 1 + Math.log10(part) / decades : 0),
};

/** A row of numbers from 10^-decades to 1. */
const powers = (decades) => Array.from({ length: decades + 1 }, (_, i) => 10 ** (i - decades));

function ticksOf(kind, top, decades) {
  if (kind === "row") return HALVES.map((part, i) => ({ at: part, text: ["0", "", "largest of its row"][i] }));
  const parts = { root: ROOT_TICKS, log: powers(decades) }[kind] || HALVES;
  const names = parts.map((part) => short(part * top));
  if (kind === "log") names[0] = `≤ ${names[0]}`;
  return parts.map((part, i) => ({ at: within(SHARES[kind](part, decades)), text: names[i] }));
}

const NAMES = {
  root: "square root",
  linear: "linear",
  largest: "linear",
  row: "each row",
  log: "logarithmic",
};

/**
 * The scale of a picture: {kind, top, decades, unit, name, ticks}. A weight of `top` has the strongest colour; a weight
 * is its code times `unit`; `ticks` are {at, text} along the colours.
 */
export function createScale({ kind = "root", show, most, codes }) {
  const unit = most / DEEPEST[show];
  const top = kind === "largest" ? codes.reduce((largest, code) => Math.max(largest, code), 0) * unit || most : most;
  const decades = DECADES[show];
  return { kind, top, decades, unit, name: NAMES[kind], ticks: ticksOf(kind, top, decades) };
}

/** Which of 256 colours each of the codes of a matrix has, [row, column]. */
export function shadesOf(codes, columns, { kind, top, decades, unit }) {
  const shades = new Uint8Array(codes.length);
  for (let start = 0; start < codes.length; start += columns) {
    const row = codes.subarray(start, start + columns);
    const end = kind === "row" ? row.reduce((largest, code) => Math.max(largest, code), 0) * unit || 1 : top;
    row.forEach((code, i) => {
      shades[start + i] = Math.round(255 * within(SHARES[kind]((code * unit) / end, decades)));
    });
  }
  return shades;
}

const BAR = { width: 160, height: 10, steps: 32, size: 11 };
const ALIGN = (at) => (at === 0 ? "start" : at === 1 ? "end" : "middle");

/** The legend of a saved picture, 28 pixels high: the colours, their marks, and the name of the scale. */
export function legendShapes({ name, ticks }, [x, y], ramp, ink) {
  const wide = BAR.width / BAR.steps;
  const boxes = Array.from({ length: BAR.steps }, (_, i) => ({
    box: [x + i * wide, y, wide, BAR.height],
    colour: hexOf(ramp[Math.round((255 * i) / (BAR.steps - 1))]),
  }));
  const marks = ticks.map(({ at, text }) => ({
    text,
    at: [x + at * BAR.width, y + 20],
    colour: ink,
    size: BAR.size,
    align: ALIGN(at),
  }));
  return [...boxes, ...marks, { text: name, at: [x + BAR.width + 10, y + 5], colour: ink, size: BAR.size }];
}
