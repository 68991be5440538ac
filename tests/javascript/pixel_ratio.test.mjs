import assert from "node:assert/strict";
import { test } from "node:test";
import { whenPixelRatioChanges } from "../../dashboard/assets/web/window.mjs";

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
