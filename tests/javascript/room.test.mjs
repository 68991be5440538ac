import assert from "node:assert/strict";
import { test } from "node:test";
import { leastHeight, recall, remember } from "../../dashboard/assets/web/room.mjs";

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
