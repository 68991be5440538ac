// Attention weights of a sentence: bytes (HSL1, HST1, little-endian), sums over tokens, the lines that are drawn, and
// colours. Ramps: one hue from zero to the largest weight, two hues around zero. Scales of matrices: which of 256
// colours a weight has, and what the ends and marks of the colours are.
import { hexOf, rgbOf } from "../web/drawing.mjs";
import { expectBytes, readHeader } from "../web/loading.mjs";

/**
 * The header and, after its numbers, the largest weight.
 * @param {ArrayBuffer} buffer @param {string} magic @param {string} what @param {number} count
 */
function headerWithMost(buffer, magic, what, count) {
  const { numbers, view, start } = readHeader(buffer, magic, what, count, 4);
  return { numbers, most: view.getFloat32(start - 4, true), start };
}

/**
 * {heads, queries, keys, most, codes}: a weight is its code / 65535 * most; codes are [head, query, key].
 * @param {ArrayBuffer} buffer
 */
export function decodeLayer(buffer) {
  const { numbers, most, start } = headerWithMost(buffer, "HSL1", "weights", 3);
  const [heads, queries, keys] = numbers;
  expectBytes(buffer, start, heads * queries * keys * 2, "weights");
  return { heads, queries, keys, most, codes: new Uint16Array(buffer, start) };
}

/**
 * {layers, heads, rows, columns, most, codes}: a weight is its code / 255 * most; codes are [layer, head, row,
 * column].
 * @param {ArrayBuffer} buffer
 */
export function decodeThumbnails(buffer) {
  const { numbers, most, start } = headerWithMost(buffer, "HST1", "thumbnails", 4);
  const [layers, heads, rows, columns] = numbers;
  expectBytes(buffer, start, layers * heads * rows * columns, "thumbnails");
  return { layers, heads, rows, columns, most, codes: new Uint8Array(buffer, start) };
}

/** @param {Layer} layer @param {number} head @param {number} query @param {number} key */
export const weightAt = (layer, head, query, key) =>
  (layer.codes[(head * layer.queries + query) * layer.keys + key] / 65535) * layer.most;

/** The codes of one head, [query, key]. @param {Layer} layer @param {number} head */
export const headCodes = ({ codes, queries, keys }, head) =>
  codes.subarray(head * queries * keys, (head + 1) * queries * keys);

/**
 * Codes of a difference, [query, key]: the first head, its part above 0, less the second, its part below 0.
 * @param {Layer} layer
 */
export function signedCodes(layer) {
  const below = headCodes(layer, 1);
  return Int32Array.from(headCodes(layer, 0), (code, i) => code - below[i]);
}

/**
 * Sums of weights over `units`, tokens of `side`: [token of the other column][chosen head].
 * @param {Layer} layer @param {number[]} chosen @param {Side} side @param {number[]} units
 */
export function weightSums(layer, chosen, side, units) {
  const others = side === "query" ? layer.keys : layer.queries;
  /** @param {number} head @param {number} unit @param {number} other */
  const weightOf = (head, unit, other) =>
    side === "query" ? weightAt(layer, head, unit, other) : weightAt(layer, head, other, unit);
  return Array.from({ length: others }, (_, other) =>
    chosen.map((head) => units.reduce((sum, unit) => sum + weightOf(head, unit, other), 0)),
  );
}

/** @param {number[]} values */
export const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / (values.length || 1);

/** Attention in per cent, a norm as a number. @param {number} weight @param {number} most */
export function formatWeight(weight, most) {
  if (most !== 1) return weight.toPrecision(3);
  const percent = 100 * weight;
  return `${percent >= 9.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)}%`;
}

/** A weight with more digits, for a weight read alone. @param {number} weight @param {number} [most] */
export const exactWeight = (weight, most = 1) => (most === 1 ? `${(100 * weight).toFixed(2)}%` : weight.toFixed(4));

/** Most lines that are drawn, the strongest: more would be a surface. */
export const MOST_LINES = 40000;

/** @param {number} count */
const all = (count) => Uint32Array.from({ length: count }, (_, i) => i);
/** @param {number[]} units @param {number} count */
const inside = (units, count) => units.filter((unit) => unit >= 0 && unit < count);

/**
 * Calls `act(head, query, key, code)` for every weight above 0 of at least `least`; `only` = {side, units} or
 * null.
 * @param {Layer} layer @param {number[]} chosen @param {number} least @param {Only | null} only
 * @param {(head: number, query: number, key: number, code: number) => void} act
 */
function each(layer, chosen, least, only, act) {
  const { codes, queries, keys, most } = layer;
  const threshold = Math.max(1, (least / most) * 65535);
  const rows = only?.side === "query" ? inside(only.units, queries) : all(queries);
  const columns = only?.side === "key" ? inside(only.units, keys) : all(keys);
  for (const head of inside(chosen, layer.heads))
    for (const query of rows) {
      const start = (head * queries + query) * keys;
      for (let i = 0; i < columns.length; i++)
        if (codes[start + columns[i]] >= threshold) act(head, query, columns[i], codes[start + columns[i]]);
    }
}

/**
 * Number of lines of each code, the weakest drawn code, its drawn lines, all drawn lines, all lines.
 * @param {Layer} layer @param {number[]} chosen @param {number} least @param {Only | null} only
 */
function strengths(layer, chosen, least, only) {
  const counts = new Uint32Array(65536);
  each(layer, chosen, least, only, (_head, _query, _key, code) => counts[code]++);
  let [weakest, drawn] = [65535, counts[65535]];
  while (weakest > 1 && drawn < MOST_LINES) drawn += counts[--weakest];
  const tooMany = Math.max(0, drawn - MOST_LINES);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return { counts, weakest, ofWeakest: counts[weakest] - tooMany, drawn: drawn - tooMany, total };
}

/**
 * {total, count, heads, queries, keys, codes}: of `total` lines the arrays hold the `count` strongest.
 * @param {Layer} layer @param {number[]} chosen @param {number} least @param {Only | null} only
 */
export function findLines(layer, chosen, least, only) {
  const { counts, weakest, ofWeakest, drawn, total } = strengths(layer, chosen, least, only);
  const lines = {
    total,
    count: drawn,
    heads: new Uint16Array(drawn),
    queries: new Uint16Array(drawn),
    keys: new Uint16Array(drawn),
    codes: new Uint16Array(drawn),
  };
  const next = new Uint32Array(65536);
  for (let code = weakest + 1; code < 65536; code++)
    next[code] = next[code - 1] + (code - 1 === weakest ? ofWeakest : counts[code - 1]);
  // Equally weak lines are left out evenly, not from the last heads and queries.
  /** @param {number} equal */
  const drawnOf = (equal) => Math.floor((equal * ofWeakest) / counts[weakest]);
  let equal = 0;
  each(layer, chosen, least, only, (head, query, key, code) => {
    if (code < weakest) return;
    if (code === weakest && drawnOf(equal) === drawnOf(++equal)) return;
    const place = next[code]++;
    [lines.heads[place], lines.queries[place], lines.keys[place], lines.codes[place]] = [head, query, key, code];
  });
  return lines;
}

const DEEP = { light: "#00223D", dark: "#DFF3FF" };

/** @param {number[][]} stops @param {number} share */
function between(stops, share) {
  const at = share * (stops.length - 1);
  const first = Math.min(Math.floor(at), stops.length - 2);
  return stops[first].map((part, i) => part + (stops[first + 1][i] - part) * (at - first));
}

/** @param {string[]} stops @returns {Colour[]} */
const spread = (stops) =>
  Array.from({ length: 256 }, (_, i) => /** @type {Colour} */ (between(stops.map(rgbOf), i / 255)));

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

/** The place of a weight along the colours, 0..1, from its share of the top of the scale. */
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
  /** @param {number} part */
  signed: (part) => 0.5 + part / 2,
};

/** Powers of ten from 10^-decades to 1. @param {number} decades */
const powers = (decades) => Array.from({ length: decades + 1 }, (_, i) => 10 ** (i - decades));

/** Ticks of a difference: its ends say what is more. @param {string} top */
const signedTicks = (top) =>
  ["looks more: " + top, "0", "arrives more: " + top].map((text, i) => ({ at: i / 2, text }));

/** @param {ScaleKind | "signed"} kind @param {number} top @param {number} decades */
function ticksOf(kind, top, decades) {
  if (kind === "signed") return signedTicks(short(top));
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
  signed: "difference",
};

/**
 * The scale of a picture: {kind, top, decades, unit, name, ticks}. A weight of `top` has the strongest colour; a weight
 * is its code times `unit`; `ticks` are {at, text} along the colours.
 * @param {{ kind?: ScaleKind | "signed", show: "model" | "matrix", most: number, codes: Codes }} given
 */
export function createScale({ kind = "root", show, most, codes }) {
  const unit = most / DEEPEST[show];
  const top = kind === "largest" || kind === "signed" ? strongest(codes) * unit || most : most;
  const decades = DECADES[show];
  return { kind, top, decades, unit, name: NAMES[kind], ticks: ticksOf(kind, top, decades) };
}

/** @param {Iterable<number>} codes */
function strongest(codes) {
  let most = 0;
  for (const code of codes) most = Math.max(most, Math.abs(code));
  return most;
}

/**
 * The colour of each code of a matrix, of 256 colours: [row, column].
 * @param {Codes} codes @param {number} columns @param {Scale} scale
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
