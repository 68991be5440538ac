// Attention weights of a sentence: bytes (HSL1, HST1, little-endian), sums over tokens, and the lines that are drawn.
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
 * [token of the other column][chosen head]: the sum over the units, which are queries or keys as the side says.
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

/** @param {number} weight */
export const exactWeight = (weight) => weight.toFixed(4);

/** Most lines that are drawn, the strongest: more would be a surface. */
export const MOST_LINES = 40000;

/** @param {number} count */
const all = (count) => Uint32Array.from({ length: count }, (_, i) => i);
/** @param {number[]} units @param {number} count */
const inside = (units, count) => units.filter((unit) => unit >= 0 && unit < count);

/**
 * Calls `act(head, query, key, code)` for every weight of at least `least` and more than nothing; `only` = {side,
 * units} or null.
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
 * Number of lines of each strength (256 steps), and the first step that is drawn.
 * @param {Layer} layer @param {number[]} chosen @param {number} least @param {Only | null} only
 */
function steps(layer, chosen, least, only) {
  const counts = new Uint32Array(256);
  each(layer, chosen, least, only, (_head, _query, _key, code) => counts[code >> 8]++);
  let [first, drawn] = [255, counts[255]];
  while (first > 0 && drawn + counts[first - 1] <= MOST_LINES) drawn += counts[--first];
  return { counts, first, drawn: Math.min(drawn, MOST_LINES), total: counts.reduce((sum, count) => sum + count, 0) };
}

/**
 * {total, count, heads, queries, keys, codes}: `total` lines there are, `count` of them, the strongest, are in the
 * arrays.
 * @param {Layer} layer @param {number[]} chosen @param {number} least @param {Only | null} only
 */
export function findLines(layer, chosen, least, only) {
  const { counts, first, drawn, total } = steps(layer, chosen, least, only);
  const lines = {
    total,
    count: drawn,
    heads: new Uint16Array(drawn),
    queries: new Uint16Array(drawn),
    keys: new Uint16Array(drawn),
    codes: new Uint16Array(drawn),
  };
  const next = new Uint32Array(256);
  for (let step = first + 1; step < 256; step++) next[step] = next[step - 1] + counts[step - 1] * Number(step > first);
  each(layer, chosen, least, only, (head, query, key, code) => {
    const step = code >> 8;
    if (step < first || next[step] >= drawn) return;
    const place = next[step]++;
    [lines.heads[place], lines.queries[place], lines.keys[place], lines.codes[place]] = [head, query, key, code];
  });
  return lines;
}
