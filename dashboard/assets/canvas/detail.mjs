// How much of a picture is painted: fewer points while the camera moves where painting all of them is slow, the size
// of a point, and a still picture where there is no WebGL2.
import { slotOf } from "./layout.mjs";
import { schemeNow } from "../web/screen.mjs";

const NO_SPACE = "This browser has no WebGL2, which 3D pictures need. Choose a 2D picture.";
const STILL = "This browser has no WebGL2: this is a still picture, without colours, search, lasso and zoom.";

/** Where there is no WebGL2: a picture from the server, and a line that says what it lacks. @param {Panels} panels */
export function showStillPicture(panels) {
  const { picture, image, note, layoutNow: layout, scale } = panels;
  const deep = picture.dimensions === 3 || !picture.raster;
  note.textContent = deep ? NO_SPACE : STILL;
  note.hidden = false;
  image.hidden = deep;
  image.onload = () => panels.finish("", true);
  image.onerror = () => panels.finish("The picture could not be loaded. Reload the page.");
  if (deep || !layout) return panels.finish("", true);
  /** @param {number} length */
  const pixels = (length) => Math.round(length * scale);
  const [side, gap, title] = [layout.side, layout.gap, layout.title].map(pixels);
  const columns = picture.flows || picture.narrowest ? `&columns=${layout.columns}` : "";
  image.src = `${picture.raster}&side=${side}&gap=${gap}&title=${title}&scheme=${schemeNow()}${columns}`;
}

/**
 * The panel of a grid that the other of two pictures shows alone, -1 where none does or where it is not drawn.
 * @param {Picture | null} before @param {Picture} picture
 */
export function sharedPanel(before, picture) {
  const isInto = before && before.panels.length > picture.panels.length;
  const [grid, single] = isInto ? [before, picture] : [picture, before];
  if (grid.panels.length < 2 || single?.panels.length !== 1) return -1;
  const panel = grid.panels.findIndex(({ name }) => name === single.panels[0].name);
  return panel < 0 || slotOf(grid, panel) < 0 ? -1 : panel;
}

/**
 * While a head's picture is on its way its panel of the grid stands in for it, and the other way round.
 * @param {Panels} panels @returns {{ only?: number, shift: number }}
 */
export function standIn({ data, picture, layout, gridPanel }) {
  const count = data.points?.panels;
  if (!count || count === picture.panels.length) return { shift: 0 };
  const panel = Math.max(0, gridPanel);
  return count === 1 ? { only: 0, shift: slotOf(layout, panel) } : { only: panel, shift: -panel };
}

/** Milliseconds of a painting that is slow, and after a movement until all points are painted again. */
const SLOW = 90;
const REST = 220;
/** So many points are drawn in a moment by a processor alone. */
const FEW = 80_000;

/** @param {Panels} panels */
export function createLevelOfDetail(panels) {
  let [slow, moving, resting, measured] = [false, false, 0, 0];

  function moved() {
    moving = true;
    clearTimeout(resting);
    resting = setTimeout(rest, REST);
  }

  function rest() {
    if (panels.dragging) return moved();
    moving = false;
    if (slow) panels.paint();
  }

  /** Most points of a panel to draw now. @param {Points | undefined} points @param {boolean} single */
  function most(points, single) {
    const total = points ? points.tokens * points.roles * (single ? 1 : points.panels) : 0;
    measured = total > FEW && !(slow && moving) ? performance.now() : 0;
    return points && total > FEW && slow && moving ? points.roles * Math.ceil((FEW / total) * points.tokens) : Infinity;
  }

  /** Call it after painting: measures how long that took. */
  function painted() {
    const begin = measured;
    if (begin) panels.painter?.whenDone(() => (slow = performance.now() - begin > SLOW));
  }

  return { moved, most, painted, release: () => clearTimeout(resting) };
}

const LARGEST = 10;

/**
 * {size in pixels, alpha} for so many points in a panel of so many pixels.
 * @param {number} points @param {number} side
 */
export function pointStyle(points, side) {
  const perPixel = points / (side * side);
  const crowded = Math.max(0.5, Math.min(1, (0.05 / perPixel) ** 0.25));
  const size = Math.max(1.5, Math.min(LARGEST, 3.6 * (side / 700) ** 0.35 * crowded));
  const alpha = Math.max(0.08, Math.min(0.85, 0.7 / (perPixel * size * size)));
  return { size, alpha };
}
