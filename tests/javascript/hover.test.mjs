import assert from "node:assert/strict";
import { test } from "node:test";
import { cardPlace } from "../../dashboard/assets/canvas/hover.mjs";

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
