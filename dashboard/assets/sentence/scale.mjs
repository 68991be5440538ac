// Colours of weights. Ramps: one hue from zero to the largest weight, two hues around zero. Scales of matrices: which
// of 256 colours a weight has, and what the ends and marks of the colours are.

const DEEP = { light: "#00223D", dark: "#DFF3FF" };

/** @param {string} colour */
const rgb = (colour) => [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
/** @param {number[]} colour */
export const hexOf = (colour) => `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;

/** @param {number[][]} stops @param {number} share */
function between(stops, share) {
  const at = share * (stops.length - 1);
  const first = Math.min(Math.floor(at), stops.length - 2);
  return stops[first].map((part, i) => part + (stops[first + 1][i] - part) * (at - first));
}

/** @param {string[]} stops @returns {Colour[]} */
const spread = (stops) =>
  Array.from({ length: 256 }, (_, i) => /** @type {Colour} */ (between(stops.map(rgb), i / 255)));

/** 256 colours [red, green, blue] from no weight to the largest. @param {Palette} palette @param {Scheme} scheme */
export const weightRamp = (palette, scheme) => spread([palette.panel, palette.query, DEEP[scheme] || DEEP.light]);

/** 256 colours from the most negative number over zero to the most positive. @param {Palette} palette */
export const divergingRamp = (palette) => spread([palette.key, palette.panel, palette.query]);

/** Powers of ten from the weakest colour to the strongest: weights of a thumbnail come in 8 bits, others in 16. */
const DECADES = { model: 2, matrix: 3 };
const DEEPEST = { model: 255, matrix: 65535 };

const ROOT_TICKS = [0, 0.1, 0.25, 0.5, 1];
const HALVES = [0, 0.5, 1];

/** @param {number} number */
const short = (number) => String(Number(number.toPrecision(2)));
/** @param {number} share */
const within = (share) => Math.max(0, Math.min(1, share));

/** The share of the way along the colours that a weight has, from its share of the top of the scale. */
const SHARES = {
  root: Math.sqrt,
  /** @param {number} part */
  linear: (part) => part,
  /** @param {number} part */
  largest: (part) => part,
  /** @param {number} part */
  row: (part) => part,
  /** @param {number} part @param {number} decades */
  log: (part, decades) => (part > 0 ? 1 + Math.log10(part) / decades : 0),
};

/** A row of numbers from 10^-decades to 1. @param {number} decades */
const powers = (decades) => Array.from({ length: decades + 1 }, (_, i) => 10 ** (i - decades));

/** @param {ScaleKind} kind @param {number} top @param {number} decades */
function ticksOf(kind, top, decades) {
  if (kind === "row") return HALVES.map((part, i) => ({ at: part, text: ["0", "", "largest of its row"][i] }));
  const parts = kind === "root" ? ROOT_TICKS : kind === "log" ? powers(decades) : HALVES;
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
 * @param {{ kind?: ScaleKind, show: "model" | "matrix", most: number, codes: Uint16Array | Uint8Array }} given
 */
export function createScale({ kind = "root", show, most, codes }) {
  const unit = most / DEEPEST[show];
  const top = kind === "largest" ? strongest(codes) * unit || most : most;
  const decades = DECADES[show];
  return { kind, top, decades, unit, name: NAMES[kind], ticks: ticksOf(kind, top, decades) };
}

/** @param {Iterable<number>} codes */
function strongest(codes) {
  let most = 0;
  for (const code of codes) most = Math.max(most, code);
  return most;
}

/**
 * Which of 256 colours each of the codes of a matrix has, [row, column].
 * @param {Uint16Array | Uint8Array} codes @param {number} columns @param {Scale} scale
 */
export function shadesOf(codes, columns, { kind, top, decades, unit }) {
  const shades = new Uint8Array(codes.length);
  for (let start = 0; start < codes.length; start += columns) {
    const row = codes.subarray(start, start + columns);
    const end = kind === "row" ? strongest(row) * unit || 1 : top;
    row.forEach((code, i) => {
      shades[start + i] = Math.round(255 * within(SHARES[kind]((code * unit) / end, decades)));
    });
  }
  return shades;
}

const BAR = { width: 160, height: 10, steps: 32, size: 11 };
/** @param {number} at */
const alignOf = (at) => (at === 0 ? "start" : at === 1 ? "end" : "middle");

/**
 * The legend of a saved picture, 28 pixels high: the colours, their marks, and the name of the scale.
 * @param {Scale} scale @param {Pair} pair @param {Colour[]} ramp @param {string} ink
 * @returns {Shape[]}
 */
export function legendShapes({ name, ticks }, [x, y], ramp, ink) {
  const wide = BAR.width / BAR.steps;
  /** @type {Shape[]} */
  const boxes = Array.from({ length: BAR.steps }, (_, i) => ({
    box: [x + i * wide, y, wide, BAR.height],
    colour: hexOf(ramp[Math.round((255 * i) / (BAR.steps - 1))]),
  }));
  const marks = ticks.map(({ at, text }) => ({
    text,
    at: [x + at * BAR.width, y + 20],
    colour: ink,
    size: BAR.size,
    align: alignOf(at),
  }));
  return [...boxes, ...marks, { text: name, at: [x + BAR.width + 10, y + 5], colour: ink, size: BAR.size }];
}
