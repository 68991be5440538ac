import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const SCRIPT = readFileSync(new URL("../../dashboard/assets/color_scheme.js", import.meta.url), "utf8");

/** The scheme of a page before its first paint. */
function schemeOf({ isSystemDark, localStorage }) {
  let scheme = "";
  const window = { matchMedia: () => ({ matches: isSystemDark }) };
  runInNewContext(SCRIPT, {
    window: Object.defineProperty(window, "localStorage", { get: localStorage }),
    document: { documentElement: { setAttribute: (_, value) => (scheme = value) } },
  });
  return scheme;
}

const storing = (chosen) => () => ({ getItem: () => chosen });
const refusing = () => {
  throw new Error("SecurityError");
};

for (const [name, localStorage, isSystemDark, scheme] of [
  ["chosen scheme is kept", storing("light"), true, "light"],
  ["page without a choice follows the system", storing(null), true, "dark"],
  ["page of a browser that stores nothing follows the system", refusing, true, "dark"],
])
  test(`the ${name} before the first paint`, () => assert.equal(schemeOf({ isSystemDark, localStorage }), scheme));
