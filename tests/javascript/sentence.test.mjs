import assert from "node:assert/strict";
import { test } from "node:test";
import { matrixLayout } from "../../dashboard/assets/sentence/matrix_view.mjs";
import { headAt, thumbnailLayout } from "../../dashboard/assets/sentence/model_view.mjs";
import { svgText, weightRamp } from "../../dashboard/assets/sentence/picture.mjs";
import {
  headAlone,
  pairOf,
  rowTops,
  selectToken,
  selectedPositions,
  toggledHeads,
} from "../../dashboard/assets/sentence/choice.mjs";

test("the second sentence is set apart", () =>
  assert.deepEqual(rowTops([0, 0, 1, 1].map((segment) => ({ segment }))), [0, 24, 64, 88, 112]));

test("a column without tokens has no height", () => assert.deepEqual(rowTops([]), [0]));

for (const [selected, unit, more, after] of [
  [[], 3, false, [3]],
  [[3], 3, false, []],
  [[3], 1, false, [1]],
  [[3], 1, true, [1, 3]],
  [[1, 3], 1, true, [3]],
])
  test(`a click on ${unit}${more ? " with Shift" : ""} makes ${after} of the selection ${selected}`, () =>
    assert.deepEqual(selectToken(selected, unit, more), after));

for (const [shown, wanted] of [
  [
    { side: "query", queries: [2], toward: 0 },
    { query: 2, key: 0 },
  ],
  [{ side: "query", queries: [2], toward: null }, null],
  [{ side: "query", queries: [2, 3], toward: 0 }, null],
  [{ side: "key", queries: [2], toward: 0 }, null],
])
  test(`${JSON.stringify(shown)} is ${wanted ? "a" : "no"} pair`, () => assert.deepEqual(pairOf(shown), wanted));

for (const [side, wanted] of [
  ["query", [4, 5]],
  ["key", [9]],
])
  test(`the ${side} tokens that are hidden are those of their column`, () => {
    const units = [{ positions: [3] }, { positions: [4, 5] }];
    const keys = [{ positions: [8] }, { positions: [9] }];
    assert.deepEqual(selectedPositions({ side, queries: [1], units, keys }), wanted);
  });

test("a head is shown alone, then all heads again", () => {
  assert.deepEqual(headAlone([0, 2], 1, 3), [1]);
  assert.deepEqual(headAlone([1], 1, 3), [0, 1, 2]);
});

test("a head is taken out and comes back in its place", () => {
  assert.deepEqual(toggledHeads([0, 1, 2], 1), [0, 2]);
  assert.deepEqual(toggledHeads([0, 2], 1), [0, 1, 2]);
});

test("the last head cannot be taken out", () => assert.deepEqual(toggledHeads([1], 1), [1]));

for (const [scheme, palette] of [
  ["light", { panel: "#F6F7F9", query: "#0072B2" }],
  ["dark", { panel: "#2C2E33", query: "#56B4E9" }],
])
  test(`the ${scheme} ramp goes one way from the ground`, () => {
    const lightness = weightRamp(palette, scheme).map((colour) => colour.reduce((sum, part) => sum + part));
    const direction = scheme === "light" ? -1 : 1;
    for (let i = 1; i < lightness.length; i++) assert.ok(direction * (lightness[i] - lightness[i - 1]) >= 0);
  });

test("the head under a pixel is the head drawn there", () => {
  const shape = { layers: 6, heads: 12 };
  const place = thumbnailLayout(6, 12, 900);
  assert.deepEqual(headAt(place, shape, place.width - 8, place.height - 8), [5, 11]);
  assert.equal(headAt(place, shape, 5, 100), null);
  assert.equal(headAt(place, shape, 100, 5), null);
});

/** A document that measures texts, seven pixels a letter. */
function measuringDocument() {
  const context = { measureText: (text) => ({ width: 7 * text.length }) };
  return { createElement: () => ({ getContext: () => context }) };
}

test("a matrix fits its room and its cells are no larger than needed", () => {
  globalThis.document = measuringDocument();
  const units = (count) => Array.from({ length: count }, () => ({ name: "cat" }));
  const [small, medium, large] = [3, 60, 512].map((count) => matrixLayout(units(count), units(count), 1000));
  assert.equal(small.cell, 38);
  assert.ok(medium.width <= 1000);
  assert.equal(large.cell, 3);
});

test("an SVG file is XML whatever a token contains", () => {
  const shapes = [
    { text: '<b>&"\u0000\u0007', at: [1, 2], colour: "#000000" },
    { line: [0, 1, 2, 3], colour: "#0072b2", opacity: 0.5 },
  ];
  const text = svgText({ width: 10, height: 20, ground: "#ffffff", title: "a < b", source: "m on c", shapes });
  assert.match(text, />&lt;b&gt;&amp;&quot;\ufffd\ufffd<\/text>/);
  assert.match(text, /stroke-opacity="0.500"/);
  assert.match(text, /<title>a &lt; b<\/title>/);
});
