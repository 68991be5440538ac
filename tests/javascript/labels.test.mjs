import assert from "node:assert/strict";
import { test } from "node:test";
import { emptySheet, fitLabels } from "../../dashboard/assets/canvas/labels.mjs";

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
