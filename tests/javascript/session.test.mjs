import assert from "node:assert/strict";
import { test } from "node:test";
import { forDash, signInLink, signInPage } from "../../dashboard/assets/web/session.mjs";

const response = (status, headers) => new Response("", { status, headers });

test("the page to sign in returns to the whole link", () => {
  const place = { pathname: "/x/head", search: "?layer=3&q=a%26b" };
  const link = new URL(signInLink("/x/login", place), "http://localhost");
  assert.deepEqual([link.pathname, link.searchParams.get("next")], ["/x/login", "/x/head?layer=3&q=a%26b"]);
});

test("only a refusal that names a page to sign in ends the session on screen", () => {
  assert.equal(signInPage(response(401, { "Sign-In": "/login" })), "/login");
  assert.equal(signInPage(response(401, {})), null);
  assert.equal(signInPage(response(200, { "Sign-In": "/login" })), null);
});

test("a callback of Dash without a session changes nothing", () => {
  const from = (url) => Object.defineProperty(response(401, {}), "url", { value: url });
  assert.equal(forDash(from("http://localhost/x/_dash-update-component")).status, 204);
  assert.equal(forDash(from("http://localhost/x/data/page")).status, 401);
});
