// The files of a published head: where they are, and the cards and lines that are read from them.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeLines,
  fileOf,
  pictureOf,
  publishedCard,
  publishedFocus,
} from "../../dashboard/assets/published/picture.mjs";

const TOKENS = {
  ids: [0, 1, 2, 0, 1],
  pieces: ["[CLS]", "good", "##ness"],
  texts: [" [CLS]", " good", "ness"],
  positions: [0, 1, 2, 0, 1],
  sentences: [7, 7, 7, 8, 8],
};

/** Five tokens with one line a point, each to position 0 with half of the attention. */
function bytes() {
  const buffer = new ArrayBuffer(16 + 8 * 5 + 10 * 2 + 10);
  const view = new DataView(buffer);
  [..."HSL1"].forEach((letter, i) => view.setUint8(i, letter.charCodeAt(0)));
  [5, 1, 1].forEach((number, i) => view.setUint32(4 + 4 * i, number, true));
  for (let i = 0; i < 10; i++) view.setFloat32(16 + 4 * i, i < 5 ? 1.5 : 0.25, true);
  for (let i = 0; i < 10; i++) view.setUint16(56 + 2 * i, 32768, true);
  return buffer;
}

test("a file is the address of data without its query", () => {
  assert.equal(fileOf("/data/1/m/points/v/0/1.bin?tokens=9", "/data/1/m"), "points/v/0/1.bin");
});

test("a card has the sentence of its token and with whom it exchanges attention", () => {
  const card = publishedCard(TOKENS, decodeLines(bytes()), "key", 2);
  assert.deepEqual(card.wordpieces, ["[CLS]", "good", "##ness"]);
  assert.deepEqual([card.sentence, card.position, card.received, card.entropy], [7, 2, 1.5, 0.25]);
  assert.deepEqual(
    card.partners.map(({ wordpiece, position }) => [wordpiece, position]),
    [["[CLS]", 0]],
  );
});

test("lines of a key come from its queries", () => {
  const places = Uint16Array.from({ length: 20 }, (_, i) => i);
  const points = { panels: 1, tokens: 5, roles: 2, components: 2, width: 2, places, most: 1 };
  const focus = publishedFocus(TOKENS, decodeLines(bytes()), points, "key", 4);
  assert.deepEqual(focus.places, [
    [
      [12, 13],
      [14, 15],
    ],
    [
      [16, 17],
      [18, 19],
    ],
  ]);
  assert.deepEqual(
    focus.lines.map(([query, key]) => [query, key]),
    [[0, 1]],
  );
});

test("bytes of another size are refused", () => {
  assert.throws(() => decodeLines(bytes().slice(0, -1)), /incomplete/);
});

test("query and key have their own colours, a column its codes", () => {
  const colours = [
    { codes: null, kind: "category" },
    { codes: "/data/c", kind: "category" },
  ];
  const given = { picture: { points: "p" }, colours, ramps: { category: {} }, focus: "/data/focus/" };
  assert.equal(pictureOf(given, { colour: 0, chosen: null }).colours, null);
  const shown = pictureOf(given, { colour: 1, chosen: { role: "key", token: 3 } });
  assert.deepEqual([shown.colours, shown.outlined, shown.focus], ["/data/c", true, "/data/focus/key/3.json"]);
});
