// Finds the nearest point: points are sorted into a grid of cells, and a search looks at the cells around a place.
import { rotationRows } from "./camera.mjs";

const CELLS = 256;
/** The square on which a turned cube is seen is up to this much wider than the cube. */
export const DIAGONAL = Math.sqrt(3);

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
