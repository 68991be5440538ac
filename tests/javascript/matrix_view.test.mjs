import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createMatrixView,
  matrixLayout,
  namedAt,
  writtenWeight,
} from "../../dashboard/assets/sentence/matrix_view.mjs";
import { followShortcuts } from "../../dashboard/assets/web/keyboard.mjs";

/** A document that measures texts, seven pixels a letter. */
function measuringDocument() {
  const context = { measureText: (text) => ({ width: 7 * text.length }) };
  return { createElement: () => ({ getContext: () => context }) };
}

for (const [weight, text] of [
  [0.25, ".25"],
  [-0.25, "−.25"],
  [-0.001, ".00"],
  [1, "1.00"],
])
  test(`the weight ${weight} is written ${text}`, () => assert.equal(writtenWeight(weight), text));

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

/** The place `pixels` along a column's name, on a slant of 50 degrees from 8 pixels above its cell. */
function alongName({ cell, left, top }, column, pixels) {
  const slant = (50 * Math.PI) / 180;
  return [left + (column + 0.5) * cell + pixels * Math.cos(slant), top - 8 - pixels * Math.sin(slant)];
}

const NAMES = Array.from({ length: 30 }, (_, i) => ({ name: `t${i}` }));
const TOKENS = { units: NAMES, keys: NAMES };

for (const pixels of [0, 40, 100])
  test(`the name of a column is found on its slant, ${pixels} pixels along it`, () => {
    const place = { cell: 20, left: 60, top: 120 };
    for (const column of [0, 6, 29])
      assert.equal(namedAt(TOKENS, place, ...alongName(place, column, pixels)), NAMES[column]);
  });

test("where one of five names is drawn, the nearest drawn one is meant, of columns and of rows", () => {
  const place = { cell: 3, left: 60, top: 120 };
  for (const [column, drawn] of [
    [3, 5],
    [5, 5],
    [7, 5],
    [8, 10],
  ]) {
    assert.equal(namedAt(TOKENS, place, ...alongName(place, column, 50)), NAMES[drawn]);
    assert.equal(namedAt(TOKENS, place, 30, 120 + 3 * (column + 0.5)), NAMES[drawn]);
  }
});

test("beside the names and in the cells no name is meant", () => {
  const place = { cell: 20, left: 60, top: 120 };
  for (const [x, y] of [
    [100, 200],
    [30, 30],
    [70, 10],
    [30, 120 + 20 * 31],
  ])
    assert.equal(namedAt(TOKENS, place, x, y), undefined);
});
