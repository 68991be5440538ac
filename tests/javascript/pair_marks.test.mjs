import assert from "node:assert/strict";
import { test } from "node:test";
import {
  badgePlace,
  createMarkLegend,
  inkOn,
  shownMarks,
  thumbnailFrame,
  toggledMarks,
} from "../../dashboard/assets/sentence/pair_marks.mjs";
import { openTree } from "./tree.mjs";

globalThis.document = { documentElement: { getAttribute: () => "dark" } };

const UNITS = ["[CLS]", "brown", "cap", "##y"].map((name, i) => ({
  name,
  positions: [i],
  segment: 0,
  special: i === 0,
}));
const COLOURS = { light: ["#0072b2", "#d55e00"], dark: ["#56b4e9", "#ff9e64"] };
const mark = (query, key) => ({ positions: [query, key], names: [UNITS[query].name, UNITS[key].name], query, key });
const shown = (...marks) => ({ units: UNITS, keys: UNITS, marks, mark_colours: COLOURS });

test("a pair is marked after the marks that there are, by its positions and its names", () =>
  assert.deepEqual(toggledMarks(shown(mark(1, 2)), { query: 1, key: 3 }), [mark(1, 2), mark(1, 3)]));

test("a word is marked by its first wordpiece", () => {
  const words = { ...shown(), keys: [{ name: "capy", positions: [2, 3] }] };
  assert.deepEqual(toggledMarks(words, { query: 1, key: 0 })[0].positions, [1, 2]);
});

test("a marked pair is marked no longer", () =>
  assert.deepEqual(toggledMarks(shown(mark(1, 2), mark(1, 3)), { query: 1, key: 2 }), [mark(1, 3)]));

test("no more pairs are marked than there are colours", () =>
  assert.equal(toggledMarks(shown(mark(1, 2), mark(1, 3)), { query: 2, key: 3 }), null));

test("what is hidden keeps its number and its colour and is not drawn", () => {
  const hidden = { ...mark(1, 2), key: null };
  assert.deepEqual(shownMarks(shown(hidden, mark(1, 3))), [{ query: 1, key: 3, number: 2, colour: "#ff9e64" }]);
});

test("a picture without marks has none to draw", () => assert.deepEqual(shownMarks({ ...shown(), marks: null }), []));

test("the numbers of marks from one query stand apart", () => {
  const places = [1, 2].map((number) => badgePlace({ number }, [0, 0, 300, 60]));
  assert.deepEqual(places, [
    [105, 21],
    [120, 24],
  ]);
});

for (const [colour, ink] of [
  [[240, 194, 75], "#000000"],
  [[102, 17, 204], "#ffffff"],
])
  test(`a number is ${ink} on ${colour}`, () => assert.equal(inkOn(colour), ink));

test("a cell of a thumbnail is framed around its middle, however small it is", () => {
  assert.deepEqual(thumbnailFrame({ query: 1, key: 2 }, shown(), [100, 50], 80), [140, 70, 20, 20]);
  assert.deepEqual(thumbnailFrame({ query: 1, key: 2 }, shown(), [100, 50], 8), [102.5, 50.5, 5, 5]);
});

/** The element with the keyboard after removing the mark at a place. */
function focusedAfter(marks, place, selected = []) {
  const body = openTree();
  const views = {
    shown: { ...shown(...marks), show: "head", queries: selected.slice(0, 1), toward: selected[1] ?? null },
  };
  views.showMarks = (left) => {
    views.shown.marks = left;
    legend.draw();
  };
  const legend = createMarkLegend(views, new AbortController().signal);
  body.append(legend.row);
  legend.draw();
  const button = legend.row.querySelectorAll("button")[1 + place];
  button.focus();
  button.click();
  const { activeElement } = document;
  return activeElement === legend.row ? "row" : (activeElement?.attributes["aria-label"] ?? activeElement?.textContent);
}

test("the keyboard goes from a removed mark to the next one, and from the last one to the one before", () => {
  const removeOf = (query, key) => `Remove the mark of ${UNITS[query].name} to ${UNITS[key].name}`;
  assert.equal(focusedAfter([mark(1, 2), mark(1, 3)], 0), removeOf(1, 3));
  assert.equal(focusedAfter([mark(1, 2), mark(1, 3)], 1), removeOf(1, 2));
});

test("from the only mark it goes to the button that marks a pair, or stays in the row where none is selected", () => {
  assert.equal(focusedAfter([mark(1, 2)], 0, [1, 2]), "Mark pair");
  assert.equal(focusedAfter([mark(1, 2)], 0), "row");
});
