import assert from "node:assert/strict";
import { test } from "node:test";
import {
  actionOf,
  arrowOf,
  followHelp,
  followShortcuts,
  isLetter,
  openHelp,
  stepAfter,
  stepInGrid,
} from "../../dashboard/assets/web/keyboard.mjs";

for (const [key, afterG, action] of [
  ["?", false, { help: true }],
  ["/", false, { search: true }],
  ["c", false, { copy: true }],
  ["c", true, { page: "c" }],
  ["g", false, { wait: true }],
  ["s", true, { page: "s" }],
  ["g", true, { page: "g" }],
  ["s", false, null],
  ["1", true, null],
])
  test(`${afterG ? "after g, " : ""}${key} does ${JSON.stringify(action)}`, () => {
    assert.deepEqual(actionOf(key, afterG), action);
  });

/** Listeners to the keys of a page without any part. */
function listenersOfPage() {
  const listeners = {};
  const addEventListener = (name, act) => (listeners[name] = act);
  globalThis.document = { addEventListener, getElementById: () => null, querySelector: () => null };
  followShortcuts();
  return listeners;
}

for (const [before, after, wanted] of [
  ["g", 100, false],
  ["g", 2000, true],
  ["s", 100, true],
])
  test(`h ${after} ms after ${before} is ${wanted ? "" : "not "}a letter of the views`, () => {
    const pressed = { key: before, timeStamp: 5000, target: null, preventDefault: () => {} };
    listenersOfPage().keydown(pressed);
    assert.equal(isLetter({ key: "h", timeStamp: 5000 + after }, "h"), wanted);
  });

test("a key whose part of the page is not there yet does nothing", () => {
  const listeners = listenersOfPage();
  for (const key of ["c", "?"])
    assert.doesNotThrow(() => listeners.keydown({ key, timeStamp: 0, target: null, preventDefault: () => {} }));
});

for (const [step, wanted] of [
  [
    [0, 1],
    [1, 2],
  ],
  [
    [0, -5],
    [1, 0],
  ],
  [
    [1, 0],
    [1, 1],
  ],
])
  test(`a step of ${step} in a grid of two rows and three columns leads to ${wanted}`, () =>
    assert.deepEqual(stepInGrid([1, 1], step, [2, 3]), wanted));

test("an arrow key moves, and with Alt, Ctrl or Cmd it is the browser's", () => {
  assert.deepEqual(arrowOf({ key: "ArrowLeft" }), [0, -1]);
  assert.equal(arrowOf({ key: "Enter" }), undefined);
  for (const modifier of ["altKey", "ctrlKey", "metaKey"])
    assert.equal(arrowOf({ key: "ArrowLeft", [modifier]: true }), undefined);
});

test("with Alt a letter is none of the views", () => assert.equal(isLetter({ key: "h", altKey: true }, "h"), false));

for (const [step, turn, after] of [
  [0, 1, 1],
  [3, -1, 2],
  [0, -1, 0],
  [4, 1, null],
])
  test(`a turn of ${turn} from step ${step} of five leads to ${after}`, () =>
    assert.equal(stepAfter(step, turn, 5), after));

for (const [modifier, step] of [
  ["none", "1"],
  ["altKey", "0"],
  ["ctrlKey", "0"],
  ["metaKey", "0"],
])
  test(`an arrow key with the modifier ${modifier} leaves the tour at step ${step}`, () => {
    const tour = { open: true, dataset: { step: "0", steps: "5" }, querySelector: () => null };
    const listeners = {};
    const addEventListener = (name, act) => (listeners[name] = act);
    globalThis.document = { addEventListener, getElementById: (id) => (id === "tour" ? tour : null) };
    followHelp();
    listeners.keydown({ key: "ArrowRight", [modifier]: true, preventDefault: () => {} });
    assert.equal(tour.dataset.step, step);
  });

test("nothing opens before the page has its dialogs", () => {
  globalThis.document = { getElementById: () => null };
  assert.doesNotThrow(() => openHelp("tour"));
});
