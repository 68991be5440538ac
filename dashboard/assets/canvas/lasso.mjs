// The outline of a region: simplified, its area, and its form in a link. Places are 0..1 of the square, y upwards.
import { squaredDistance } from "../web/drawing.mjs";

const MOST_VERTICES = 60;
/** Squared: what is nearer to the outline than half of a thousandth does not show in a link. */
const FINEST = 0.0005 ** 2;

/** Ramer-Douglas-Peucker, farthest place first: the outline with at most `most` vertices. @param {Pair[]} outline */
export function simplify(outline, most = MOST_VERTICES) {
  const vertices = new Set([0, outline.length - 1]);
  /** @param {number} first @param {number} last */
  const farthest = (first, last) => {
    let [best, at] = [0, -1];
    for (let i = first + 1; i < last; i++) {
      const distance = squaredDistance(outline[i], outline[first], outline[last]);
      if (distance > best) [best, at] = [distance, i];
    }
    return { best, at, first, last };
  };
  const open = [farthest(0, outline.length - 1)];
  while (vertices.size < most && open.length) {
    open.sort((a, b) => a.best - b.best);
    const next = open.pop();
    if (!next || next.best < FINEST) continue;
    const { at, first, last } = next;
    vertices.add(at);
    open.push(farthest(first, at), farthest(at, last));
  }
  return outline.filter((_, i) => vertices.has(i));
}

/** Twice the area, without sign: a click is no region. @param {Pair[]} outline */
export const outlineArea = (outline) =>
  Math.abs(
    outline.reduce(
      (sum, [x, y], i) => sum + x * outline[(i + 1) % outline.length][1] - y * outline[(i + 1) % outline.length][0],
      0,
    ),
  );

/** @param {Pair} first @param {Pair} second @returns {Pair[]} */
export const boxOutline = ([ax, ay], [bx, by]) => [
  [ax, ay],
  [bx, ay],
  [bx, by],
  [ax, by],
];

/**
 * `where,yaw,pitch,x1,y1,...`: of which picture, degrees, and thousandths of the square.
 * @param {string} where @param {{ yaw: number, pitch: number }} camera @param {Pair[]} outline
 */
export function formatLasso(where, camera, outline) {
  const places = simplify(outline)
    .flat()
    .map((value) => Math.round(1000 * value));
  return [where, Math.round(camera.yaw), Math.round(camera.pitch), ...places].join(",");
}

/**
 * What `format` wrote of this picture; null where it is none, or of another.
 * @param {string | null} text @param {string | null | undefined} where
 */
export function parseLasso(text, where) {
  if (!text || !where || !text.startsWith(`${where},`)) return null;
  const rest = text.slice(where.length + 1).split(",");
  const [yaw, pitch, ...flat] = rest.map(Number);
  if (rest.some((part) => part === "") || rest.map(Number).some(Number.isNaN) || flat.length < 6 || flat.length % 2)
    return null;
  const outline = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] / 1000, flat[2 * i + 1] / 1000]);
  return { yaw, pitch, outline };
}

/**
 * The outline of a link's region where it belongs to this picture as it is seen, else null.
 * @param {string | null} text @param {string | null | undefined} where @param {{ yaw: number, pitch: number }} camera
 */
export function outlineHere(text, where, camera) {
  const region = parseLasso(text, where);
  return region && region.yaw === Math.round(camera.yaw) && region.pitch === Math.round(camera.pitch)
    ? region.outline
    : null;
}
