import assert from "node:assert/strict";
import { test } from "node:test";
import { projectToSquare, startCamera } from "../../dashboard/assets/canvas/camera.mjs";
import { fitPanels, panelToPixel } from "../../dashboard/assets/canvas/layout.mjs";
import {
  buildIndex,
  createSearch,
  flattenPlaces,
  listenToPointer,
  nearestPoint,
  nextPoint,
  shrink,
} from "../../dashboard/assets/canvas/input.mjs";

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

/** Panels with two tokens each, at other places in each panel: in the plane, or in a cube. */
function panelsWith(components, panels) {
  const places = Uint8Array.from({ length: panels * 2 * components }, (_, i) => 40 + ((i * 67) % 170));
  const points = { panels, tokens: 2, roles: 1, components, places, most: 255 };
  const placeOf = (point) => Array.from({ length: components }, (_, i) => places[point * components + i] / 255);
  return {
    picture: {},
    pictureNow: { panels: Array(panels).fill({}), cards: panels > 1 ? ["a", "b"] : null },
    layout: fitPanels({ count: panels, columns: panels, dimensions: components, width: 800, height: 400 }),
    camera: startCamera(components),
    data: { points },
    points,
    player: { placeOf },
  };
}

for (const [components, count] of [
  [2, 1],
  [2, 2],
  [3, 1],
  [3, 2],
])
  test(`each point of ${count} panel(s) in ${components} dimensions is found at its pixel`, () => {
    const panels = panelsWith(components, count);
    const search = createSearch(panels);
    for (let panel = 0; panel < count; panel++)
      for (const point of [0, 1]) {
        const [px, py] = search.pixelOf(panel, point);
        const place = panels.player.placeOf(2 * panel + point);
        const seen = panelToPixel(panels.layout, panels.camera, panel, ...projectToSquare(panels.camera, place));
        assert.deepEqual([px, py], seen);
        assert.equal(search.nearest(panel, px, py), point);
        assert.equal(search.nearestAnywhere(panel, [px, py]), point);
      }
  });

test("two panels without cards are not looked at point by point", () => {
  const panels = panelsWith(2, 2);
  panels.pictureNow.cards = null;
  const search = createSearch(panels);
  assert.equal(search.areThere(), false);
  assert.equal(search.nearest(0, ...search.pixelOf(0, 0)), -1);
});

/** What a turn of the wheel outwards does in a picture that is seen whole. */
function turnedOut(given) {
  const done = [];
  const panels = {
    painter: {},
    layoutNow: {},
    camera: startCamera(),
    frame: { getBoundingClientRect: () => ({ left: 0, top: 0 }) },
    leave: () => done.push("left"),
    cameraControl: { zoom: () => done.push("zoomed") },
    on: (_, name, act) => name === "wheel" && act({ deltaY: 100, timeStamp: 9000, preventDefault }),
    ...given,
  };
  const preventDefault = () => done.push("taken from the page");
  listenToPointer(panels);
  return done;
}

for (const [name, given, wanted] of [
  ["a head with a way back is left", { single: true, leaves: true }, ["taken from the page", "left"]],
  ["a head without one scrolls the page", { single: true, leaves: false }, []],
  ["all heads scroll the page", { single: false, leaves: true }, []],
])
  test(`by a wheel that turns outwards ${name}`, () => assert.deepEqual(turnedOut(given), wanted));

/** What fingers do in a picture: each step is an event, the number of a finger and its pixel. */
function touched(steps) {
  const [done, listeners] = [[], {}];
  const panels = {
    painter: {},
    pictureNow: {},
    picture: { dimensions: 2 },
    layoutNow: {},
    single: true,
    choosesPoints: true,
    arePointsThere: true,
    panelAt: () => 0,
    camera: startCamera(),
    frame: { getBoundingClientRect: () => ({ left: 0, top: 0 }), setPointerCapture() {} },
    player: { pause() {} },
    tool: { name: "move", cancel() {} },
    hover: { showPoint() {} },
    search: { nearest: () => 5 },
    pick: () => done.push("picked"),
    cameraControl: {
      zoom: (...given) => done.push(["zoomed", ...given]),
      pan: (...given) => done.push(["moved", ...given]),
      settle() {},
    },
    on: (_, name, act) => (listeners[name] = act),
  };
  listenToPointer(panels);
  for (const [name, pointerId, clientX, clientY] of steps)
    listeners[`pointer${name}`]({ pointerId, clientX, clientY, isPrimary: pointerId === 1, button: 0 });
  return done;
}

test("two fingers zoom around their middle by the ratio of their distances, and the one that is left moves on", () =>
  assert.deepEqual(
    touched([
      ["down", 1, 100, 100],
      ["down", 2, 200, 100],
      ["move", 1, 50, 100],
      ["move", 2, 350, 100],
      ["up", 2, 350, 100],
      ["move", 1, 60, 120],
      ["up", 1, 60, 120],
    ]),
    [
      ["zoomed", 1.5, 125, 100],
      ["zoomed", 2, 200, 100],
      ["moved", 10, 20],
    ],
  ));

test("one finger still moves a picture and chooses a point", () => {
  const drag = ["down", "move", "up"].map((name, i) => [name, 1, 100 + 20 * i, 100]);
  assert.deepEqual(touched(drag), [["moved", 20, 0]]);
  assert.deepEqual(
    touched([
      ["down", 1, 100, 100],
      ["up", 1, 100, 100],
    ]),
    ["picked"],
  );
});
