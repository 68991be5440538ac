import assert from "node:assert/strict";
import { test } from "node:test";
import { headAt, thumbnailLayout } from "../../dashboard/assets/sentence/model_view.mjs";

test("the head under a pixel is the head drawn there", () => {
  const shape = { layers: 6, heads: 12 };
  const place = thumbnailLayout(6, 12, 900);
  assert.deepEqual(headAt(place, shape, place.width - 8, place.height - 8), [5, 11]);
  assert.equal(headAt(place, shape, 5, 100), null);
  assert.equal(headAt(place, shape, 100, 5), null);
});
