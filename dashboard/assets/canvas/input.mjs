// What a reader does on the frame, and which point is meant. Mouse, pen and wheel: hover, open, choose, pan, turn,
// zoom, draw a region. The keyboard reaches every head of the grid, neighbours of a head, points, zoom, and the way
// back. The nearest point of a panel: points are sorted into a grid of cells, and a search looks at the cells around a
// place.
import { projectToSquare, rotationRows } from "./camera.mjs";
import { pointsOfPanel } from "./painter.mjs";
import { panelAt, panelBox, panelIn, panelToPixel, pixelSize, pixelToPanel, slotOf } from "./layout.mjs";
import { arrowOf, hasModifier, stepInGrid } from "../web/keyboard.mjs";

const CLICK_PIXELS = 4;
const DEGREES_PER_PIXEL = 0.4;
/** Milliseconds of rest at the whole head after which turning the wheel on goes back to all heads. */
const REST_MS = 350;

/** @param {Panels} panels */
export function listenToPointer(panels) {
  /** @type {Pixel | null} */
  let pressed = null;
  /** @type {Pixel | null} */
  let dragged = null;
  /** Pixel of each finger or the mouse, by its id. */
  const pointers = /** @type {Map<number, Pixel>} */ (new Map());
  let inside = 0;

  /** Pixels from the upper left of the frame. @param {MouseEvent} event @returns {Pixel} */
  function pixel(event) {
    const box = panels.frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** @param {PointerEvent} event */
  function moved(event) {
    if (!panels.pictureNow || !panels.layoutNow) return;
    const [px, py] = pixel(event);
    if (pointers.size > 1) return pinch(event.pointerId, [px, py]);
    if (dragged) return pointers.has(event.pointerId) ? drag(event, px, py) : undefined;
    if (panels.cameraControl.animating || panels.player.moving || panels.tool.drawing) return;
    if (panels.choosesPoints && panels.hover.pinned) return;
    const cluster = panels.layer.clusterAt(px, py);
    if (cluster) return panels.hover.showCluster(cluster);
    if (panels.single) return panels.hover.showPoint(panels.search.nearest(0, px, py));
    if (panels.picture.cards) return panels.hover.showAt(px, py);
    const panel = panelAt(panels.layout, panels.camera, px, py);
    return panel < 0 ? panels.hover.hide() : panels.hover.showPanel(panel);
  }

  /** The distance between two fingers, and the middle between them. @returns {[number, number, number]} */
  function span() {
    const [[x0, y0], [x1, y1]] = [...pointers.values()];
    return [Math.hypot(x1 - x0, y1 - y0), (x0 + x1) / 2, (y0 + y1) / 2];
  }

  /** Zooms by the change of two fingers' distance. @param {number} id @param {Pixel} place */
  function pinch(id, place) {
    if (!pointers.has(id)) return;
    const [before] = span();
    pointers.set(id, place);
    const [after, ...middle] = span();
    if (before && after) panels.cameraControl.zoom(after / before, ...middle);
  }

  /** @param {PointerEvent} event @param {number} px @param {number} py */
  function drag(event, px, py) {
    if (!dragged || !pressed) return;
    const [dx, dy] = [px - dragged[0], py - dragged[1]];
    if (!panels.dragging && Math.hypot(px - pressed[0], py - pressed[1]) <= CLICK_PIXELS) return;
    panels.dragging = true;
    dragged = [px, py];
    if (panels.tool.drawing) return panels.tool.extend(px, py);
    if (panels.choosesPoints && panels.tool.name !== "move") return;
    if (panels.picture.dimensions === 3 && !event.shiftKey)
      return panels.cameraControl.turn(dx * DEGREES_PER_PIXEL, dy * DEGREES_PER_PIXEL);
    if (panels.single || panels.camera.zoom > 1) panels.cameraControl.pan(dx, dy);
  }

  /** @param {PointerEvent} event */
  function down(event) {
    if (
      !panels.pictureNow ||
      !panels.layoutNow ||
      event.button ||
      event.target?.closest?.(".tip") ||
      panels.cameraControl.animating
    )
      return;
    panels.keyboard = false;
    panels.player.pause();
    pressed = pixel(event);
    if (!panels.painter) return;
    dragged = pressed;
    if (event.isPrimary) pointers.clear(); // a first finger: pointers left over are dropped
    pointers.set(event.pointerId, pressed);
    panels.frame.setPointerCapture(event.pointerId);
    panels.dragging = pointers.size > 1;
    if (panels.dragging) panels.tool.cancel();
    else if (panels.choosesPoints && panels.tool.name !== "move") panels.tool.begin(...pressed);
  }

  /** @param {PointerEvent} event */
  function up(event) {
    pointers.delete(event.pointerId);
    const [left] = pointers.values();
    if (left) return void (pressed = dragged = left);
    const [place, wasDragging] = [pixel(event), panels.dragging];
    const clicked = pressed && !wasDragging;
    pressed = dragged = null;
    panels.dragging = false;
    if (panels.tool.drawing && !clicked) return panels.tool.end();
    panels.tool.cancel();
    if (wasDragging) panels.cameraControl.settle();
    if (clicked) click(...place);
  }

  /** @param {number} px @param {number} py */
  function click(px, py) {
    const panel = panels.panelAt(px, py);
    if (!panels.choosesPoints) return panels.open(panel);
    if (!panels.painter || panels.player.moving) return;
    if (!panels.arePointsThere) return panels.keep(() => click(px, py));
    panels.hover.pinned = false;
    const point = panels.single ? panels.search.nearest(0, px, py) : panels.hover.showAt(px, py);
    if (panels.single) panels.hover.showPoint(point);
    else panels.hover.focus = Math.max(0, panel);
    panels.hover.pinned = point >= 0;
    panels.pick(point);
  }

  function cancelled() {
    pointers.clear();
    pressed = dragged = null;
    panels.dragging = false;
    panels.tool.cancel();
  }

  /** @param {WheelEvent} event */
  function wheel(event) {
    if (!panels.painter || !panels.layoutNow || event.target?.closest?.(".tip")) return;
    const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
    // All is in view and there is no way out: the wheel scrolls the page, as it does beside the picture.
    if (!(panels.single && panels.leaves) && pixels > 0 && panels.camera.zoom === 1) return;
    event.preventDefault();
    const now = event.timeStamp;
    if (panels.camera.zoom > 1) inside = now;
    if (panels.single && pixels > 0 && panels.camera.zoom === 1 && now - inside > REST_MS) return panels.leave();
    panels.cameraControl.zoom(Math.exp(-pixels * 0.0015), ...pixel(event));
  }

  /** @param {string} name @param {(event: any) => void} act @param {AddEventListenerOptions} [options] */
  const on = (name, act, options) => panels.on(panels.frame, name, act, options);
  on("pointermove", moved);
  on("pointerdown", down);
  on("pointerup", up);
  on("pointercancel", cancelled);
  on("pointerleave", () => dragged || panels.hover.pinned || panels.hover.hide());
  on("wheel", wheel, { passive: false });
  on("dblclick", () => panels.choosesPoints && panels.painter && panels.cameraControl.reset());
}

/** @param {Panels} panels */
export function listenToKeyboard(panels) {
  const { hover, search } = panels;

  /** Moves to another head of the grid. @param {number} rows @param {number} columns */
  function moveFocus(rows, columns) {
    const { layout } = panels;
    const slot = slotOf(layout, hover.focus);
    const from = [Math.floor(slot / layout.columns), slot % layout.columns];
    const [row, column] = stepInGrid(from, [rows, columns], [layout.rows, layout.columns]);
    const next = panelIn(layout, row * layout.columns + column);
    const panel = next < 0 ? hover.focus : next;
    hover.hide();
    const [left, top, side] = panelBox(layout, panels.camera, panel);
    reveal(left + side / 2, top + side / 2);
    hover.showPanel(panel);
  }

  /** Moves the keyboard to a point: its ring and card stay until the next key. @param {number} point */
  function stand(point) {
    if (point < 0) return;
    reveal(...search.pixelOf(0, point));
    hover.showPoint(point);
    panels.keyboard = hover.pinned = true;
  }

  /** Pans the picture to a pixel outside of the frame. @param {number} px @param {number} py */
  function reveal(px, py) {
    const { width, height } = panels.layout;
    if (px < 0 || py < 0 || px > width || py > height) panels.cameraControl.pan(width / 2 - px, height / 2 - py);
  }

  /** Moves the keyboard to a point; its token has a ring in both panels. @param {number} point */
  function standInBoth(point) {
    if (point < 0) return;
    reveal(...search.pixelOf(hover.focus, point));
    hover.showInBoth(hover.focus, point);
    panels.keyboard = hover.pinned = true;
  }

  /** The point nearest to the middle of a panel, or of the frame for a single one. @param {number} panel */
  function nearestToMiddle(panel) {
    const { layout, camera, single } = panels;
    const [left, top, side] = panelBox(layout, camera, panel);
    return search.nearestAnywhere(
      panel,
      single ? [layout.width / 2, layout.height / 2] : [left + side / 2, top + side / 2],
    );
  }

  /** @param {number} rows @param {number} columns */
  function movePoint(rows, columns) {
    const [panel, from] = [panels.single ? 0 : hover.focus, hover.point];
    const isStanding = panels.keyboard && from >= 0;
    const point = isStanding ? search.towards(panel, from, columns, -rows) : nearestToMiddle(panel);
    if (panels.single) stand(point);
    else standInBoth(point);
  }

  function escape() {
    panels.keyboard = false;
    if (panels.tool.drawing) panels.tool.cancel();
    else if (hover.point >= 0 || !panels.choosesPoints) hover.hide();
    else panels.pick(-1);
  }

  /** @param {KeyboardEvent} event */
  function act(event) {
    const [key, shift] = [event.key.length === 1 ? event.key.toLowerCase() : event.key, event.shiftKey];
    const step = arrowOf(event);
    if (step && !panels.choosesPoints)
      return () => (shift && search.areThere() ? movePoint(...step) : moveFocus(...step));
    if (step) return () => (shift ? panels.painter && movePoint(...step) : panels.step(...step));
    if (key === "Enter")
      return panels.choosesPoints ? () => hover.point >= 0 && panels.pick(hover.point) : () => panels.open(hover.focus);
    if (key === "Escape") return escape;
    if (key === "Backspace" && panels.choosesPoints) return () => panels.leave();
    if (!panels.painter) return key === "-" && panels.choosesPoints ? () => panels.leave() : null;
    if (key === "p" && panels.single) return () => stand(nearestToMiddle(0));
    if (key === "p" && search.areThere()) return () => standInBoth(nearestToMiddle(hover.focus));
    const { zoomIn, zoomOut, reset } = panels.cameraControl;
    return { "+": zoomIn, "=": zoomIn, "-": zoomOut, 0: reset }[key];
  }

  panels.on(panels.frame, "keydown", (event) => {
    if (hasModifier(event) || !panels.pictureNow || !panels.layoutNow) return;
    const does = act(event);
    if (!does) return;
    event.preventDefault();
    panels.cameraControl.finish();
    does();
  });
  panels.on(
    panels.frame,
    "focus",
    () =>
      panels.pictureNow &&
      !panels.choosesPoints &&
      panels.frame.matches(":focus-visible") &&
      hover.showPanel(hover.focus),
  );
  panels.on(panels.frame, "blur", () => hover.pinned || hover.hide());
}

const CELLS = 256;
/** The view of a turned cube is up to this factor wider than the cube. */
const DIAGONAL = Math.sqrt(3);

/**
 * Index of one panel's points; `places` are x, y pairs from 0 to `most`.
 * @param {Uint8Array | Uint16Array} places @param {number} most
 */
export function buildIndex(places, most) {
  const count = places.length / 2;
  /** @param {number} i */
  const cellOf = (i) => cell(places[2 * i + 1], most) * CELLS + cell(places[2 * i], most);
  const starts = new Uint32Array(CELLS * CELLS + 1);
  for (let i = 0; i < count; i++) starts[cellOf(i) + 1]++;
  for (let c = 0; c < CELLS * CELLS; c++) starts[c + 1] += starts[c];
  const next = starts.slice(0, -1);
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[next[cellOf(i)]++] = i;
  return { places, most, starts, order };
}

/**
 * Places of a turned cube as x, y pairs between 0 and 65535.
 * @param {Points} points @param {Camera} camera
 */
export function flattenPlaces(points, camera) {
  const [right, up] = rotationRows(camera);
  const { places, most } = points;
  const flat = new Uint16Array((places.length / 3) * 2);
  const scale = 65535 / DIAGONAL / most;
  const [fromRight, fromUp] = [right, up].map((row) => 32767.5 - 0.5 * (row[0] + row[1] + row[2]) * most * scale);
  for (let from = 0, to = 0; from < places.length; from += 3, to += 2) {
    const [x, y, z] = [places[from], places[from + 1], places[from + 2]];
    flat[to] = fromRight + scale * (right[0] * x + right[1] * y + right[2] * z);
    flat[to + 1] = fromUp + scale * (up[0] * x + up[1] * y + up[2] * z);
  }
  return flat;
}

/** A coordinate of the square in the index of flattened places. @param {number} value */
export const shrink = (value) => 0.5 + (value - 0.5) / DIAGONAL;

/** @param {number} coordinate @param {number} most */
const cell = (coordinate, most) => Math.min(CELLS - 1, Math.floor((coordinate / most) * CELLS));

/**
 * The point within `radius` of (x, y), all from 0 to 1, of the least `cost(dx, dy)`; -1 if there is none.
 * @param {PointIndex} index @param {number} x @param {number} y @param {number} radius
 * @param {(dx: number, dy: number) => number} cost @param {number} limit
 */
function least(index, x, y, radius, cost, limit) {
  const { places, most, starts, order } = index;
  /** @param {number} centre */
  const range = (centre) =>
    [centre - radius, centre + radius].map((v) => Math.max(0, Math.min(CELLS - 1, Math.floor(v * CELLS))));
  const [left, right] = range(x);
  const [bottom, top] = range(y);
  let best = limit;
  let nearest = -1;
  for (let row = bottom; row <= top; row++) {
    for (let slot = starts[row * CELLS + left]; slot < starts[row * CELLS + right + 1]; slot++) {
      const i = order[slot];
      const worth = cost(places[2 * i] - x * most, places[2 * i + 1] - y * most);
      if (worth <= best) [best, nearest] = [worth, i];
    }
  }
  return nearest;
}

/**
 * The point nearest to (x, y) within `radius`, all from 0 to 1; -1 if there is none.
 * @param {PointIndex} index @param {number} x @param {number} y @param {number} radius
 */
export const nearestPoint = (index, x, y, radius) =>
  least(index, x, y, radius, (dx, dy) => dx * dx + dy * dy, (radius * index.most) ** 2);

/**
 * The point nearest to point `from` in a direction (one of dx, dy is 0), within 45 degrees of it; -1 if there is none.
 * @param {PointIndex} index @param {number} from @param {number} dx @param {number} dy
 */
export function nextPoint(index, from, dx, dy) {
  const [x, y] = [index.places[2 * from] / index.most, index.places[2 * from + 1] / index.most];
  /** @param {number} across @param {number} up */
  const cost = (across, up) => {
    const [ahead, aside] = [across * dx + up * dy, Math.abs(across * dy) + Math.abs(up * dx)];
    return ahead > 0 && aside <= ahead ? across * across + up * up : Infinity;
  };
  for (let radius = 1 / CELLS; radius < 2; radius *= 2) {
    const nearest = least(index, x, y, radius, cost, (radius * index.most) ** 2);
    if (nearest >= 0) return nearest;
  }
  return -1;
}

/** Pixels from a point within which a pointer hits it. */
const REACH_PIXELS = 14;

/**
 * Finds points by the pixels of the frame: in a single panel, and in two panels with the same tokens.
 * @param {Panels} panels
 */
export function createSearch(panels) {
  /** @type {{ points: Points, yaw: number, pitch: number, built: PointIndex[] } | null} */
  let known = null;

  /** Whether all points have come, in a picture that is searched by point: a single panel, or two with cards. */
  function areThere() {
    const { pictureNow: picture, data } = panels;
    if (!picture || (picture.panels.length !== 1 && !picture.cards)) return false;
    return data.points?.panels === picture.panels.length;
  }

  /** Indices of the points of each panel for the present camera; a turned cube needs new ones. */
  function indices() {
    const { points, camera } = panels;
    const { yaw, pitch } = camera;
    const isTurned = points.components === 3 && (known?.yaw !== yaw || known.pitch !== pitch);
    if (!known || known.points !== points || isTurned) known = { points, yaw, pitch, built: [] };
    return known;
  }

  /** @param {number} panel */
  function indexOf(panel) {
    const { points, built } = indices();
    const own = pointsOfPanel(points, panel);
    return (built[panel] ??=
      points.components === 3
        ? buildIndex(flattenPlaces(own, panels.camera), 65535)
        : buildIndex(own.places, own.most));
  }

  /**
   * The point of a panel nearest to a pixel, within `radius` pixels, or -1.
   * @param {number} panel @param {number} px @param {number} py
   */
  function nearest(panel, px, py, radius = REACH_PIXELS) {
    if (!areThere()) return -1;
    const [x, y] = pixelToPanel(panels.layout, panels.camera, panel, px, py);
    const reach = radius * pixelSize(panels.layout, panels.camera);
    if (panels.points.components === 2) return nearestPoint(indexOf(panel), x, y, reach);
    return nearestPoint(indexOf(panel), shrink(x), shrink(y), reach / DIAGONAL);
  }

  /** The point of a panel nearest to a pixel, however far it is. @param {number} panel @param {Pixel} pixel */
  function nearestAnywhere(panel, [px, py]) {
    for (let radius = REACH_PIXELS; radius < 4 * panels.layout.side * panels.camera.zoom; radius *= 2) {
      const point = nearest(panel, px, py, radius);
      if (point >= 0) return point;
    }
    return -1;
  }

  /**
   * The nearest point of a panel in a direction from one of its points, or -1.
   * @param {number} panel @param {number} point @param {number} dx @param {number} dy
   */
  const towards = (panel, point, dx, dy) => (areThere() ? nextPoint(indexOf(panel), point, dx, dy) : -1);

  /** Pixel of a point of a panel. @param {number} panel @param {number} point @returns {Pixel} */
  function pixelOf(panel, point) {
    const { layout, camera, points, player } = panels;
    const place = player.placeOf(panel * points.tokens * points.roles + point);
    return panelToPixel(layout, camera, panel, ...projectToSquare(camera, place));
  }

  return { areThere, nearest, nearestAnywhere, towards, pixelOf };
}
