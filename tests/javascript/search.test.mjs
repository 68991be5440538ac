import assert from "node:assert/strict";
import { test } from "node:test";
import { projectToSquare } from "../../dashboard/assets/canvas/camera.mjs";
import { buildIndex, flattenPlaces, nearestPoint, nextPoint, shrink } from "../../dashboard/assets/canvas/search.mjs";

const MOST = 65535;
const randomPlaces = (length) => Uint16Array.from({ length }, () => Math.floor(Math.random() * (MOST + 1)));

test("the nearest point is the one that a search of all points gives", () => {
  const places = randomPlaces(4000);
  const index = buildIndex(places, MOST);
  for (let trial = 0; trial < 200; trial++) {
    const [x, y, radius] = [Math.random(), Math.random(), 0.001 + 0.05 * Math.random()];
    let [best, nearest] = [radius, -1];
    for (let i = 0; i < 2000; i++) {
      const distance = Math.hypot(places[2 * i] / MOST - x, places[2 * i + 1] / MOST - y);
      if (distance < best) [best, nearest] = [distance, i];
    }
    assert.equal(nearestPoint(index, x, y, radius), nearest);
  }
});

test("the next point to the right is the one that a search of all points gives", () => {
  const places = randomPlaces(600);
  const index = buildIndex(places, MOST);
  for (let from = 0; from < 300; from++) {
    let [best, next] = [Infinity, -1];
    for (let i = 0; i < 300; i++) {
      const [dx, dy] = [places[2 * i] - places[2 * from], places[2 * i + 1] - places[2 * from + 1]];
      if (dx > 0 && Math.abs(dy) <= dx && Math.hypot(dx, dy) < best) [best, next] = [Math.hypot(dx, dy), i];
    }
    assert.equal(nextPoint(index, from, 1, 0), next);
  }
});

test("a flattened cube has each point where it is seen", () => {
  const camera = { x: 0.5, y: 0.5, zoom: 1, yaw: 37, pitch: -21 };
  const places = randomPlaces(300);
  const flat = flattenPlaces({ places, most: MOST }, camera);
  for (let i = 0; i < 100; i++) {
    const place = [...places.subarray(3 * i, 3 * i + 3)].map((value) => value / MOST);
    const seen = projectToSquare(camera, place).map(shrink);
    seen.forEach((value, axis) => assert.ok(Math.abs(value - flat[2 * i + axis] / MOST) < 2 / MOST));
  }
});
