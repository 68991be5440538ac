import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseNames, nameAt } from "../../dashboard/assets/canvas/labels.mjs";
import { styleOf } from "../../dashboard/assets/canvas/overlay.mjs";
import { emptySheet } from "../../dashboard/assets/canvas/labels.mjs";

const ROOM = { left: 0, top: 0, right: 400, bottom: 300 };
const choose = (places) =>
  chooseNames(
    places.map((place) => ({ name: "the · of", place })),
    () => 80,
    emptySheet(400, 300),
    ROOM,
    ([x, y]) => [400 * x, 300 * (1 - y)],
  );
const apart = (a, b) =>
  a.left + a.width <= b.left || b.left + b.width <= a.left || a.top + a.height <= b.top || b.top + b.height <= a.top;

test("names of clusters with one peak stand apart, within the room", () => {
  const names = choose(Array(5).fill([0.5, 0.5]));
  assert.equal(names.length, 5);
  names.forEach((name, i) => names.slice(i + 1).forEach((other) => assert.ok(apart(name, other))));
  for (const { left, width } of names) assert.ok(left >= 0 && left + width <= 400);
});

test("a cluster out of sight has no name", () => {
  assert.deepEqual(choose([[1.2, 0.5]]), []);
});

test("the name under a pixel is found", () => {
  const names = choose([
    [0.2, 0.8],
    [0.7, 0.3],
  ]);
  assert.equal(nameAt(names, 280, 210), names[1]);
  assert.equal(nameAt(names, 200, 150), undefined);
});

test("contours have the colour of their role, or ink where points have other colours", () => {
  const panels = { roles: ["query", "key"], palette: { ink: "#000", query_contour: "#002", key_contour: "#420" } };
  const [own, coloured] = [false, true].map((isColoured) => styleOf({ role: 1, share: 0.5 }, panels, isColoured));
  assert.deepEqual([own.colour, own.dashes.length], ["#420", 0]);
  assert.deepEqual([coloured.colour, coloured.dashes.length], ["#000", 2]);
});
