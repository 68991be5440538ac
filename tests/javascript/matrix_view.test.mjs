import assert from "node:assert/strict";
import { test } from "node:test";
import { createMatrixView, matrixLayout } from "../../dashboard/assets/sentence/matrix_view.mjs";
import { followShortcuts } from "../../dashboard/assets/web/keyboard.mjs";

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

/** The listeners of the page and of a matrix on it, and what the matrix has done. */
function keysOfMatrix() {
  const [onPage, onElements, done] = [{}, {}, []];
  const addEventListener = (name, act) => (onElements[name] = act);
  const nothing = () => {};
  const element = () => ({ style: {}, setAttribute: nothing, append: nothing, addEventListener });
  globalThis.document = {
    createElement: element,
    querySelector: () => null,
    addEventListener: (name, act) => (onPage[name] = act),
  };
  followShortcuts();
  const views = { shown: { units: [{ positions: [4] }] }, leave: nothing };
  views.send = (event) => done.push(event);
  views.toggleMark = (pair) => done.push(pair);
  createMatrixView(views, element(), new AbortController().signal);
  return { onPage, onElements, done };
}

for (const [key, wanted] of [
  ["h", { hidden: { positions: [4] } }],
  ["m", { query: 0, key: 0 }],
])
  test(`${key} acts on a matrix and on nothing else, and after g it opens a page only`, () => {
    const { onPage, onElements, done } = keysOfMatrix();
    const press = (pressed, timeStamp) => {
      const event = { key: pressed, timeStamp, target: null, preventDefault: () => (event.defaultPrevented = true) };
      onElements.keydown(event);
      const isTaken = Boolean(event.defaultPrevented);
      onPage.keydown(event);
      return isTaken;
    };
    assert.equal(press(key, 1000), true);
    assert.deepEqual(done, [wanted]);
    press("g", 5000);
    assert.equal(press(key, 5100), false);
    assert.deepEqual(done, [wanted]);
  });
