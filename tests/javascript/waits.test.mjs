import assert from "node:assert/strict";
import { test } from "node:test";
import { persistent, stateOf } from "../../dashboard/assets/web/session.mjs";

const asking = (id, property = "id") => JSON.stringify({ inputs: [{ id, property, value: id }] });
const COUNT = asking({ deferred: "numbers", is: "job", wait: "ab" });
const LOST = { lost: true };
const isLost = (answer) => answer === LOST;

/** Sends as often as it is asked, with these answers; tells what the page said. */
function world(answers, there = () => true) {
  const said = [];
  globalThis.window = { dash_clientside: { set_props: (id, { children }) => said.push([id, children]) } };
  const send = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { said, ask: (body) => persistent(send, body, isLost, { waits: there, pause: 0 }) };
}

test("what fills a count, a trial or a deferred part is known by its element", () => {
  assert.deepEqual(stateOf(COUNT), { deferred: "numbers", is: "state", wait: "ab" });
  const content = { deferred: "typed", is: "content", wait: "ab" };
  assert.deepEqual(stateOf(asking(content)), { deferred: "typed", is: "state", wait: "ab" });
});

test("no other request is a wait", () => {
  const others = [{ deferred: "typed", is: "clock", wait: "ab" }, "location"];
  for (const body of [...others.map((id) => asking(id, "n_intervals")), asking("location"), "wait=ab", undefined])
    assert.equal(stateOf(body), null);
});

test("a lost request of a wait is sent again until it is answered", async () => {
  const { said, ask } = world([new TypeError("Failed to fetch"), LOST, "numbers"]);
  assert.equal(await ask(COUNT), "numbers");
  assert.deepEqual(said[0][0], { deferred: "numbers", is: "state", wait: "ab" });
  assert.match(said[0][1], /lost\. This page asks again by itself/);
  assert.equal(said.length, 2);
});

test("a page that has gone on asks no more", async () => {
  const { ask } = world([LOST, "numbers"], () => false);
  assert.equal(await ask(COUNT), LOST);
});

test("another lost request fails at once", async () => {
  const { ask } = world([new TypeError("Failed to fetch"), "page"]);
  await assert.rejects(ask(asking("location", "pathname")), /Failed to fetch/);
});
