import assert from "node:assert/strict";
import { test } from "node:test";

import { printLight } from "../../dashboard/assets/web/window.mjs";

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
