import assert from "node:assert/strict";
import { test } from "node:test";
import { offerSaving } from "../../dashboard/assets/notes/component.mjs";

test("a view that cannot be saved is not offered, and a sentence says why", () => {
  const menu = { save: { disabled: false }, why: { textContent: "" } };
  offerSaving(menu, "Notes can be read here and not written.");
  assert.deepEqual(menu, { save: { disabled: true }, why: { textContent: "Notes can be read here and not written." } });
  offerSaving(menu, undefined);
  assert.deepEqual(menu, { save: { disabled: false }, why: { textContent: "" } });
});
