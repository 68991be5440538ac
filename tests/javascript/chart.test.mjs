import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as after } from "node:timers/promises";

globalThis.window = globalThis;
globalThis.document = { getElementById: () => ({ textContent: '{"fields": {}, "root": ""}' }), addEventListener() {} };
const { createTurns, isolated, placeOf, wrapped } = await import("../../dashboard/assets/web/chart.mjs");

const TRACES = [{ showlegend: false }, { name: "[CLS]" }, { name: "[SEP]" }, { name: "comma" }];

test("an entry of a legend that is pressed is shown alone, and what the legend does not name stays", () => {
  const { isAlone, shown } = isolated(TRACES, 2);
  assert.deepEqual(shown, [true, "legendonly", true, "legendonly"]);
  assert.equal(isAlone, true);
});

test("an entry that is alone shows all once more", () => {
  const alone = TRACES.map((trace, place) => ({ ...trace, visible: [true, "legendonly", true, "legendonly"][place] }));
  const { isAlone, shown } = isolated(alone, 2);
  assert.deepEqual(shown, [true, true, true, true]);
  assert.equal(isAlone, false);
});

test("another entry is shown alone instead", () => {
  const alone = TRACES.map((trace, place) => ({ ...trace, visible: [true, "legendonly", true, "legendonly"][place] }));
  assert.deepEqual(isolated(alone, 1).shown, [true, true, "legendonly", "legendonly"]);
});

test("what is drawn with an entry is shown with it alone", () => {
  const groups = ["a", "a", "b", "b"].map((legendgroup, place) => ({ legendgroup, showlegend: place % 2 === 1 }));
  assert.deepEqual(isolated(groups, 1).shown, [true, true, "legendonly", "legendonly"]);
});

test("the trace of an entry is found by its name, also where the one before it is left out", () => {
  const traces = [{ showlegend: false, name: "comma" }, { name: "First token" }, { name: "comma" }];
  assert.deepEqual(
    ["First token", "comma", "[SEP]"].map((entry) => placeOf(traces, entry)),
    [1, 2, -1],
  );
});

test("the trace of an entry is found though its name is markup", () => {
  const traces = [{ name: "&lt;s&gt;" }, { name: "R&amp;amp;D &#36;5&#36;" }];
  assert.deepEqual(
    ["<s>", "R&amp;D $5$"].map((entry) => placeOf(traces, entry)),
    [0, 1],
  );
});

test("a title is laid out for the wider typeface of a file, with a reserve", () => {
  const context = { font: "" };
  const ofLetter = () => (context.font.includes("Roboto") ? 6 : 8) + (context.font.startsWith("700") ? 1 : 0);
  context.measureText = (text) => ({ width: text.length * ofLetter() });
  document.createElement = () => ({ getContext: () => context });
  const text = "abcd efgh ijkl mnop";
  assert.deepEqual(wrapped(text, "700 15px", 24 + 19 * 9 * 1.06 + 1), [text]);
  assert.deepEqual(wrapped(text, "700 15px", 24 + 19 * 9 * 1.06 - 1), ["abcd efgh ijkl", "mnop"]);
  assert.deepEqual(wrapped(text, "400 11px", 24 + 19 * 8 * 1.06 + 1), [text]);
});

globalThis.requestAnimationFrame = (act) => setTimeout(act, 1);

/** Waits until `count` are drawn. */
async function until(drawn, count) {
  for (let looks = 0; looks < 200 && drawn.length < count; looks++) await after(10);
}

/** Turns, the names of drawn ones, and the start of a rest. */
function given() {
  const [drawn, resting] = [[], []];
  const turns = createTurns((act) => resting.push(act));
  const add = (name, isDrawn = () => true) => turns.add(() => drawn.push(name), isDrawn);
  return { drawn, add, rest: () => resting.splice(0).forEach((act) => act()) };
}

test("what is near is drawn first, in the order of the page", async () => {
  const { drawn, add } = given();
  const [, second, third] = ["first", "second", "third"].map((name) => add(name));
  third.near();
  second.near();
  await until(drawn, 2);
  assert.deepEqual(drawn, ["second", "third"]);
});

test("what is far is drawn while the browser rests, one at a rest", async () => {
  const { drawn, add, rest } = given();
  ["first", "second"].forEach((name) => add(name));
  assert.deepEqual(drawn, []);
  rest();
  await after(200);
  assert.deepEqual(drawn, ["first"]);
  rest();
  await until(drawn, 2);
  assert.deepEqual(drawn, ["first", "second"]);
});

test("nothing is drawn before the one before is there", async () => {
  const { drawn, add } = given();
  let isThere = false;
  add("first", () => isThere).near();
  add("second").near();
  await after(100);
  assert.deepEqual(drawn, ["first"]);
  isThere = true;
  await until(drawn, 2);
  assert.deepEqual(drawn, ["first", "second"]);
});

test("what is withdrawn is not drawn", async () => {
  const { drawn, add, rest } = given();
  add("first").withdraw();
  rest();
  await after(50);
  assert.deepEqual(drawn, []);
});
