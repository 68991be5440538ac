import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createScale,
  decodeLayer,
  decodeThumbnails,
  findLines,
  exactWeight,
  formatWeight,
  legendShapes,
  shadesOf,
  signedCodes,
  weightAt,
  weightRamp,
  weightSums,
} from "../../dashboard/assets/sentence/weights.mjs";
import { message } from "./messages.mjs";

/** Weights of a layer by their index, and random ones, most of them small as in attention. */
function layerOf(share, [heads, queries, keys] = [2, 3, 4], most = 1) {
  const codes = Uint16Array.from({ length: heads * queries * keys }, (_, i) => Math.round(65535 * share(i)));
  return { heads, queries, keys, most, codes };
}
const random = (shape) => layerOf(() => Math.random() ** 3, shape);

test("weights are read as they were sent", () => {
  const read = decodeLayer(message("HSL1", [1, 2, 3], Uint16Array.from([0, 1, 2, 65535, 4, 5]), 2.5));
  const { codes, ...shape } = read;
  assert.deepEqual([shape, [...codes]], [{ heads: 1, queries: 2, keys: 3, most: 2.5 }, [0, 1, 2, 65535, 4, 5]]);
  assert.equal(weightAt(read, 0, 1, 0), 2.5);
});

test("thumbnails are read as they were sent", () => {
  const { codes, ...shape } = decodeThumbnails(message("HST1", [1, 2, 1, 2], Uint8Array.from([0, 255, 7, 8]), 1));
  assert.deepEqual(shape, { layers: 1, heads: 2, rows: 1, columns: 2, most: 1 });
  assert.deepEqual([...codes], [0, 255, 7, 8]);
});

const REFUSED = [
  [() => decodeLayer(message("HSL1", [1, 9, 9], [1, 2], 1)), "The download of weights is incomplete."],
  [() => decodeLayer(message("HST1", [1, 1, 1], [0, 0], 1)), "The server sent invalid weights."],
  [() => decodeLayer(new ArrayBuffer(3)), "The server sent invalid weights."],
  [() => decodeThumbnails(message("HST1", [1, 1, 9, 9], [1], 1)), "The download of thumbnails is incomplete."],
  [() => decodeThumbnails(message("HSL1", [1, 1, 1, 1], [1], 1)), "The server sent invalid thumbnails."],
];
for (const [read, problem] of REFUSED)
  test(`a message that is not whole is refused: ${problem}`, () =>
    assert.throws(read, { message: `${problem} Reload the page.` }));

for (const only of [null, { side: "query", units: [2, 5] }, { side: "key", units: [0, 3] }])
  test(`the lines of ${JSON.stringify(only)} are those that a search of all weights gives`, () => {
    const layer = random([4, 9, 7]);
    const wanted = [];
    for (const head of [1, 3])
      for (let query = 0; query < 9; query++)
        for (let key = 0; key < 7; key++) {
          const isInside = !only || only.units.includes(only.side === "query" ? query : key);
          if (isInside && weightAt(layer, head, query, key) >= 0.05) wanted.push(`${head},${query},${key}`);
        }
    const lines = findLines(layer, [1, 3], 0.05, only);
    const names = Array.from(lines.heads, (head, i) => `${head},${lines.queries[i]},${lines.keys[i]}`);
    assert.equal(lines.total, wanted.length);
    assert.deepEqual(names.sort(), wanted.sort());
  });

test("stronger lines are drawn over weaker ones", () => {
  const { codes } = findLines(random([2, 30, 30]), [0, 1], 0, null);
  codes.forEach((code, i) => assert.ok(i === 0 || code >= codes[i - 1]));
});

test("of too many lines the strongest are drawn", () => {
  const layer = random([12, 128, 128]);
  const { total, count, codes } = findLines(layer, [...Array(12).keys()], 0, null);
  assert.equal(count, 40_000);
  assert.equal(total, layer.codes.filter(Boolean).length);
  assert.deepEqual(codes, layer.codes.toSorted().slice(-40_000));
});

test("of too many equal lines as many are drawn of each head", () => {
  const layer = layerOf(() => 1 / 128, [3, 128, 128]);
  const { total, count, heads, codes } = findLines(layer, [0, 1, 2], 0, null);
  assert.deepEqual([total, count], [49_152, 40_000]);
  assert.ok(codes.every((code) => code === 512));
  for (const head of [0, 1, 2]) assert.ok(Math.abs(heads.filter((other) => other === head).length - 40_000 / 3) < 1);
});

test("a weight of zero is no line, whatever the threshold", () =>
  assert.equal(
    findLines(
      layerOf((i) => (i === 5 ? 0.5 : 0)),
      [0, 1],
      0,
      null,
    ).total,
    1,
  ));

test("the threshold of norms is a norm", () =>
  assert.equal(
    findLines(
      layerOf((i) => i / 24, [2, 3, 4], 3),
      [0, 1],
      1.5,
      null,
    ).total,
    12,
  ));

const rounded = (sums) => sums.map(([sum]) => Math.round(24 * sum));

test("selected queries give the sum of their weights to every key", () =>
  assert.deepEqual(
    rounded(
      weightSums(
        layerOf((i) => i / 24),
        [1],
        "query",
        [0, 2],
      ),
    ),
    [32, 34, 36, 38],
  ));

test("selected keys get the sum of their weights from every query", () =>
  assert.deepEqual(
    rounded(
      weightSums(
        layerOf((i) => i / 24),
        [0],
        "key",
        [1, 3],
      ),
    ),
    [4, 12, 20],
  ));

for (const [weight, most, text] of [
  [0.344, 1, "34%"],
  [0.0123, 1, "1.2%"],
  [0.0999, 1, "10%"],
  [1, 1, "100%"],
  [1.2345, 3, "1.23"],
])
  test(`the weight ${weight} of at most ${most} is written ${text}`, () =>
    assert.equal(formatWeight(weight, most), text));

test("a weight that is read alone has more digits, a norm is a number", () =>
  assert.deepEqual([exactWeight(0.012), exactWeight(1), exactWeight(1.2345, 3)], ["1.20%", "100.00%", "1.2345"]));

/** Codes of weights of at most 1, as a matrix has them. */
const codesOf = (...weights) => Uint16Array.from(weights, (weight) => Math.round(65535 * weight));

/** The shades of a matrix with these rows. */
function shades(kind, rows, most = 1) {
  const codes = codesOf(...rows.flat());
  return [...shadesOf(codes, rows[0].length, createScale({ kind, show: "matrix", most, codes }))];
}

for (const [kind, rows, wanted] of [
  ["root", [[0, 0.25, 1]], [0, 128, 255]],
  ["linear", [[0, 0.25, 1]], [0, 64, 255]],
  ["largest", [[0, 0.1, 0.2]], [0, 128, 255]],
  [
    "row",
    [
      [0.1, 0.2],
      [0.5, 1],
      [0, 0],
    ],
    [128, 255, 128, 255, 0, 0],
  ],
  ["log", [[0, 0.0005, 0.1, 1]], [0, 0, 170, 255]],
])
  test(`the scale ${kind} gives ${JSON.stringify(rows)} the shades ${wanted}`, () =>
    assert.deepEqual(shades(kind, rows), wanted));

const ticks = (kind, { show = "matrix", most = 1, codes = codesOf(0.2) } = {}) =>
  createScale({ kind, show, most, codes }).ticks.map(({ at, text }) => `${text}@${at.toFixed(2)}`);

for (const [name, shown, wanted] of [
  ["root", ticks("root"), ["0@0.00", "0.1@0.32", "0.25@0.50", "0.5@0.71", "1@1.00"]],
  ["linear", ticks("linear"), ["0@0.00", "0.5@0.50", "1@1.00"]],
  ["linear of norms", ticks("linear", { most: 3 }), ["0@0.00", "1.5@0.50", "3@1.00"]],
  ["largest", ticks("largest"), ["0@0.00", "0.1@0.50", "0.2@1.00"]],
  ["row", ticks("row"), ["0@0.00", "@0.50", "largest of its row@1.00"]],
  ["log", ticks("log"), ["≤ 0.001@0.00", "0.01@0.33", "0.1@0.67", "1@1.00"]],
  ["log of thumbnails", ticks("log", { show: "model" }), ["≤ 0.01@0.00", "0.1@0.50", "1@1.00"]],
])
  test(`the legend of the scale ${name} says where its weights are`, () => assert.deepEqual(shown, wanted));

test("a difference is what is above zero less what is below, and its colours have nothing in the middle", () => {
  const layer = { heads: 2, queries: 1, keys: 3, most: 1, codes: codesOf(0.2, 0, 0, 0, 0, 0.1) };
  const codes = signedCodes(layer);
  assert.deepEqual([...codes], [...codesOf(0.2), 0, -codesOf(0.1)[0]]);
  const scale = createScale({ kind: "signed", show: "matrix", most: 1, codes });
  assert.deepEqual([...shadesOf(codes, 3, scale)], [255, 128, 64]);
  assert.deepEqual(
    scale.ticks.map(({ text }) => text),
    ["looks more: 0.2", "0", "arrives more: 0.2"],
  );
});

test("a tick stands where its weight has its shade", () => {
  for (const kind of ["root", "linear", "log"]) {
    const codes = codesOf(0.1);
    const scale = createScale({ kind, show: "matrix", most: 1, codes });
    const tick = scale.ticks.find(({ text }) => text === "0.1");
    if (tick) assert.ok(Math.abs(shadesOf(codes, 1, scale)[0] - 255 * tick.at) <= 1, kind);
  }
});

test("a matrix of nothing but zeros has the weakest colour in every scale", () => {
  for (const kind of ["root", "linear", "largest", "row", "log"]) assert.deepEqual(shades(kind, [[0, 0]]), [0, 0]);
});

test("a saved legend has the colours, their marks and the name of the scale", () => {
  const ramp = Array.from({ length: 256 }, (_, i) => [i, i, i]);
  const shapes = legendShapes(
    createScale({ kind: "log", show: "matrix", most: 1, codes: codesOf(1) }),
    [5, 9],
    ramp,
    "#111111",
  );
  const boxes = shapes.filter(({ box }) => box);
  assert.deepEqual([boxes[0].colour, boxes.at(-1).colour], ["#000000", "#ffffff"]);
  assert.deepEqual(
    shapes.filter(({ text }) => text).map(({ text }) => text),
    ["≤ 0.001", "0.01", "0.1", "1", "logarithmic"],
  );
});

for (const [scheme, palette] of [
  ["light", { panel: "#F6F7F9", query: "#0072B2" }],
  ["dark", { panel: "#2C2E33", query: "#56B4E9" }],
])
  test(`the ${scheme} ramp goes one way from the ground`, () => {
    const lightness = weightRamp(palette, scheme).map((colour) => colour.reduce((sum, part) => sum + part));
    const direction = scheme === "light" ? -1 : 1;
    for (let i = 1; i < lightness.length; i++) assert.ok(direction * (lightness[i] - lightness[i - 1]) >= 0);
  });
