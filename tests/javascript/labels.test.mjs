import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseNames, emptySheet, fitLabels, nameAt } from "../../dashboard/assets/canvas/labels.mjs";

test("labels never overlap, and the first candidates come first", () => {
  const candidates = Array.from({ length: 500 }, (_, i) => ({
    px: Math.random() * 400,
    py: Math.random() * 400,
    text: `word${i}`,
    i,
  }));
  const fits = { most: 300, height: 14, beside: 5 };
  const labels = fitLabels(candidates, (text) => 6 * text.length, emptySheet(400, 400), fits);
  const order = labels.map(({ i }) => i);
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  for (const [i, label] of labels.entries())
    for (const other of labels.slice(0, i)) {
      const isBeside = Math.abs(label.left - other.left) >= Math.min(label.width, other.width);
      assert.ok(isBeside || Math.abs(label.top - other.top) >= label.height);
    }
});

test("there are no more labels than wanted", () => {
  const candidates = Array.from({ length: 50 }, (_, i) => ({ px: 10, py: 20 + 20 * i, text: "a" }));
  const labels = fitLabels(candidates, () => 6, emptySheet(400, 2000), { most: 7, height: 14, beside: 5 });
  assert.equal(labels.length, 7);
});

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
