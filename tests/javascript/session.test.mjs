import assert from "node:assert/strict";
import { test } from "node:test";
import { forDash, isUpgraded, kindOf, signInLink } from "../../dashboard/assets/web/session.mjs";

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
