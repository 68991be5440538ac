// Layout of the panels: their positions in the frame, and places of pixels in a panel. Pixels are CSS pixels from the
// upper left.
import { acrossScreen, dataToScreen, fillingZoom, screenToData, squareWidth } from "./camera.mjs";

const GAP = 4;
const SMALLEST_PANEL = 20;
/** Smallest side that panels get when all are to fit the window. */
const LEGIBLE = 56;
/** Side of a cube as a share of its panel: almost every point of a turned cube stays in the panel. */
const CUBE = 0.8;

/** Pixels of the line with a panel's name above it, where row and column do not name panels. */
const TITLE = 17;

/** Smallest side of a panel whose title has a name and a number, and largest side of panels that flow. */
const [LEGIBLE_TITLE, LARGEST] = [86, 360];

/**
 * The number of columns with the largest panels; where titles would be cut, the most that have room for them.
 * @param {number} shown @param {{ width: number, height: number }} given
 */
function columnsFor(shown, { width, height }) {
  /** @param {number} columns */
  const across = (columns) => (width + GAP) / columns - GAP;
  /** @param {number} columns */
  const sideOf = (columns) => Math.min(across(columns), height / Math.ceil(shown / columns) - GAP - TITLE);
  const counts = Array.from({ length: shown }, (_, i) => i + 1);
  const best = counts.reduce((found, columns) => (sideOf(columns) > sideOf(found) ? columns : found), 1);
  if (sideOf(best) >= LEGIBLE_TITLE) return best;
  return Math.max(1, Math.min(shown, Math.floor((width + GAP) / (LEGIBLE_TITLE + GAP))));
}

/**
 * The most columns, up to `columns`, of at least `narrowest` pixels each.
 * @param {number} columns @param {number | null} narrowest @param {number} width
 */
const fewerColumns = (columns, narrowest, width) =>
  narrowest ? Math.max(1, Math.min(columns, Math.floor((width + GAP) / (narrowest + GAP)))) : columns;

/**
 * The layout with the largest panels that the room allows, but not lower than `least`. `slots`, if given, are the
 * places of the panels, and some places of the grid stay empty. With `flows` the room decides how many panels stand
 * in a row. Where panels would be narrower than `narrowest`, fewer stand in a row, as wide as the room.
 * @param {Wished} wished
 */
export function fitPanels({
  count,
  columns: given = 1,
  slots,
  flows,
  narrowest = null,
  titled,
  least,
  dimensions,
  width,
  height,
}) {
  const places = slots ? Math.max(...slots) + 1 : count;
  const columns = flows ? columnsFor(places, { width, height }) : fewerColumns(given, narrowest, width);
  const rows = Math.ceil(places / columns);
  const single = count === 1;
  const title = titled && !single ? TITLE : 0;
  const across = Math.min((width + GAP) / columns - GAP, flows ? LARGEST : Infinity);
  const legible = flows ? LEGIBLE_TITLE : least || LEGIBLE;
  const high = single ? Math.max(320, height) : Math.max(legible, height / rows - GAP - title);
  const isStacked = columns < given && !flows;
  const side = Math.max(SMALLEST_PANEL, Math.floor(isStacked ? across : Math.min(across, high)));
  const wide = single ? Math.max(side, Math.floor(width)) : columns * (side + GAP) - GAP;
  const sizes = { width: wide, height: rows * (side + GAP + title) - GAP };
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

/** @param {Layout | null} layout @param {Layout} other */
export const sameLayout = (layout, other) =>
  layout !== null &&
  /** @type {(keyof Layout)[]} */ (Object.keys(other)).every((name) => String(layout[name]) === String(other[name]));

/**
 * The place of a panel in the grid, -1 for none; `panelIn`: the panel at a place, -1 for none.
 * @param {Pick<Layout, "slots">} layout @param {number} panel
 */
export const slotOf = (layout, panel) => (layout.slots ? layout.slots[panel] : panel);
/** @param {Layout} layout @param {number} slot */
export const panelIn = (layout, slot) => (layout.slots ? layout.slots.indexOf(slot) : slot < layout.count ? slot : -1);

/** @param {Layout} layout @returns {Pair} */
const step = (layout) => [layout.side + layout.gap, layout.side + layout.gap + layout.title];

/** Upper left of a place of the grid, below its title. @param {Layout} layout @param {number} slot @returns {Pair} */
function slotCorner(layout, slot) {
  const [across, down] = step(layout);
  return [(slot % layout.columns) * across, Math.floor(slot / layout.columns) * down + layout.title];
}
/**
 * Upper left of a panel; a single panel stands in the middle of its frame.
 * @param {Layout} layout @param {number} panel
 * @returns {Pair}
 */
const corner = (layout, panel) =>
  layout.single ? [(layout.width - layout.side) / 2, 0] : slotCorner(layout, slotOf(layout, panel));

/** @param {Layout} layout @param {number} x */
const acrossFrame = (layout, x) => layout.width / 2 + (x - 0.5) * squareWidth(layout);

/**
 * Pixel on screen of a pixel of the unmoved frame; `inFrame` is the inverse.
 * @param {Layout} layout @param {Camera} camera @param {number} px @param {number} py
 * @returns {Pixel}
 */
function onScreen(layout, camera, px, py) {
  const [sx, sy] = dataToScreen(camera, acrossScreen(layout, px), 1 - py / layout.height);
  return [acrossFrame(layout, sx), (1 - sy) * layout.height];
}
/** @param {Layout} layout @param {Camera} camera @param {number} px @param {number} py @returns {Pair} */
function inFrame(layout, camera, px, py) {
  const [x, y] = screenToData(camera, acrossScreen(layout, px), 1 - py / layout.height);
  return [acrossFrame(layout, x), (1 - y) * layout.height];
}

/**
 * Pixel of a place in a panel's square.
 * @param {Layout} layout @param {Camera} camera @param {number} panel @param {number} x @param {number} y
 * @returns {Pixel}
 */
export function panelToPixel(layout, camera, panel, x, y) {
  const [left, top] = corner(layout, panel);
  const [middle, reach] = [layout.side / 2, (layout.side - 2 * layout.inset) * layout.part];
  return onScreen(layout, camera, left + middle + (x - 0.5) * reach, top + middle - (y - 0.5) * reach);
}

/**
 * Place of a pixel in a panel's square.
 * @param {Layout} layout @param {Camera} camera @param {number} panel @param {number} px @param {number} py
 * @returns {Pair}
 */
export function pixelToPanel(layout, camera, panel, px, py) {
  const [fx, fy] = inFrame(layout, camera, px, py);
  const [left, top] = corner(layout, panel);
  const [middle, reach] = [layout.side / 2, (layout.side - 2 * layout.inset) * layout.part];
  return [0.5 + (fx - left - middle) / reach, 0.5 - (fy - top - middle) / reach];
}

/** Size of a pixel as a share of the square's side. @param {Layout} layout @param {Camera} camera */
export const pixelSize = (layout, camera) => 1 / ((layout.side - 2 * layout.inset) * layout.part * camera.zoom);

/**
 * The panel under a pixel, -1 where there is none.
 * @param {Layout} layout @param {Camera} camera @param {number} px @param {number} py
 */
export function panelAt(layout, camera, px, py) {
  const steps = step(layout);
  const [column, row] = inFrame(layout, camera, px, py).map((pixel, axis) => Math.floor(pixel / steps[axis]));
  const inside = column >= 0 && row >= 0 && column < layout.columns && row < layout.rows;
  return inside ? panelIn(layout, row * layout.columns + column) : -1;
}

/**
 * Left, top and side on screen of a place of the grid; `panelBox`: of a panel.
 * @param {Layout} layout @param {Camera} camera @param {number} slot
 * @returns {[number, number, number]}
 */
export const slotBox = (layout, camera, slot) => [
  ...onScreen(layout, camera, ...slotCorner(layout, slot)),
  layout.side * camera.zoom,
];
/** @param {Layout} layout @param {Camera} camera @param {number} panel @returns {[number, number, number]} */
export const panelBox = (layout, camera, panel) => [
  ...onScreen(layout, camera, ...corner(layout, panel)),
  layout.side * camera.zoom,
];

/**
 * The camera with which one panel fills the frame.
 * @param {Layout} layout @param {Camera} camera @param {number} panel
 */
export function fillingCamera(layout, camera, panel) {
  const [left, top] = corner(layout, panel).map((pixel) => pixel + layout.side / 2);
  return { ...camera, x: left / layout.width, y: 1 - top / layout.height, zoom: fillingZoom(layout) };
}
