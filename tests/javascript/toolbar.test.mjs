import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLasso, outlineHere, parseLasso, simplify } from "../../dashboard/assets/canvas/toolbar.mjs";

const CAMERA = { x: 0.5, y: 0.5, zoom: 1, yaw: 30, pitch: -20 };

test("a simplified region keeps its corners and at most sixty vertices", () => {
  const corners = [
    [0.1, 0.1],
    [0.9, 0.1],
    [0.9, 0.9],
    [0.1, 0.9],
  ];
  const side = (from, to) =>
    Array.from({ length: 100 }, (_, i) => [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * i) / 100));
  const simple = simplify(corners.flatMap((corner, i) => side(corner, corners[(i + 1) % 4])));
  assert.ok(simple.length <= 60);
  for (const corner of corners) assert.ok(simple.some((vertex) => String(vertex) === String(corner)));
});

test("a region comes back from its link", () => {
  const outline = [
    [0.1, 0.2],
    [1.1, 0.2],
    [0.5, 0.9],
  ];
  const text = formatLasso("pca-raw-3d,3,7", CAMERA, outline);
  assert.equal(text, "pca-raw-3d,3,7,30,-20,100,200,1100,200,500,900");
  assert.deepEqual(parseLasso(text, "pca-raw-3d,3,7").outline, outline);
});

const REGIONS = {
  "v,3,7,30,-20,0,0,9,0,9,9": true,
  "v,3,7,390,340,0,0,9,0,9,9": true,
  "v,3,7,31,-20,0,0,9,0,9,9": false,
  "v,3,8,30,-20,0,0,9,0,9,9": false,
  "w,3,7,30,-20,0,0,9,0,9,9": false,
  "v,3,7,30,-20,0,0,9": false,
  "<script>": false,
};
for (const [text, isHere] of Object.entries(REGIONS))
  test(`the region ${text} is ${isHere ? "" : "not "}drawn in its picture`, () =>
    assert.equal(outlineHere(text, "v,3,7", CAMERA) !== null, isHere));
