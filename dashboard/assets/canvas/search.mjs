// Finds the nearest point of a panel, and where a point is: points are sorted into a grid of cells, and a search looks
// at the cells around a place.
import { projectToSquare, rotationRows } from "./camera.mjs";
import { pointsOfPanel } from "./decode.mjs";
import { panelToPixel, pixelSize, pixelToPanel } from "./layout.mjs";

const CELLS = 256;
/** The square on which a turned cube is seen is up to this much wider than the cube. */
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
 * Places of a turned cube as pairs, so that all of them lie between 0 and 65535.
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

/** From the square to the index of flattened places. @param {number} value */
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

/** Pixels from a point within which a pointer is on it. */
const RADIUS = 14;

/**
 * Points of the panels of a picture by the pixels of its frame: of a single panel, and of panels with the same tokens.
 * @param {Panels} panels
 */
export function createSearch(panels) {
  /** @type {{ points: Points, yaw: number, pitch: number, built: PointIndex[] } | null} */
  let known = null;

  /** Whether the points of every panel have come: one can be looked at point by point, and so can two with cards. */
  function areThere() {
    const { pictureNow: picture, data } = panels;
    if (!picture || (picture.panels.length !== 1 && !picture.cards)) return false;
    return data.points?.panels === picture.panels.length;
  }

  /** Indices of the points of each panel as they are seen now; of a turned cube they are built anew. */
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
   * The point of a panel within so many pixels of a pixel, or -1.
   * @param {number} panel @param {number} px @param {number} py
   */
  function nearest(panel, px, py, radius = RADIUS) {
    if (!areThere()) return -1;
    const [x, y] = pixelToPanel(panels.layout, panels.camera, panel, px, py);
    const reach = radius * pixelSize(panels.layout, panels.camera);
    if (panels.points.components === 2) return nearestPoint(indexOf(panel), x, y, reach);
    return nearestPoint(indexOf(panel), shrink(x), shrink(y), reach / DIAGONAL);
  }

  /** The point of a panel nearest to a pixel, however far it is. @param {number} panel @param {Pixel} pixel */
  function nearestAnywhere(panel, [px, py]) {
    for (let radius = RADIUS; radius < 4 * panels.layout.side * panels.camera.zoom; radius *= 2) {
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
