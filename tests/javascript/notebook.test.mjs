import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import {
  cardOf,
  partAt,
  pictureOf as pointsOf,
  stateAfter as afterPoints,
} from "../../dashboard/assets/notebook/points.mjs";
import { schemeOf } from "../../dashboard/assets/notebook/widget.mjs";
import {
  pictureOf,
  stateAfter,
  stateWith,
  layerOf,
  thumbnailsOf,
  unpackWeights,
} from "../../dashboard/assets/notebook/sentence.mjs";

// -- weights ----------------------------------------------------------------------------------------

/** @param {number} i */
const unit = (i, segment = 0, special = false) => ({ name: `t${i}`, positions: [i], segment, special });
const UNITS = [unit(0, 0, true), unit(1), unit(2, 0, true), unit(3, 1), unit(4, 1, true)];

/** Two layers of one head with three tokens: the code of a weight says where it is. */
const CODES = [10, 40, 70, 20, 50, 80, 30, 60, 90, 110, 140, 170, 120, 150, 180, 130, 160, 190];
const SHAPE = { layers: 2, heads: 1, tokens: 3, levels: 255 };
const packed = (bytes) => new DataView(Uint8Array.from(deflateSync(Uint8Array.from(bytes))).buffer);

test("packed weights become those of a layer, queries in rows", async () => {
  const stored = await unpackWeights(packed(CODES), SHAPE);
  const three = [unit(0), unit(1), unit(2)];
  const { heads, queries, keys, most, codes } = layerOf(stored, 1, three, three);
  assert.deepEqual([heads, queries, keys, most], [1, 3, 3, 1]);
  assert.deepEqual(
    [...codes].map((code) => code / 257),
    [110, 120, 130, 140, 150, 160, 170, 180, 190],
  );
});

test("a layer has the chosen queries and keys alone", async () => {
  const stored = await unpackWeights(packed(CODES), SHAPE);
  const { codes } = layerOf(stored, 0, [unit(2)], [unit(0), unit(1)]);
  assert.deepEqual(
    [...codes].map((code) => code / 257),
    [70, 80],
  );
});

test("more levels than a byte has are two planes", async () => {
  const planes = [...CODES.map((code) => code >> 4), ...CODES.map((code) => (code << 4) & 255)];
  const { codes } = await unpackWeights(packed(planes), { ...SHAPE, levels: 4095 });
  assert.deepEqual(
    [...codes],
    CODES.map((code) => Math.round((65535 * code * 16) / 4095)),
  );
});

test("damaged weights say what to do", async () => {
  await assert.rejects(unpackWeights(packed(CODES.slice(1)), SHAPE), /are damaged. Run the cell again./);
});

test("a thumbnail has the largest weight of each cell", async () => {
  const tokens = 130;
  const bytes = new Uint8Array(tokens * tokens);
  bytes[5 * tokens + 129] = 200; // key 5, query 129
  const stored = await unpackWeights(packed(bytes), { layers: 1, heads: 1, tokens, levels: 255 });
  const units = Array.from({ length: tokens }, (_, i) => unit(i));
  const { rows, columns, codes } = thumbnailsOf(stored, units, units);
  assert.deepEqual([rows, columns], [64, 64]);
  // Cell i begins at the token floor(130 i / 64): token 5 is in cell 2, token 129 in the last.
  assert.deepEqual(
    [...codes.entries()].filter(([, code]) => code),
    [[63 * 64 + 2, 200]],
  );
});

// -- the state of a sentence ------------------------------------------------------------------------

const CONTENT = {
  name: "<b>",
  units: UNITS,
  weights: { layers: 2, heads: 3, tokens: 5, levels: 255 },
  colours: { light: [], dark: [] },
  palette: {},
  source: "",
  stem: "",
};
const STATE = {
  show: "head",
  layer: 1,
  head: 0,
  heads: [0, 2],
  pair: "all",
  special: true,
  hidden: [],
  least: 0,
  scale: "root",
  side: "query",
  tokens: [],
  toward: null,
};
const names = (units) => units.map(({ name }) => name);

for (const [what, change, queries, keys] of [
  ["of both texts", {}, ["t0", "t1", "t2", "t3", "t4"], ["t0", "t1", "t2", "t3", "t4"]],
  ["from the first to the second", { pair: "ab" }, ["t0", "t1", "t2"], ["t3", "t4"]],
  ["without special tokens", { special: false }, ["t1", "t3"], ["t1", "t3"]],
  ["without hidden tokens", { hidden: [1], pair: "aa" }, ["t0", "t2"], ["t0", "t2"]],
])
  test(`a sentence shows the tokens ${what}`, () => {
    const picture = pictureOf(CONTENT, { ...STATE, ...change });
    assert.deepEqual([names(picture.units), names(picture.keys)], [queries, keys]);
  });

test("positions are selected among the shown tokens", () => {
  const picture = pictureOf(CONTENT, { ...STATE, pair: "ab", tokens: [2], toward: 4 });
  assert.deepEqual([picture.queries, picture.toward], [[2], 1]);
  assert.equal(pictureOf(CONTENT, { ...STATE, special: false, tokens: [3] }).neuron_url, "/neuron/1/0/3");
});

test("a hidden token is not selected", () =>
  assert.deepEqual(pictureOf(CONTENT, { ...STATE, tokens: [1], hidden: [1] }).queries, []));

for (const [what, event, wanted] of [
  ["a thumbnail opens its head", { opened: { layer: 0, head: 1 } }, { show: "head", layer: 0, head: 1, heads: [1] }],
  ["a head alone is the head", { headed: { heads: [2] } }, { heads: [2], head: 2 }],
  ["tokens are kept by position", { selected: { side: "key", units: [0, 1] } }, { side: "key", tokens: [1, 3] }],
  ["a pair is kept by position", { paired: { query: 1, toward: 1 } }, { side: "query", tokens: [3], toward: 1 }],
  ["a pair is taken away", { paired: { query: null, toward: null } }, { tokens: [], toward: null }],
  ["tokens are hidden", { hidden: { positions: [3] } }, { hidden: [3] }],
  ["no layer is beyond the last", { stepped: { layer: 1 } }, { layer: 1 }],
])
  test(`of a click: ${what}`, () => {
    const state = { ...STATE, special: false };
    assert.deepEqual(stateAfter(state, pictureOf(CONTENT, state), event), { ...state, ...wanted });
  });

test("a token that is hidden is no longer selected, and no step of it is asked for", () => {
  const state = { ...STATE, show: "neuron", side: "key", tokens: [3], toward: 1 };
  const after = stateAfter(state, pictureOf(CONTENT, state), { hidden: { positions: [3] } });
  assert.deepEqual(after, { ...state, hidden: [3], side: "query", tokens: [], toward: null });
  assert.equal(pictureOf(CONTENT, after).neuron_url, null);
});

for (const [change, isSelected] of /** @type {const} */ ([
  [{ special: false }, false],
  [{ pair: "ab" }, false],
  [{ layer: 0 }, true],
  [{ hidden: [] }, true],
]))
  test(`tokens ${isSelected ? "stay" : "do not stay"} selected after ${JSON.stringify(change)}`, () => {
    const state = { ...STATE, side: "key", tokens: [2], toward: 1 };
    const selected = isSelected ? {} : { side: "query", tokens: [], toward: null };
    assert.deepEqual(stateWith(state, change), { ...state, ...change, ...selected });
  });

// -- points -----------------------------------------------------------------------------------------

const TOKENS = {
  ids: [0, 1, 2, 0, 1, 3],
  pieces: ["[CLS]", "<b>", "##s", "$x$"],
  texts: ["[CLS]", " <b>", "s", " $x$"],
  positions: [0, 1, 2, 0, 1, 2],
  sentences: [7, 7, 7, 9, 9, 9],
};

test("the card of a point has its sentence as text", () => {
  const card = cardOf(TOKENS, "key", 4);
  assert.equal(card.wordpiece, "<b>");
  assert.deepEqual(card.wordpieces, ["[CLS]", "<b>", "$x$"]);
  assert.equal(card.where, "key, position 1 in sentence 9");
});

test("what stands at a URL is in the widget", () => {
  const kept = {
    data: { points: "bytes" },
    answer: { mask: "bits", focus: { near: [] } },
    content: { tokens: TOKENS },
  };
  const model = { get: (name) => kept[name] };
  const paths = ["points", "mask/x,1", "focus/key/4", "card/query/5.json", "labels"];
  const [points, mask, focus, card, labels] = paths.map((path) => partAt(model, path));
  assert.deepEqual([points, mask, focus], ["bytes", "bits", { near: [] }]);
  assert.deepEqual([card.wordpiece, labels.ids], ["$x$", TOKENS.ids]);
});

test("an answer is drawn with what it answers alone", () => {
  const state = { layer: 0, head: 0, lasso: "new", token: 3, role: "key", at: null };
  const given = { of: { lasso: "old", token: 3, role: "key" }, mask: "bits", focus: {} };
  const { mask, focus, chosen } = pointsOf({ picture: { points: "headscape:points" } }, state, given);
  assert.deepEqual([mask, focus, chosen], [null, "headscape:focus/key/3", { token: 3, role: "key" }]);
});

test("two widgets ask for parts of their own", () => {
  const state = { layer: 0, head: 0, lasso: null, token: null, role: "key", at: null };
  const picture = { points: "headscape:points", labels: null, card: "headscape:card/" };
  const { points, labels, card } = pointsOf({ picture }, state, { of: {} }, "headscape:2/");
  assert.deepEqual([points, labels, card], ["headscape:2/points", null, "headscape:2/card/"]);
});

test("what a reader does in points is kept", () => {
  const state = { layer: null, head: null, lasso: null, token: null, role: "query", at: null };
  assert.deepEqual(afterPoints(state, { heads: 12 }, { opened: { panel: 43 } }), { ...state, layer: 3, head: 7 });
  assert.equal(afterPoints(state, { heads: 12 }, { lassoed: { lasso: "" } }).lasso, null);
  assert.equal(afterPoints(state, { heads: 12 }, { picked: { token: -1, role: "key" } }).token, null);
  assert.equal(afterPoints(state, { heads: 12 }, { painted: {} }), state);
});

// -- the colours of a notebook ----------------------------------------------------------------------

const page = ({ body = {}, classes = [], theme = null, dark = false }) => ({
  body: { dataset: body, classList: [] },
  documentElement: { classList: classes, getAttribute: () => theme },
  defaultView: { matchMedia: () => ({ matches: dark }) },
});
for (const [notebook, given, wanted] of [
  ["JupyterLab", { body: { jpThemeLight: "false" } }, "dark"],
  ["a light JupyterLab on a dark system", { body: { jpThemeLight: "true" }, dark: true }, "light"],
  ["VS Code", { body: { vscodeThemeKind: "vscode-dark" } }, "dark"],
  [
    "a light VS Code of high contrast",
    { body: { vscodeThemeKind: "vscode-high-contrast-light" }, dark: true },
    "light",
  ],
  ["marimo", { classes: ["dark"] }, "dark"],
  ["Colab", { theme: "dark" }, "dark"],
  ["another page", { dark: true }, "dark"],
])
  test(`the colours are those of ${notebook}`, () => assert.equal(schemeOf(page(given)), wanted));
