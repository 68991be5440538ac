import assert from "node:assert/strict";
import { test } from "node:test";
import { styleOf } from "../../dashboard/assets/canvas/overlay.mjs";

test("contours have the colour of their role, or ink where points have other colours", () => {
  const panels = { roles: ["query", "key"], palette: { ink: "#000", query_contour: "#002", key_contour: "#420" } };
  const [own, coloured] = [false, true].map((isColoured) => styleOf({ role: 1, share: 0.5 }, panels, isColoured));
  assert.deepEqual([own.colour, own.dashes.length], ["#420", 0]);
  assert.deepEqual([coloured.colour, coloured.dashes.length], ["#000", 2]);
});
