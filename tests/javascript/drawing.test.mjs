import assert from "node:assert/strict";
import { test } from "node:test";

import {
  hexOf,
  printLight,
  rgbOf,
  squaredDistance,
  whenPixelRatioChanges,
} from "../../dashboard/assets/web/drawing.mjs";

/** A page in a colour scheme, without a browser. */
function pageIn(scheme) {
  const attributes = { "data-mantine-color-scheme": scheme };
  const root = {
    getAttribute: (name) => attributes[name] ?? null,
    setAttribute: (name, value) => (attributes[name] = value),
  };
  const page = new EventTarget();
  printLight(page, root);
  const after = (...events) => {
    for (const name of events) page.dispatchEvent(new Event(name));
    return attributes["data-mantine-color-scheme"];
  };
  return after;
}

test("a dark page is light on paper, and dark afterwards", () => {
  const after = pageIn("dark");
  assert.equal(after("beforeprint"), "light");
  assert.equal(after("afterprint"), "dark");
});

test("a light page stays light", () => {
  assert.equal(pageIn("light")("beforeprint", "afterprint"), "light");
});

/** A window whose screen can be changed. */
function screen(ratio) {
  const asked = [];
  globalThis.window = {
    devicePixelRatio: ratio,
    matchMedia: (query) => (asked.push(Object.assign(new EventTarget(), { query })), asked.at(-1)),
  };
  const moveTo = (next) => {
    window.devicePixelRatio = next;
    asked.at(-1).dispatchEvent(new Event("change"));
  };
  return { asked, moveTo };
}

test("each move to a screen of another pixel ratio is told, with the ratio that it has", () => {
  const { asked, moveTo } = screen(1);
  const drawn = [];
  whenPixelRatioChanges(() => drawn.push(window.devicePixelRatio), new AbortController().signal);
  moveTo(2);
  moveTo(1.5);
  assert.deepEqual(drawn, [2, 1.5]);
  assert.deepEqual(
    asked.map(({ query }) => query),
    ["(resolution: 1dppx)", "(resolution: 2dppx)", "(resolution: 1.5dppx)"],
  );
});

test("what has left the page is told no more", () => {
  const { moveTo } = screen(1);
  const [drawn, leaving] = [[], new AbortController()];
  whenPixelRatioChanges(() => drawn.push(1), leaving.signal);
  leaving.abort();
  moveTo(2);
  assert.deepEqual(drawn, []);
});

for (const [point, line, wanted] of [
  [[5, 3], [0, 0, 10, 0], 3],
  [[13, 4], [0, 0, 10, 0], 5],
  [[0, 2], [0, 0, 2, 2], Math.SQRT2],
  [[3, 4], [0, 0, 0, 0], 5],
])
  test(`the point ${point} is ${wanted.toFixed(2)} from the line ${line}`, () =>
    assert.ok(Math.abs(Math.sqrt(squaredDistance(point, line.slice(0, 2), line.slice(2))) - wanted) < 1e-9));

test("a colour comes back from its parts", () => assert.equal(hexOf(rgbOf("#0a72b2")), "#0a72b2"));
