import assert from "node:assert/strict";
import { test } from "node:test";
import { createPlayer, mixPlaces, shareSequence } from "../../dashboard/assets/canvas/player.mjs";
import { message } from "./messages.mjs";
import { makeElement, openTree, settled } from "./tree.mjs";

for (const [part, places] of [
  [0, [0, 100, 65535]],
  [0.5, [5, 50, 65535]],
  [1, [10, 0, 65535]],
])
  test(`tokens at ${part} of their way are between both points`, () =>
    assert.deepEqual([...mixPlaces(Uint16Array.of(0, 100, 65535), Uint16Array.of(10, 0, 65535), part)], places));

const SEQUENCE = [{ points: "a" }, { points: "b" }];
for (const [other, isShared] of [
  [{ points: "b", sequence: SEQUENCE }, true],
  [{ points: "b" }, false],
  [null, false],
])
  test(`tokens ${isShared ? "" : "do not "}move on to ${JSON.stringify(other)}`, () =>
    assert.equal(shareSequence({ points: "a", sequence: SEQUENCE }, other), isShared));

/** A player of three steps; a step answers when its URL is answered. */
function openPlayer() {
  const body = openTree();
  globalThis.matchMedia = () => ({ matches: true });
  globalThis.cancelAnimationFrame = () => {};
  const waiting = {};
  globalThis.fetch = (url) => new Promise((answer, fail) => (waiting[url] = { answer, fail }));
  const host = makeElement("div", {}, makeElement("div", { class: "player" }));
  body.append(host);
  const sequence = ["a", "b", "c"].map((points) => ({ points, name: points, label: points }));
  const idle = () => {};
  const panels = {
    host,
    frame: makeElement("div"),
    problem: makeElement("p"),
    painter: { take: idle, takeOnward: idle },
    picture: { points: "a", sequence },
    data: {},
    on: idle,
    send: idle,
    paint: idle,
    hover: { hide: idle },
    layer: { clear: idle, renew: idle, refresh: idle },
  };
  return { panels, waiting, player: createPlayer(panels) };
}

test("a step that fails after another step was chosen says nothing over the newer picture", async () => {
  const { panels, waiting, player } = openPlayer();
  player.step(1);
  await settled();
  player.step(1);
  await settled();
  waiting.c.answer(new Response(message("HSP3", [1, 1, 1, 2, 1], Uint8Array.of(0, 0))));
  await settled();
  assert.equal(panels.frame.dataset.at, "c");
  waiting.b.fail(new TypeError("Failed to fetch"));
  await settled();
  assert.equal(panels.problem.textContent, "");
});

test("a step that fails says why", async () => {
  const { panels, waiting, player } = openPlayer();
  player.step(1);
  await settled();
  waiting.b.fail(new TypeError("Failed to fetch"));
  await settled();
  assert.match(panels.problem.textContent, /^The server cannot be reached/);
});
