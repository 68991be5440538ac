import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestLine } from "../../dashboard/assets/sentence/head_picture.mjs";

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
