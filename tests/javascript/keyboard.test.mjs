import assert from "node:assert/strict";
import { test } from "node:test";
import { actionOf, followShortcuts, stepInGrid } from "../../dashboard/assets/web/keyboard.mjs";

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

test("a key whose part of the page is not there yet does nothing", () => {
  const listeners = {};
  const addEventListener = (name, act) => (listeners[name] = act);
  globalThis.document = { addEventListener, getElementById: () => null, querySelector: () => null };
  followShortcuts();
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
