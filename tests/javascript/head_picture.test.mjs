import assert from "node:assert/strict";
import { test } from "node:test";
import { headPicture, nearestLine } from "../../dashboard/assets/sentence/head_picture.mjs";

const LINES = [
  [0, 0, 100, 0],
  [0, 10, 100, 10],
  [0, 10, 100, 10],
  [0, 0, 100, 100],
];
for (const [name, point, wanted] of [
  ["a line within reach", [90, 4], 0],
  ["the nearest of two", [90, 6], 2],
  ["the one on top of two that are equally near", [90, 10], 2],
  ["a slanted line", [52, 49], 3],
  ["no line beyond reach", [90, 30], -1],
])
  test(`a click finds ${name}`, () => assert.equal(nearestLine(LINES, point, 6), wanted));

test("without lines a click finds none", () => assert.equal(nearestLine([], [0, 0], 6), -1));

/** A document with letters of seven pixels, of eight in another typeface than Roboto. */
function measuringDocument() {
  const context = { font: "" };
  context.measureText = (text) => ({ width: (context.font.includes("Roboto") ? 7 : 8) * text.length });
  const documentElement = { getAttribute: () => "light" };
  return { createElement: () => ({ getContext: () => context }), documentElement };
}

test("names of heads, however long, and the title stand beside each other in a file and within it", () => {
  globalThis.document = measuringDocument();
  const names = ["looks more", "arrives more", "a name that is much longer than all of the others of the legend"];
  const unit = { name: "cat", positions: [0], segment: 0, special: false };
  const data = { heads: 3, queries: 1, keys: 1, most: 1, codes: Uint16Array.of(1, 2, 3) };
  const chosen = [0, 1, 2];
  const shown = {
    units: [unit],
    keys: [unit],
    title: "t".repeat(90),
    chosen,
    data,
    least: 0,
    queries: [],
    toward: null,
  };
  const views = {
    shown: { ...shown, marks: [], mark_colours: { light: [] } },
    palette: { ink: "#000000", background: "#ffffff" },
    nameOf: (head) => names[head],
    colour: () => "#0072b2",
  };
  const { shapes, width } = headPicture(views, null);
  const lefts = names.map((name) => shapes.find(({ text }) => text === name).at[0]);
  assert.deepEqual(
    lefts,
    [0, 1, 2].map((i) => 20 + 16 + names.slice(0, i).reduce((sum, name) => sum + 28 + 8 * 1.06 * name.length, 0)),
  );
  assert.ok(width >= lefts[2] + 8 * names[2].length + 20);
  assert.ok(width >= 40 + 8 * 90);
});
