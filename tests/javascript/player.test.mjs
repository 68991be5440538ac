import assert from "node:assert/strict";
import { test } from "node:test";
import { mixPlaces, shareSequence } from "../../dashboard/assets/canvas/player.mjs";

for (const [part, places] of [
  [0, [0, 100, 65535]],
  [0.5, [5, 50, 65535]],
  [1, [10, 0, 65535]],
])
  test(`tokens at ${part} of their way are between both points`, () =>
    assert.deepEqual([...mixPlaces(Uint16Array.of(0, 100, 65535), Uint16Array.of(10, 0, 65535), part)], places));

const SEQUENCE = [{ points: "a" }, { points: "b" }];
for (const [other, isShared] of [
  [{ points: "b", sequence: SEQUENCE }, true],
  [{ points: "b" }, false],
  [null, false],
])
  test(`tokens ${isShared ? "" : "do not "}move on to ${JSON.stringify(other)}`, () =>
    assert.equal(shareSequence({ points: "a", sequence: SEQUENCE }, other), isShared));
