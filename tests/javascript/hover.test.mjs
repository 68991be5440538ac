import assert from "node:assert/strict";
import { test } from "node:test";
import { cardPlace, createHover } from "../../dashboard/assets/canvas/hover.mjs";
import { listenToPointer } from "../../dashboard/assets/canvas/input.mjs";

const SIZE = [200, 100];
const ROOM = { left: 0, top: 0, right: 800, bottom: 600 };

const isCovered = ([left, top], x, y) => left <= x && x <= left + SIZE[0] && top <= y && y <= top + SIZE[1];

for (let angle = 0; angle < 360; angle += 30)
  test(`a line at ${angle} degrees stays free`, () => {
    const [dx, dy] = [Math.cos, Math.sin].map((of) => 250 * of((angle * Math.PI) / 180));
    const corner = cardPlace([400, 300], SIZE, ROOM, [[400, 300, 400 + dx, 300 + dy, 1]]);
    for (let part = 0; part <= 1; part += 0.01) assert.ok(!isCovered(corner, 400 + part * dx, 300 + part * dy));
  });

const CORNERS = [
  [5, 5],
  [795, 5],
  [5, 595],
  [795, 595],
  [400, 300],
];
for (const point of CORNERS)
  test(`the card of the point at ${point} stays in its room and off the point`, () => {
    const [left, top] = cardPlace(point, SIZE, ROOM, []);
    assert.ok(left >= 0 && left <= 600 && top >= 0 && top <= 500);
    assert.ok(!isCovered([left, top], ...point));
  });

test("where lines are everywhere the more important line stays free", () => {
  const everywhere = Array.from({ length: 30 }, (_, i) => [0, 20 * i, 800, 20 * i, 1]);
  const corner = cardPlace([400, 300], SIZE, ROOM, [...everywhere, [400, 300, 400, 600, 1000]]);
  for (let y = 300; y < 600; y++) assert.ok(!isCovered(corner, 400, y));
});

/** A single panel with a point that the keyboard stands on, and its frame's listeners. */
function stoodPanels() {
  const element = () => ({ style: {}, append() {} });
  globalThis.document = { createElement: element };
  const listeners = {};
  const panels = {
    frame: { ...element(), getBoundingClientRect: () => ({ left: 0, top: 0 }) },
    ring: element(),
    tip: element(),
    announcement: element(),
    pictureNow: {},
    picture: { card: "/cards/" },
    layoutNow: {},
    single: true,
    choosesPoints: true,
    cameraControl: { animating: 0 },
    player: { moving: false },
    tool: { drawing: false },
    layer: { clusterAt: () => null },
    search: { nearest: () => 7, pixelOf: () => [40, 50] },
    on: (_, name, act) => (listeners[name] = act),
  };
  panels.hover = createHover(panels);
  listenToPointer(panels);
  panels.hover.showPoint(3);
  panels.keyboard = panels.hover.pinned = true;
  return { panels, listeners };
}

test("the pointer shows cards again once what the keyboard stood on is hidden", () => {
  const { panels, listeners } = stoodPanels();
  const move = () => listeners.pointermove({ clientX: 40, clientY: 50 });
  move();
  assert.equal(panels.hover.point, 3);
  panels.hover.hide();
  move();
  assert.equal(panels.hover.point, 7);
  panels.hover.hide();
});

test("in a window of another size the keyboard stands where it stood", () => {
  const { panels } = stoodPanels();
  panels.hover.again();
  assert.deepEqual([panels.hover.point, panels.hover.pinned, panels.keyboard], [3, true, true]);
  panels.hover.hide();
});
