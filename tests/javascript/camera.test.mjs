import assert from "node:assert/strict";
import { test } from "node:test";
import {
  betweenCameras,
  createCameraControl,
  dataToScreen,
  formatCamera,
  parseCamera,
  projectToSquare,
  screenToData,
  startCamera,
  withCamera,
  zoomCamera,
} from "../../dashboard/assets/canvas/camera.mjs";
import { fitPanels } from "../../dashboard/assets/canvas/layout.mjs";

const isNear = (place, other) => place.forEach((value, i) => assert.ok(Math.abs(value - other[i]) < 1e-9));

test("zooming keeps the place under the pointer", () => {
  let camera = startCamera();
  const before = screenToData(camera, 0.3, 0.6);
  for (const factor of [2, 1.7, 3]) camera = zoomCamera(camera, factor, 0.3, 0.6);
  isNear(screenToData(camera, 0.3, 0.6), before);
});

test("places on screen and in the data are inverse", () => {
  const camera = { x: 0.4, y: 0.7, zoom: 5 };
  isNear(dataToScreen(camera, ...screenToData(camera, 0.2, 0.9)), [0.2, 0.9]);
});

const SEEN = [
  [0, 0, [0.2, 0.9, 0.4], [0.2, 0.9]],
  [90, 0, [0.5, 0.9, 0.8], [0.8, 0.9]],
  [0, 90, [0.2, 0.5, 0.8], [0.2, 0.2]],
  [180, 0, [0.2, 0.9, 0.4], [0.8, 0.9]],
];
for (const [yaw, pitch, place, seen] of SEEN)
  test(`a cube turned by ${yaw}, ${pitch} degrees is seen from its side`, () =>
    isNear(projectToSquare({ x: 0.5, y: 0.5, zoom: 1, yaw, pitch }, place), seen));

test("a camera comes back from its link", () => {
  const camera = { x: 0.4123, y: 0.6, zoom: 3.25, yaw: 40, pitch: -10 };
  assert.deepEqual(parseCamera(formatCamera(camera, 3), 3), camera);
});

for (const text of ["", "1,2", "a,b,c,d,e", "NaN,0,1,0,0"])
  test(`the invalid camera "${text}" of a link shows everything`, () =>
    assert.equal(formatCamera(parseCamera(text, 2), 2), ""));

test("the camera in the address bar leaves the other fields as they are", () =>
  assert.equal(withCamera("?where=a%3Ab&at=1,2&q=x+y", "0.5,0.5,2,0,0"), "?where=a%3Ab&q=x+y&at=0.5,0.5,2,0,0"));

test("an animation begins and ends at its cameras", () => {
  const from = { x: 0.5, y: 0.5, zoom: 1, yaw: 0, pitch: 0 };
  const to = { x: 0.2, y: 0.9, zoom: 8, yaw: 90, pitch: 10 };
  assert.deepEqual(betweenCameras(from, to, 0), from);
  const end = betweenCameras(from, to, 1);
  isNear(
    Object.keys(to).map((name) => end[name]),
    Object.values(to),
  );
});

/** The zooms and openings of so many presses of the button that zooms in. */
function zoomedIn(count, columns, cards, presses) {
  const nothing = () => {};
  const panels = {
    painter: {},
    picture: { cards },
    layout: fitPanels({ count, columns, dimensions: 2, width: 900, height: 600 }),
    camera: startCamera(),
    frame: { dataset: {} },
    hover: { hide: nothing },
    detail: { moved: nothing },
    layer: { moved: nothing },
    cameraLink: { write: nothing },
    paint: nothing,
    openAt: () => done.push("opened"),
  };
  const done = [];
  const control = createCameraControl(panels);
  for (let press = 0; press < presses; press++) {
    control.zoomIn();
    done.push(panels.camera.zoom);
  }
  return done;
}

test("two panels with cards zoom as often as one likes and open nothing", () =>
  assert.deepEqual(zoomedIn(2, 2, ["a", "b"], 4), [1.5, 2.25, 3.375, 5.0625]));

for (const [count, columns] of [
  [4, 4],
  [4, 1],
])
  test(`of ${count} heads in ${columns} column(s) one opens after two steps that zoomed`, () =>
    assert.deepEqual(zoomedIn(count, columns, null, 2), [1.5, "opened", 2.25]));

test("of six rows of twelve heads one opens once it fills the frame", () =>
  assert.equal(zoomedIn(72, 12, null, 5).indexOf("opened"), 4));
