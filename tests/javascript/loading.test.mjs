import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { createLoader, prefetch, readBytes, readJson } from "../../dashboard/assets/web/loading.mjs";

const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

function recordRequests() {
  const requests = [];
  globalThis.fetch = async (url) => {
    requests.push(url);
    return { ok: true, json: async () => url, arrayBuffer: async () => url };
  };
  return requests;
}

test("a part whose URL stays is fetched once, and a load that another follows gives nothing", async () => {
  const requests = recordRequests();
  const loader = createLoader();
  const load = (points, mask) =>
    loader.load({ points: { url: points, read: readJson }, mask: { url: mask, read: readJson } });
  const late = load("a", null);
  const last = await load("b", "m");
  const again = await load("b", null);
  assert.equal(await late, null);
  assert.deepEqual(last, { points: "b", mask: "m" });
  assert.deepEqual(again, { points: "b", mask: null });
  assert.deepEqual(requests, ["a", "b", "m"]);
});

test("what was prefetched is not fetched again", async () => {
  const requests = recordRequests();
  await prefetch("next");
  const loaded = await createLoader().load({ points: { url: "next", read: readBytes((body) => body) } });
  assert.deepEqual([loaded, requests], [{ points: "next" }, ["next"]]);
});

test("a part that cannot be had is an error with the words of the server", async () => {
  globalThis.fetch = async () => ({ ok: false, text: async () => "There is no such head." });
  const load = createLoader().load({ points: { url: "a", read: readJson } });
  await assert.rejects(load, { message: "There is no such head." });
});
