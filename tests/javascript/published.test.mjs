// The files of a published head: where they are, and the cards and lines that are read from them.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeLines,
  fileOf,
  openFiles,
  pictureOf,
  publishedCard,
  publishedFocus,
} from "../../dashboard/assets/published/picture.mjs";
import { UNREACHABLE, answerItself, fetchPart } from "../../dashboard/assets/web/loading.mjs";

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

const CARD = "/data/1/m/token/0/1/query/2.json";

/** A published page whose site answers requests for files by `answer`. */
function openSite(answer) {
  globalThis.fetch = async (url) => answer(url);
  const given = { base: "/data/1/m", data: "files/", lines: "lines.bin", points: "/data/1/m/points.bin" };
  answerItself(given.base, openFiles(given));
}

/** The answers of a complete site. */
const complete = (url) => new Response(url.endsWith("drawn.json") ? JSON.stringify(TOKENS) : bytes());

for (const [lacking, address] of [
  ["drawn.json", CARD],
  ["lines.bin", CARD],
  ["points.bin", "/data/1/m/points.bin"],
])
  test(`a reader hears that the site lacks ${lacking}`, async () => {
    openSite((url) => (url.endsWith(lacking) ? new Response("Not found", { status: 404 }) : complete(url)));
    const message = `The site lacks the file files/${lacking}. Publish it again.`;
    await assert.rejects(fetchPart(address), { message });
  });

test("a reader hears that a file of the site is incomplete", async () => {
  openSite((url) => (url.endsWith(".bin") ? new Response(bytes().slice(0, -1)) : complete(url)));
  await assert.rejects(fetchPart(CARD), /The download of lines is incomplete/);
});

test("a card is read again after a request that failed", async () => {
  let fails = true;
  openSite((url) => {
    if (fails) throw new TypeError("Failed to fetch");
    return complete(url);
  });
  await assert.rejects(fetchPart(CARD), { message: UNREACHABLE });
  fails = false;
  assert.equal((await (await fetchPart(CARD)).json()).position, 2);
});
