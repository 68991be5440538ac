// Positions of the panels in the frame, and places of pixels in a panel. Pixels are CSS pixels from the upper left.
import { dataToScreen, screenToData } from "./camera.mjs";

const GAP = 4;
const SMALLEST_PANEL = 20;
/** Smallest side that panels get when all are to fit the window. */
const LEGIBLE = 56;
/** A turned cube is wider than its side; at this size almost every point of one stays in its panel. */
const CUBE = 0.8;

/** The line above a panel that says which it is, where panels are not named by their row and column. */
const TITLE = 17;

/**
 * Panels as large as the room lets them be, but not lower than `least`. Where `slots` are given, some places of the
 * grid stay empty.
 */
export function fitPanels({ count, columns, slots, titled, least, dimensions, width, height }) {
  const rows = Math.ceil((slots ? Math.max(...slots) + 1 : count) / columns);
  const single = count === 1;
  const title = titled && !single ? TITLE : 0;
  const across = (width + GAP) / columns - GAP;
  const high = single ? Math.max(320, height) : Math.max(least || LEGIBLE, height / rows - GAP - title);
  const side = Math.max(SMALLEST_PANEL, Math.floor(Math.min(across, high)));
  const sizes = { width: columns * (side + GAP) - GAP, height: rows * (side + GAP + title) - GAP };
  return {
    columns,
    rows,
    count,
    slots: single ? null : slots || null,
    single,
    side,
    title,
    gap: GAP,
    inset: single ? 4 : 1.5,
    ...sizes,
    part: dimensions === 3 ? CUBE : 1,
  };
}

export const sameLayout = (layout, other) =>
  Boolean(layout) && Object.keys(other).every((name) => layout[name] === other[name]);

/** The place of the grid at which a panel stands, and the panel of a place, -1 where there is none. */
export const slotOf = (layout, panel) => (layout.slots ? layout.slots[panel] : panel);
export const panelIn = (layout, slot) => (layout.slots ? layout.slots.indexOf(slot) : slot < layout.count ? slot : -1);

const step = (layout) => [layout.side + layout.gap, layout.side + layout.gap + layout.title];

/** Upper left of a panel, below its title. */
function corner(layout, panel) {
  const [slot, [across, down]] = [slotOf(layout, panel), step(layout)];
  return [(slot % layout.columns) * across, Math.floor(slot / layout.columns) * down + layout.title];
}

/** Pixel on screen of a pixel of the unmoved frame, and the way back. */
function onScreen(layout, camera, px, py) {
  const [sx, sy] = dataToScreen(camera, px / layout.width, 1 - py / layout.height);
  return [sx * layout.width, (1 - sy) * layout.height];
}
function inFrame(layout, camera, px, py) {
  const [x, y] = screenToData(camera, px / layout.width, 1 - py / layout.height);
  return [x * layout.width, (1 - y) * layout.height];
}

/** Pixel of a place of a panel's square. */
export function panelToPixel(layout, camera, panel, x, y) {
  const [left, top] = corner(layout, panel);
  const [middle, reach] = [layout.side / 2, (layout.side - 2 * layout.inset) * layout.part];
  return onScreen(layout, camera, left + middle + (x - 0.5) * reach, top + middle - (y - 0.5) * reach);
}

/** Place in a panel's square of a pixel. */
export function pixelToPanel(layout, camera, panel, px, py) {
  const [fx, fy] = inFrame(layout, camera, px, py);
  const [left, top] = corner(layout, panel);
  const [middle, reach] = [layout.side / 2, (layout.side - 2 * layout.inset) * layout.part];
  return [0.5 + (fx - left - middle) / reach, 0.5 - (fy - top - middle) / reach];
}

/** A pixel as a part of the square's side. */
export const pixelSize = (layout, camera) => 1 / ((layout.side - 2 * layout.inset) * layout.part * camera.zoom);

/** The panel under a pixel, -1 where there is none. */
export function panelAt(layout, camera, px, py) {
  const steps = step(layout);
  const [column, row] = inFrame(layout, camera, px, py).map((pixel, axis) => Math.floor(pixel / steps[axis]));
  const inside = column >= 0 && row >= 0 && column < layout.columns && row < layout.rows;
  return inside ? panelIn(layout, row * layout.columns + column) : -1;
}

/** Left, top and side of a panel on screen. */
export function panelBox(layout, camera, panel) {
  const [left, top] = onScreen(layout, camera, ...corner(layout, panel));
  return [left, top, layout.side * camera.zoom];
}

/** The zoom at which one panel fills the frame, and the camera that looks at it so. */
export const fillingZoom = (layout) => Math.min(layout.width, layout.height) / layout.side;
export function fillingCamera(layout, camera, panel) {
  const [left, top] = corner(layout, panel).map((pixel) => pixel + layout.side / 2);
  return { ...camera, x: left / layout.width, y: 1 - top / layout.height, zoom: fillingZoom(layout) };
}
