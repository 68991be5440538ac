import assert from "node:assert/strict";
import { test } from "node:test";
import { background, clicked, keyed, moved } from "../../dashboard/assets/web/ruler.mjs";

const SPAN = { first: 256, size: 128, tokens: 8000 };

for (const [key, first] of [
  ["ArrowRight", 288],
  ["ArrowLeft", 224],
  ["PageDown", 384],
  ["PageUp", 128],
  ["Home", 0],
  ["End", 7872],
  ["a", null],
])
  test(`${key} moves a window to token ${first}`, () => assert.equal(keyed(key, SPAN), first));

test("a window stays within the sentence", () => {
  assert.equal(keyed("PageUp", { ...SPAN, first: 10 }), 0);
  assert.equal(keyed("PageDown", { ...SPAN, first: 7870 }), 7872);
});

test("a ruler stands where its reader has moved it before the page follows", () => {
  const firsts = [384, undefined, 9000].map((value) => moved({ ...SPAN, value }).first);
  assert.deepEqual(firsts, [384, 256, 256]);
});

test("a click puts the window around its place", () => {
  assert.deepEqual(
    [0, 0.5, 1].map((share) => clicked(share, SPAN)),
    [0, 3936, 7872],
  );
});

test("each part of the strip has its shade", () => {
  assert.equal(background([]), "");
  assert.match(background([0, 100]), /var\(--query\) 100%, var\(--panel\)\) 50\.000% 100\.000%\)$/);
});
