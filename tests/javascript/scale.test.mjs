import assert from "node:assert/strict";
import { test } from "node:test";
import { createScale, legendShapes, shadesOf, weightRamp } from "../../dashboard/assets/sentence/scale.mjs";

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
