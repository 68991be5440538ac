import assert from "node:assert/strict";
import { test } from "node:test";
import {
  betweenCameras,
  createCameraControl,
  createCameraLink,
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

/** What a camera acts on, with `count` panels. */
function zoomedPanels(count, columns, picture) {
  const nothing = () => {};
  return {
    painter: {},
    picture,
    pictureNow: picture,
    layout: fitPanels({ count, columns, dimensions: 2, width: 900, height: 600 }),
    camera: startCamera(),
    frame: { dataset: {} },
    hover: { hide: nothing },
    detail: { moved: nothing },
    layer: { moved: nothing },
    cameraLink: { write: nothing },
    paint: nothing,
  };
}

/** The zooms and openings by `presses` of the button that zooms in. */
function zoomedIn(count, columns, cards, presses) {
  const done = [];
  const panels = zoomedPanels(count, columns, { cards });
  panels.openAt = () => done.push("opened");
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

/** The camera of a head that was zoomed by hand; then a picture of the same points comes with its own link. */
function followed(search, at, { isPending = false } = {}) {
  globalThis.window = { location: { pathname: "/head", search, hash: "" }, history: { replaceState() {} } };
  const panels = { ...zoomedPanels(1, 1, { at, dimensions: 2 }), choosesPoints: true };
  const control = createCameraControl(panels);
  control.zoom(3);
  panels.cameraLink = createCameraLink(panels);
  if (isPending) panels.cameraLink.write();
  control.follow();
  panels.cameraLink.forget();
  return formatCamera(panels.camera, 2);
}

for (const [name, search, at, wanted] of [
  ["another camera", "?q=a&at=0.4,0.6,2,0,0", "0.4,0.6,2,0,0", "0.4,0.6,2,0,0"],
  ["no camera", "?q=a", null, ""],
])
  test(`after a step back to a link with ${name} the picture stands there`, () =>
    assert.equal(followed(search, at), wanted));

test("a picture that comes late leaves the camera where the link has it by then", () =>
  assert.equal(followed("?at=0.5,0.5,3,0,0", null), "0.5,0.5,3,0,0"));

test("a picture that comes before the link has the last movement leaves the camera as it is", () =>
  assert.equal(followed("?q=a", null, { isPending: true }), "0.5,0.5,3,0,0"));
