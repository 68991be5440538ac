import assert from "node:assert/strict";
import { test } from "node:test";
import { openHelp, stepAfter } from "../../dashboard/assets/web/help.mjs";

for (const [step, turn, after] of [
  [0, 1, 1],
  [3, -1, 2],
  [0, -1, 0],
  [4, 1, null],
])
  test(`a turn of ${turn} from step ${step} of five leads to ${after}`, () =>
    assert.equal(stepAfter(step, turn, 5), after));

test("nothing opens before the page has its dialogs", () => {
  globalThis.document = { getElementById: () => null };
  assert.doesNotThrow(() => openHelp("tour"));
});
