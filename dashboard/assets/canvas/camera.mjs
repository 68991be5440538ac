// The camera: a centre and a zoom over the unit square, and the rotation of a cube; how wheel, drag, buttons and
// animations move it; its form in a link; number and size of the points painted while it moves. Screen places are
// 0..1, y upwards.

const MOST_ZOOM = 400;
/** The factor by which a button or a key zooms. */
const ZOOM_STEP = 1.5;
/** @returns {Camera} */
export const startCamera = (dimensions = 2) =>
  dimensions === 3 ? { x: 0.5, y: 0.5, zoom: 1, yaw: 30, pitch: 20 } : { x: 0.5, y: 0.5, zoom: 1, yaw: 0, pitch: 0 };

/** @param {Camera} camera @param {number} sx @param {number} sy @returns {Pair} */
export const screenToData = (camera, sx, sy) => [
  camera.x + (sx - 0.5) / camera.zoom,
  camera.y + (sy - 0.5) / camera.zoom,
];
/** @param {Camera} camera @param {number} x @param {number} y @returns {Pair} */
export const dataToScreen = (camera, x, y) => [(x - camera.x) * camera.zoom + 0.5, (y - camera.y) * camera.zoom + 0.5];

/**
 * The camera zoomed by `factor`; the place at (sx, sy) on screen stays.
 * @param {Camera} camera @param {number} factor @param {number} sx @param {number} sy
 */
export function zoomCamera(camera, factor, sx, sy, most = MOST_ZOOM) {
  const zoom = Math.max(1, Math.min(most, camera.zoom * factor));
  const [x, y] = screenToData(camera, sx, sy);
  return within({ ...camera, zoom, x: x - (sx - 0.5) / zoom, y: y - (sy - 0.5) / zoom });
}

/** The camera moved by a share of the screen. @param {Camera} camera @param {number} dx @param {number} dy */
const panCamera = (camera, dx, dy) =>
  within({ ...camera, x: camera.x - dx / camera.zoom, y: camera.y - dy / camera.zoom });

/** The camera with its view inside the picture. @param {Camera} camera */
const within = (camera) => ({ ...camera, x: clamp(camera.x, camera.zoom), y: clamp(camera.y, camera.zoom) });
/** @param {number} value @param {number} zoom */
const clamp = (value, zoom) => Math.max(0.5 / zoom, Math.min(1 - 0.5 / zoom, value));

/**
 * The camera turned by degrees: yaw round the upright axis, pitch round the horizontal one.
 * @param {Camera} camera @param {number} yaw @param {number} pitch
 */
function turnCamera(camera, yaw, pitch) {
  const round = ((((camera.yaw + yaw + 180) % 360) + 360) % 360) - 180;
  return { ...camera, yaw: round, pitch: Math.max(-90, Math.min(90, camera.pitch + pitch)) };
}

/** Rotation matrix; rows: rightwards, upwards, towards the reader. @param {{ yaw: number, pitch: number }} given */
export function rotationRows({ yaw, pitch }) {
  const [a, b] = [yaw, pitch].map((degrees) => (degrees * Math.PI) / 180);
  const [cy, sy, cp, sp] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
  return [
    [cy, 0, sy],
    [sp * sy, cp, -sp * cy],
    [-cp * sy, sp, cp * cy],
  ];
}

/**
 * A place of the cube projected to the square; a place in the plane stays.
 * @param {Camera} camera @param {Place} place
 * @returns {Pair}
 */
export function projectToSquare(camera, place) {
  if (place.length < 3) return /** @type {Pair} */ (place);
  const [x, y, z] = place.map((value) => value - 0.5);
  const [right, up] = rotationRows(camera).map((row) => row[0] * x + row[1] * y + row[2] * z);
  return [0.5 + right, 0.5 + up];
}

/**
 * A camera between two, 0 <= part <= 1: its centre moves straight, the logarithm of its zoom evenly.
 * @param {Camera} from @param {Camera} to @param {number} part
 */
export function betweenCameras(from, to, part) {
  const zoom = from.zoom * (to.zoom / from.zoom) ** part;
  const way = Math.abs(to.zoom - from.zoom) < 1e-9 ? part : (1 / zoom - 1 / from.zoom) / (1 / to.zoom - 1 / from.zoom);
  /** @param {keyof Camera} name @param {number} share */
  const mix = (name, share) => from[name] + (to[name] - from[name]) * share;
  return { zoom, x: mix("x", way), y: mix("y", way), yaw: mix("yaw", part), pitch: mix("pitch", part) };
}

/**
 * The camera as text of a link, `x,y,zoom,yaw,pitch`; empty where it has not moved.
 * @param {Camera} camera @param {number} dimensions
 */
export function formatCamera(camera, dimensions) {
  /** @param {Camera} view */
  const text = (view) =>
    [view.x.toFixed(4), view.y.toFixed(4), view.zoom.toFixed(2), Math.round(view.yaw), Math.round(view.pitch)]
      .map(Number)
      .join(",");
  return text(camera) === text(startCamera(dimensions)) ? "" : text(camera);
}

/**
 * The camera of a link; the start camera for none or an invalid one.
 * @param {string | null} text @param {number} [dimensions]
 */
export function parseCamera(text, dimensions) {
  const [x, y, zoom, yaw, pitch] = String(text || "")
    .split(",")
    .map(Number);
  if (![x, y, zoom, yaw, pitch].every(Number.isFinite)) return startCamera(dimensions);
  const camera = { x, y, zoom: Math.max(1, Math.min(MOST_ZOOM, zoom)), yaw: 0, pitch: 0 };
  return within(dimensions === 3 ? turnCamera(camera, yaw, pitch) : camera);
}

/** Share of the frame that a panel fills when zooming by the wheel opens its head. */
const OPENS_AT = 0.9;
/** Least zoom before a head opens: a panel of a single row or column fills the frame from the start. */
const LEAST_ZOOM = ZOOM_STEP ** 2;
/** Milliseconds of an animation, and from the last movement until it is in the address bar. */
const [ANIMATION_MS, LINK_DELAY_MS] = [350, 250];

/** @param {number} part */
export const ease = (part) => part * part * (3 - 2 * part);
export const isReduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * Width in pixels of the square of places in the frame: a single panel has room beside its square.
 * @param {Layout} layout
 */
export const squareWidth = (layout) => (layout.single ? layout.side : layout.width);

/**
 * Horizontal place on screen of a pixel of the frame, 0..1 within the square.
 * @param {Layout} layout @param {number} px
 */
export const acrossScreen = (layout, px) => 0.5 + (px - layout.width / 2) / squareWidth(layout);

/** The zoom at which one panel fills the frame. @param {Layout} layout */
export const fillingZoom = (layout) => Math.min(layout.width, layout.height) / layout.side;

/** @param {Panels} panels */
export function createCameraControl(panels) {
  const state = {
    animating: 0,
    look,
    follow,
    zoom,
    zoomIn,
    zoomOut,
    pan,
    turn,
    settle,
    reset,
    animateTo,
    finish,
    stop,
  };
  let arrive = () => {};

  /** @param {Camera} camera */
  function look(camera) {
    panels.camera = camera;
    panels.frame.dataset.zoom = camera.zoom.toFixed(2);
    panels.hover.hide();
    panels.detail.moved();
    panels.paint();
    panels.layer.moved();
    panels.cameraLink.write();
  }

  /**
   * Takes the camera of the link where the picture has the same points, as after a step back. A movement by the
   * reader since the picture was asked for stays.
   */
  function follow() {
    const { at, dimensions } = panels.picture;
    if (state.animating || panels.emerging || panels.dragging || !panels.cameraLink.says(at)) return;
    const camera = parseCamera(at, dimensions);
    if (formatCamera(camera, dimensions) !== formatCamera(panels.camera, dimensions)) look(camera);
  }

  /** @param {number} factor */
  function zoom(factor, px = panels.layout.width / 2, py = panels.layout.height / 2) {
    if (!panels.painter || state.animating) return;
    const { layout } = panels;
    const opens = !panels.choosesPoints && !panels.picture.cards;
    const most = opens ? Math.max(LEAST_ZOOM, fillingZoom(layout)) : MOST_ZOOM;
    look(zoomCamera(panels.camera, factor, acrossScreen(layout, px), 1 - py / layout.height, most));
    if (opens && factor > 1 && panels.camera.zoom >= OPENS_AT * most) panels.openAt(px, py);
  }

  function zoomIn() {
    zoom(ZOOM_STEP);
  }

  /** Zooms out; from a whole head it goes back to all heads. */
  function zoomOut() {
    if (panels.choosesPoints && panels.camera.zoom === 1) panels.leave();
    else zoom(1 / ZOOM_STEP);
  }

  /** @param {number} dx @param {number} dy */
  function pan(dx, dy) {
    look(panCamera(panels.camera, dx / squareWidth(panels.layout), -dy / panels.layout.height));
  }

  /** @param {number} yaw @param {number} pitch */
  function turn(yaw, pitch) {
    look(turnCamera(panels.camera, yaw, pitch));
  }

  /** Rounds the angles to whole degrees, as in links, once the reader lets go. */
  function settle() {
    const { yaw, pitch } = panels.camera;
    if (yaw % 1 || pitch % 1) look({ ...panels.camera, yaw: Math.round(yaw), pitch: Math.round(pitch) });
  }

  function reset() {
    stop();
    look(startCamera(panels.picture.dimensions));
  }

  /**
   * Moves the camera to `target` by animation, then calls `then`; at once for a reader who wants reduced motion.
   * @param {Camera} target
   */
  function animateTo(target, then = () => {}) {
    stop();
    arrive = () => {
      look(target);
      then();
    };
    if (isReduced()) arrive();
    else animate(target);
  }

  /** @param {Camera} target */
  function animate(target) {
    const [from, begin] = [panels.camera, performance.now()];
    /** @param {number} now */
    const step = (now) => {
      const part = Math.max(0, Math.min(1, (now - begin) / ANIMATION_MS));
      if (part === 1) return finish();
      look(betweenCameras(from, target, ease(part)));
      state.animating = requestAnimationFrame(step);
    };
    state.animating = requestAnimationFrame(step);
  }

  /** Ends the animation at its target, so that no key is lost to it. */
  function finish() {
    if (!state.animating) return;
    stop();
    arrive();
  }

  function stop() {
    cancelAnimationFrame(state.animating);
    state.animating = 0;
  }

  return state;
}

/**
 * The query string with another `at`, or without one; its other fields stay as they were written.
 * @param {string} search @param {string} at
 */
export function withCamera(search, at) {
  const others = search
    .replace(/^\?/, "")
    .split("&")
    .filter((field) => field && !field.startsWith("at="));
  const fields = at ? [...others, `at=${at}`] : others;
  return fields.length ? "?" + fields.join("&") : "";
}

/**
 * Keeps the camera in the address bar as `at`, so that a link shows the same part of the picture.
 * @param {Panels} panels
 */
export function createCameraLink(panels) {
  let waiting = 0;
  const page = () => window.location.pathname + withCamera(window.location.search, "");

  /** Writes the camera soon; not once the page has changed, nor while the picture grows out of a panel. */
  function write() {
    clearTimeout(waiting);
    const from = page();
    waiting = setTimeout(() => {
      waiting = 0;
      if (panels.pictureNow && !panels.emerging && page() === from) replace();
    }, LINK_DELAY_MS);
  }

  function forget() {
    clearTimeout(waiting);
    waiting = 0;
  }

  /** Whether the link has this camera, and no movement waits to be written. @param {string | null} at */
  function says(at) {
    return !waiting && (new URLSearchParams(window.location.search).get("at") ?? "") === (at ?? "");
  }

  function replace() {
    const search = withCamera(window.location.search, formatCamera(panels.camera, panels.picture.dimensions));
    const { pathname, hash } = window.location;
    if (search !== window.location.search)
      window.history.replaceState(window.history.state, "", pathname + search + hash);
  }

  return { write, forget, says };
}

/** Milliseconds after which painting counts as slow; from a movement until all points are painted again. */
const SLOW_PAINTING_MS = 90;
const RESTING_MS = 220;
/** Points that a processor paints quickly without a graphics card. */
const FEW_POINTS = 80_000;

/** @param {Panels} panels */
export function createLevelOfDetail(panels) {
  let [slow, moving, resting, measured] = [false, false, 0, 0];

  function moved() {
    moving = true;
    clearTimeout(resting);
    resting = setTimeout(rest, RESTING_MS);
  }

  function rest() {
    if (panels.dragging) return moved();
    moving = false;
    if (slow) panels.paint();
  }

  /** Most points of a panel to draw now. @param {Points | undefined} points @param {boolean} single */
  function most(points, single) {
    const total = points ? points.tokens * points.roles * (single ? 1 : points.panels) : 0;
    measured = total > FEW_POINTS && !(slow && moving) ? performance.now() : 0;
    return points && total > FEW_POINTS && slow && moving
      ? points.roles * Math.ceil((FEW_POINTS / total) * points.tokens)
      : Infinity;
  }

  /** Measures how long painting took; call it afterwards. */
  function painted() {
    const begin = measured;
    if (begin) panels.painter?.whenDone(() => (slow = performance.now() - begin > SLOW_PAINTING_MS));
  }

  return { moved, most, painted, release: () => clearTimeout(resting) };
}

/** Pixels of the largest point. */
const LARGEST_POINT = 10;

/**
 * {size in pixels, alpha} of points, by their number and the panel's side in pixels.
 * @param {number} points @param {number} side
 */
export function pointStyle(points, side) {
  const perPixel = points / (side * side);
  const crowded = Math.max(0.5, Math.min(1, (0.05 / perPixel) ** 0.25));
  const size = Math.max(1.5, Math.min(LARGEST_POINT, 3.6 * (side / 700) ** 0.35 * crowded));
  const alpha = Math.max(0.08, Math.min(0.85, 0.7 / (perPixel * size * size)));
  return { size, alpha };
}
