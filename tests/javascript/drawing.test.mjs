import assert from "node:assert/strict";
import { test } from "node:test";
import {
  breakLines,
  fileName,
  hexOf,
  rgbOf,
  saveCanvas,
  squaredDistance,
} from "../../dashboard/assets/web/drawing.mjs";

for (const [point, line, wanted] of [
  [[5, 3], [0, 0, 10, 0], 3],
  [[13, 4], [0, 0, 10, 0], 5],
  [[0, 2], [0, 0, 2, 2], Math.SQRT2],
  [[3, 4], [0, 0, 0, 0], 5],
])
  test(`the point ${point} is ${wanted.toFixed(2)} from the line ${line}`, () =>
    assert.ok(Math.abs(Math.sqrt(squaredDistance(point, line.slice(0, 2), line.slice(2))) - wanted) < 1e-9));

test("a colour comes back from its parts", () => assert.equal(hexOf(rgbOf("#0a72b2")), "#0a72b2"));

/** Lines of groups of words; each letter is 1 wide. */
function linesOf(groups, width, apart) {
  const pieces = groups.map((group) => group.split(" ").map((word) => ({ word })));
  return breakLines(pieces, width, { wide: ({ word }) => word.length, apart });
}
const wordsOf = (lines) => lines.map((line) => line.map(({ word }) => word));

test("an entry that fits on a line is not broken", () =>
  assert.deepEqual(wordsOf(linesOf(["one two", "three four", "five"], 18, 3)), [
    ["one", "two"],
    ["three", "four"],
    ["five"],
  ]));

test("an entry longer than a line is broken between words", () =>
  assert.deepEqual(wordsOf(linesOf(["one two three"], 9, 3)), [["one"], ["two"], ["three"]]));

test("every word is on a line, in order, and none reaches over", () => {
  const random = (most) => Math.floor(Math.random() * most);
  const word = () => "a".repeat(1 + random(30));
  for (let trial = 0; trial < 300; trial++) {
    const groups = Array.from({ length: random(13) }, () => Array.from({ length: 1 + random(4) }, word).join(" "));
    const lines = linesOf(groups, 40, 5);
    assert.deepEqual(wordsOf(lines).flat(), groups.join(" ").split(" ").filter(Boolean));
    for (const line of lines)
      line.forEach((piece, i) => {
        assert.ok(piece.left + piece.word.length <= 40);
        assert.ok(!i || line[i - 1].left + line[i - 1].word.length < piece.left);
      });
  }
});

test("a file is named after what it shows and what it is of", () => {
  assert.equal(fileName(["Attention of L2, “cat”", "m-1"], "svg"), "attention-of-l2-cat-m-1.svg");
  assert.equal(fileName(["猫", "m-1"], "png"), "m-1.png");
});

test("a canvas of which the browser makes no file is refused", async () => {
  const canvas = { toBlob: (act) => act(null) };
  await assert.rejects(saveCanvas(canvas, ["Heads", "store"]), /Save it as SVG\.$/);
});
