import assert from "node:assert/strict";
import { test } from "node:test";
import { matrixLayout } from "../../dashboard/assets/sentence/matrix_view.mjs";

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
