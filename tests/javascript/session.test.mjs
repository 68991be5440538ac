import assert from "node:assert/strict";
import { test } from "node:test";
import { forDash, isUpgraded, kindOf, persistent, signInLink, stateOf } from "../../dashboard/assets/web/session.mjs";

const OWN = { "Headscape-Version": "a1" };
const PAGE = { "Content-Type": "text/html; charset=utf-8" };
const response = (status, headers = {}) => new Response(status === 204 ? null : "", { status, headers });

test("the page to sign in returns to the whole link", () => {
  const place = { pathname: "/x/head", search: "?layer=3&q=a%26b" };
  const link = new URL(signInLink("/x/login", place), "http://localhost");
  assert.deepEqual([link.pathname, link.searchParams.get("next")], ["/x/login", "/x/head?layer=3&q=a%26b"]);
});

const ANSWERS = [
  ["the server's own", 200, OWN, "own"],
  ["the server's refusal", 404, { ...OWN, "Content-Type": "text/plain" }, "own"],
  ["the server's, that is busy", 503, OWN, "own"],
  ["the server's, without a session", 401, { ...OWN, "Sign-In": "/login" }, "ended"],
  ["the server's, to whom its proxy does not name", 401, OWN, "ended"],
  ["one that a browser has kept since before the header", 200, { "Content-Type": "application/json" }, "own"],
  ["a proxy's, bare", 401, {}, "ended"],
  ["a proxy's page to sign in", 200, PAGE, "ended"],
  ["a proxy's page to sign in, as a refusal", 403, PAGE, "ended"],
  ["a proxy's, that does not reach the server", 502, {}, "lost"],
  ["a proxy's page of an error", 503, PAGE, "lost"],
];
for (const [whose, status, headers, kind] of ANSWERS)
  test(`an answer is known: ${whose} (${status})`, () => assert.equal(kindOf(response(status, headers)), kind));

test("a redirect to a provider ends the session", () =>
  assert.equal(kindOf({ type: "opaqueredirect", status: 0, ok: false, headers: new Headers() }), "ended"));

test("a page that is older than its server is told by what it posts", () => {
  assert.ok(isUpgraded(response(200, OWN), "POST", "b2"));
  assert.ok(!isUpgraded(response(200, OWN), "POST", "a1"));
  assert.ok(!isUpgraded(response(200, OWN), "GET", "b2"), "the browser may have kept the answer");
});

test("a callback of Dash without a session changes nothing", () => {
  assert.equal(forDash("http://localhost/x/_dash-update-component?endId=1", response(401)).status, 204);
  assert.equal(forDash("/x/data/page", response(401)).status, 401);
});

const asking = (id, property = "id") => JSON.stringify({ inputs: [{ id, property, value: id }] });
const COUNT = asking({ deferred: "numbers", is: "job", wait: "ab" });
const LOST = { lost: true };
const isLost = (answer) => answer === LOST;

/** A page whose requests get these answers; `said`: what the page said. */
function world(answers, there = () => true) {
  const said = [];
  globalThis.window = { dash_clientside: { set_props: (id, { children }) => said.push([id, children]) } };
  const send = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { said, ask: (body) => persistent(send, body, isLost, { waits: there, milliseconds: 0 }) };
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
