import assert from "node:assert/strict";
import { test } from "node:test";
import { keepTabsScrolled, leastHeight, recall, remember, showPart } from "../../dashboard/assets/web/room.mjs";

const at = (top, height) => leastHeight({ top, height, window: 900, below: 16 });

test("the room that is seen below a scrolled page is kept", () => assert.equal(at(-400, 2000), 1284));

test("a page gets no more room than it has", () => assert.equal(at(72, 500), 500));

test("room is given back as the reader scrolls up", () => assert.ok(at(-100, 2000) < at(-400, 2000)));

test("what a browser remembers is there until it is forgotten", () => {
  const stored = new Map();
  const sessionStorage = {
    getItem: (name) => stored.get(name) ?? null,
    setItem: (name, text) => stored.set(name, text),
    removeItem: (name) => stored.delete(name),
  };
  globalThis.window = { sessionStorage };
  remember("sessionStorage", "width", "300");
  assert.equal(recall("sessionStorage", "width"), "300");
  remember("sessionStorage", "width", "");
  assert.equal(recall("sessionStorage", "width"), "");
});

test("a browser that stores nothing remembers nothing", () => {
  globalThis.window = {};
  remember("localStorage", "width", "300");
  assert.equal(recall("localStorage", "width"), "");
});

/** A page whose parts come one frame after the other. @param {Record<string, any>[]} frames */
function framed(frames) {
  let frame = 0;
  const listeners = new Map();
  const now = () => frames[Math.min(frame, frames.length - 1)];
  globalThis.requestAnimationFrame = (next) => setTimeout(() => next((frame += 1)), 0);
  globalThis.window = { addEventListener: (name, act) => listeners.set(name, act) };
  globalThis.document = { getElementById: (name) => now()[name] ?? null, querySelector: () => now().inspector ?? null };
  return listeners;
}

const part = () => ({
  shown: 0,
  scrollIntoView() {
    this.shown += 1;
  },
});

test("a part that a link names comes into view once it is drawn", async () => {
  const evidence = part();
  framed([{}, {}, { evidence }]);
  await showPart("#evidence");
  assert.equal(evidence.shown, 1);
});

test("it does not where the reader has scrolled meanwhile", async () => {
  const evidence = part();
  const listeners = framed([{}, {}, { evidence }]);
  const shown = showPart("#evidence");
  listeners.get("wheel")();
  await shown;
  assert.equal(evidence.shown, 0);
});

/** @param {string} tab @param {number} scrollTop */
const tabs = (tab, scrollTop) => ({ scrollTop, querySelector: () => ({ textContent: tab }) });

test("tabs that are drawn anew stay scrolled while the same one is open", async () => {
  for (const [tab, expected] of [
    ["Role", 300],
    ["Statistics", 0],
  ]) {
    const after = tabs(tab, 0);
    framed([{ inspector: tabs("Role", 300) }, { inspector: after }]);
    await keepTabsScrolled();
    assert.equal(after.scrollTop, expected);
  }
});
