import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as after } from "node:timers/promises";
import { createTurns } from "../../dashboard/assets/web/turns.mjs";

globalThis.requestAnimationFrame = (act) => setTimeout(act, 1);

/** Waits until so much is drawn. */
async function until(drawn, count) {
  for (let looks = 0; looks < 200 && drawn.length < count; looks++) await after(10);
}

/** Turns, what was drawn of them, and what ends a rest. */
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
