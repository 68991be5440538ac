// The camera: a centre and a zoom over the unit square, and the turn of a cube. Screen places are 0..1, y upwards.

const MOST_ZOOM = 400;
export const startCamera = (dimensions = 2) =>
  dimensions === 3 ? { x: 0.5, y: 0.5, zoom: 1, yaw: 30, pitch: 20 } : { x: 0.5, y: 0.5, zoom: 1, yaw: 0, pitch: 0 };

export const screenToData = (camera, sx, sy) => [
  camera.x + (sx - 0.5) / camera.zoom,
  camera.y + (sy - 0.5) / camera.zoom,
];
export const dataToScreen = (camera, x, y) => [(x - camera.x) * camera.zoom + 0.5, (y - camera.y) * camera.zoom + 0.5];

/** Zoomed by `factor`; what is at (sx, sy) on screen stays there. */
export function zoomCamera(camera, factor, sx, sy, most = MOST_ZOOM) {
  const zoom = Math.max(1, Math.min(most, camera.zoom * factor));
  const [x, y] = screenToData(camera, sx, sy);
  return within({ ...camera, zoom, x: x - (sx - 0.5) / zoom, y: y - (sy - 0.5) / zoom });
}

/** Moved by a share of the screen. */
export const panCamera = (camera, dx, dy) =>
  within({ ...camera, x: camera.x - dx / camera.zoom, y: camera.y - dy / camera.zoom });

/** The centre stays over the picture. */
const within = (camera) => ({ ...camera, x: clamp(camera.x, camera.zoom), y: clamp(camera.y, camera.zoom) });
const clamp = (value, zoom) => Math.max(0.5 / zoom, Math.min(1 - 0.5 / zoom, value));

/** Turned by degrees: yaw round the upright axis, pitch round the one across. */
export function turnCamera(camera, yaw, pitch) {
  const round = ((((camera.yaw + yaw + 180) % 360) + 360) % 360) - 180;
  return { ...camera, yaw: round, pitch: Math.max(-90, Math.min(90, camera.pitch + pitch)) };
}

/** Rows of the rotation: rightwards, upwards, towards the reader. */
export function rotationRows({ yaw, pitch }) {
  const [a, b] = [yaw, pitch].map((degrees) => (degrees * Math.PI) / 180);
  const [cy, sy, cp, sp] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
  return [
    [cy, 0, sy],
    [sp * sy, cp, -sp * cy],
    [-cp * sy, sp, cp * cy],
  ];
}

/** Place in the square on which the cube is seen; a place in the plane stays. */
export function projectToSquare(camera, place) {
  if (place.length < 3) return place;
  const [x, y, z] = place.map((value) => value - 0.5);
  const [right, up] = rotationRows(camera).map((row) => row[0] * x + row[1] * y + row[2] * z);
  return [0.5 + right, 0.5 + up];
}

/** Between two cameras, 0 <= part <= 1: straight towards the place, the zoom evenly in its logarithm. */
export function betweenCameras(from, to, part) {
  const zoom = from.zoom * (to.zoom / from.zoom) ** part;
  const way = Math.abs(to.zoom - from.zoom) < 1e-9 ? part : (1 / zoom - 1 / from.zoom) / (1 / to.zoom - 1 / from.zoom);
  const mix = (name, share) => from[name] + (to[name] - from[name]) * share;
  return { zoom, x: mix("x", way), y: mix("y", way), yaw: mix("yaw", part), pitch: mix("pitch", part) };
}

/** As it stands in a link, `x,y,zoom,yaw,pitch`; empty where nothing was moved. */
export function formatCamera(camera, dimensions) {
  const text = (view) =>
    [view.x.toFixed(4), view.y.toFixed(4), view.zoom.toFixed(2), Math.round(view.yaw), Math.round(view.pitch)]
      .map(Number)
      .join(",");
  return text(camera) === text(startCamera(dimensions)) ? "" : text(camera);
}

/** The camera of a link; the start where it says none or nonsense. */
export function parseCamera(text, dimensions) {
  const [x, y, zoom, yaw, pitch] = String(text || "")
    .split(",")
    .map(Number);
  if (![x, y, zoom, yaw, pitch].every(Number.isFinite)) return startCamera(dimensions);
  const seen = { x, y, zoom: Math.max(1, Math.min(MOST_ZOOM, zoom)), yaw: 0, pitch: 0 };
  return within(dimensions === 3 ? turnCamera(seen, yaw, pitch) : seen);
}
