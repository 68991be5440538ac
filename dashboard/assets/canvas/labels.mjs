// Texts over the points: wordpieces beside their points, and names of clusters at the densest place of each cluster or
// the nearest free place.
import { pointsOfPanel } from "./painter.mjs";
import { panelBox } from "./layout.mjs";
import { FAMILY } from "../web/drawing.mjs";

const MOST_LABELS = 300;
const LINE_HEIGHT = 15;
const FONTS = { plain: `11px ${FAMILY}`, strong: `600 12px ${FAMILY}` };
const widths = new Map();

/** @param {CanvasRenderingContext2D} context @param {keyof typeof FONTS} kind @param {string} text */
function measure(context, kind, text) {
  const name = kind + text;
  if (!widths.has(name)) {
    context.font = FONTS[kind];
    widths.set(name, context.measureText(text).width);
  }
  return widths.get(name);
}

/**
 * Labels of a sentence's points: the chosen point, the ends of its lines, its neighbours, the rest.
 * @param {Focus} focus @param {number} role
 * @returns {Generator<Label>}
 */
function* ofSentence({ position, pieces, places, lines, near = [] }, role) {
  /** @param {number} token @param {number} side @returns {Label} */
  const label = (token, side) => ({
    place: places[token][side],
    text: `${token}:${pieces[token]}`,
    role: side,
    kind: "strong",
  });
  const roles = places.find(Boolean)?.length || 0;
  const ownLines = role < 0 ? [] : lines.filter((edge) => edge[role] === position).sort((a, b) => b[2] - a[2]);
  const yielded = new Set();
  /** @type {(Pair | NonNullable<Focus["near"]>[number])[]} */
  const order = [
    [position, Math.max(0, role)],
    ...ownLines.map((edge) => /** @type {Pair} */ ([edge[1 - role], 1 - role])),
  ];
  const sides = Array.from({ length: roles }, (_, side) => side);
  places.forEach((_, token) => order.push(...sides.map((side) => /** @type {Pair} */ ([token, side]))));
  for (const neighbour of near) if (role >= 0) order.splice(1 + ownLines.length, 0, neighbour);
  for (const item of order) {
    if (!Array.isArray(item))
      yield { place: item.place, text: `${item.position}:${item.piece}`, role: roles - 1 - role, kind: "strong" };
    else if (places[item[0]] && !yielded.has(2 * item[0] + item[1])) {
      yielded.add(2 * item[0] + item[1]);
      yield label(...item);
    }
  }
}

/**
 * Labels of all points of a head: selected points first, else in the order of the corpus.
 * @param {{ points: Points, mask: Mask | null }} given @param {Pieces} pieces
 * @param {boolean} quiet
 * @returns {Generator<Label>}
 */
function* ofHead({ points, mask }, { pieces, ids }, quiet) {
  const { components, places, most, roles } = points;
  const count = roles * Math.min(points.tokens, ids.length);
  for (const selected of mask ? [1, 0] : [1])
    for (let i = 0; i < count; i++) {
      if (mask && mask.values[i] !== selected) continue;
      const place = Array.from({ length: components }, (_, c) => places[i * components + c] / most);
      yield {
        place,
        text: pieces[ids[Math.floor(i / roles)]],
        role: i % roles,
        kind: "plain",
        faint: quiet || selected === 0,
      };
    }
}

/** @param {Iterable<Label>} candidates @param {Room} room @param {ToPixel} toPixel */
function* onScreen(candidates, { left, top, right, bottom }, toPixel) {
  for (const candidate of candidates) {
    const [px, py] = toPixel(candidate.place);
    if (px >= left && py >= top && px <= right && py <= bottom) yield { ...candidate, px, py };
  }
}

/**
 * The visible part of a panel, in pixels of the frame; a single panel has the whole frame.
 * @param {{ layout: Layout, camera: Camera }} given @param {number} panel
 */
export function roomOf({ layout, camera }, panel) {
  const [left, top, side] = layout.single ? [0, 0, Infinity] : panelBox(layout, camera, panel);
  return {
    left: Math.max(0, left),
    top: Math.max(0, top),
    right: Math.min(layout.width, left + side),
    bottom: Math.min(layout.height, top + side),
  };
}

/**
 * Labels that fit into a panel, each with the distance `dx` from its point.
 * @param {Panels} panels @param {CanvasRenderingContext2D} context @param {number} panel
 * @param {{ focus: Focus, pieces: Pieces | null, sheet: Sheet, toPixel: ToPixel }} given
 */
export function chooseLabels(panels, context, panel, { focus, pieces, sheet, toPixel }) {
  const room = roomOf(panels, panel);
  const role = panels.roles.indexOf(panels.picture.chosen?.role ?? "");
  const { points } = panels;
  const mask = panels.data.mask ?? null;
  /** @type {[Label["kind"], Generator<Label>, number][]} */
  const sources = [];
  if (focus) sources.push(["strong", ofSentence(focus, role), 9]);
  if (pieces)
    sources.push(["plain", ofHead({ points: pointsOfPanel(points, panel), mask }, pieces, Boolean(focus)), 6]);
  /** @type {(Label & { px: number, left: number })[]} */
  const chosen = [];
  for (const [kind, candidates, beside] of sources) {
    const fits = { most: MOST_LABELS - chosen.length, height: LINE_HEIGHT, beside, room };
    chosen.push(...fitLabels(onScreen(candidates, room, toPixel), (text) => measure(context, kind, text), sheet, fits));
  }
  return chosen.map((label) => ({ ...label, dx: label.left - label.px }));
}

/**
 * @param {Context} context @param {(Label & { dx: number })[]} labels
 * @param {{ palette: Palette, roles: string[] }} given
 * @param {ToPixel} toPixel
 */
export function drawLabels(context, labels, { palette, roles }, toPixel) {
  Object.assign(context, { textBaseline: "middle", lineJoin: "round", strokeStyle: palette.panel, lineWidth: 3 });
  for (const { place, text, role, kind, faint, dx } of labels) {
    const [px, py] = toPixel(place);
    context.font = FONTS[kind];
    context.globalAlpha = faint ? 0.35 : 1;
    context.strokeText(text, px + dx, py);
    context.fillStyle = palette[roles[role]];
    context.fillText(text, px + dx, py);
  }
  context.globalAlpha = 1;
}

const CELL = 4;

/** An empty sheet of this size in pixels. @param {number} width @param {number} height */
export function emptySheet(width, height) {
  const [columns, rows] = [Math.ceil(width / CELL), Math.ceil(height / CELL)];
  return { columns, rows, taken: new Uint8Array(columns * rows) };
}

/**
 * Takes a box on the sheet if all of it is free; returns whether it did.
 * @param {Sheet} sheet @param {number} left @param {number} top @param {number} width @param {number} height
 */
export function takeBox({ columns, rows, taken }, left, top, width, height) {
  const [x0, y0] = [Math.floor(left / CELL), Math.floor(top / CELL)];
  const [x1, y1] = [Math.ceil((left + width) / CELL), Math.ceil((top + height) / CELL)];
  if (x0 < 0 || y0 < 0 || x1 > columns || y1 > rows) return false;
  for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) if (taken[y * columns + x]) return false;
  for (let y = y0; y < y1; y++) taken.fill(1, y * columns + x0, y * columns + x1);
  return true;
}

/**
 * The candidates whose label fits beside their point: right of it, else left.
 * `candidates` yields {px, py, text, ...}; `widthOf` gives the width of a text. Chosen ones get `left` and `top`.
 * @param {Iterable<any>} candidates @param {(text: string) => number} widthOf @param {Sheet} onSheet
 * @param {{ most: number, height: number, beside: number, room?: Room }} given
 */
export function fitLabels(candidates, widthOf, onSheet, { most, height, beside, room }) {
  const chosen = [];
  for (const candidate of candidates) {
    if (chosen.length >= most) break;
    const width = widthOf(candidate.text);
    const top = candidate.py - height / 2;
    /** @param {number} start */
    const isInside = (start) => !room || (start >= room.left && start + width <= room.right);
    const left = [candidate.px + beside, candidate.px - beside - width].find(
      (start) => isInside(start) && takeBox(onSheet, start, top, width, height),
    );
    if (left !== undefined) chosen.push({ ...candidate, left, top, width, height });
  }
  return chosen;
}

const FONT = `600 13px ${FAMILY}`;
const [HEIGHT, PADDING, BAR, STEP] = [20, 4, 3, 22];
/** Steps from the peak to look for a free place, the nearest first: across in widths, down in lines. */
const AROUND = [
  [0, 0],
  [0, -1],
  [0, 1],
  [0.55, 0],
  [-0.55, 0],
  [0, -2],
  [0, 2],
  [0.55, -1],
  [-0.55, -1],
  [0.55, 1],
  [-0.55, 1],
];

/** @param {CanvasRenderingContext2D} context @param {string} text */
function plateWidth(context, text) {
  context.font = FONT;
  return context.measureText(text).width + BAR + 2 * PADDING;
}

/**
 * The names that fit into a room, the largest cluster first: {left, top, width, height, px, py, ...cluster}, where px,
 * py is the peak.
 * @param {Cluster[]} clusters @param {(text: string) => number} widthOf @param {Sheet} onSheet @param {Room} room
 * @param {ToPixel} toPixel
 */
export function chooseNames(clusters, widthOf, onSheet, room, toPixel) {
  const chosen = [];
  for (const cluster of clusters) {
    const [px, py] = toPixel(cluster.place);
    if (px < room.left || px > room.right || py < room.top || py > room.bottom) continue;
    const width = widthOf(cluster.name);
    const place = AROUND.map(([across, down]) => [
      px - width / 2 + across * (width + HEIGHT),
      py - HEIGHT / 2 + down * STEP,
    ]).find(([left, top]) => isInside(left, width, room) && takeBox(onSheet, left, top, width, HEIGHT));
    if (place) chosen.push({ ...cluster, px, py, left: place[0], top: place[1], width, height: HEIGHT });
  }
  return chosen;
}

/** @param {number} left @param {number} width @param {Room} room */
const isInside = (left, width, room) => left >= room.left && left + width <= room.right;

/**
 * The result of `chooseNames` with widths measured on a canvas.
 * @param {CanvasRenderingContext2D} context @param {Cluster[]} clusters @param {Sheet} onSheet @param {Room} room
 * @param {ToPixel} toPixel
 */
export const namesOnCanvas = (context, clusters, onSheet, room, toPixel) =>
  chooseNames(clusters, (text) => plateWidth(context, text), onSheet, room, toPixel);

/**
 * Draws each name on a plate, with a line to its peak below the plate.
 * @param {Context} context @param {DrawnName[]} names @param {{ palette: Palette, roles: string[] }} given
 * @param {ToPixel} toPixel
 */
export function drawClusterNames(context, names, { palette, roles }, toPixel) {
  Object.assign(context, { font: FONT, textBaseline: "middle", textAlign: "left", lineWidth: 1.5 });
  const moved = names.map((name) => moveTo(name, toPixel(name.place)));
  for (const { role, peak, left, top, width } of moved)
    drawLeader(context, palette[roles[role]], peak, [left + width / 2, top + HEIGHT / 2]);
  for (const name of moved) drawPlate(context, name, palette[roles[name.role]], palette);
}

/**
 * A name moved along with its peak, until names are chosen anew.
 * @param {DrawnName} name @param {Pixel} pair
 */
const moveTo = ({ left, top, px, py, ...name }, [x, y]) => ({
  ...name,
  peak: /** @type {Pixel} */ ([x, y]),
  left: left + x - px,
  top: top + y - py,
});

/** @param {Context} context @param {string} colour @param {Pixel} from @param {Pixel} to */
function drawLeader(context, colour, from, to) {
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

/**
 * @param {Context} context @param {Omit<DrawnName, "px" | "py">} name @param {string} colour @param {Palette} palette
 */
function drawPlate(context, { name, left, top, width, height }, colour, { background, ink }) {
  Object.assign(context, { fillStyle: background, globalAlpha: 0.9 });
  context.fillRect(left, top, width, height);
  Object.assign(context, { fillStyle: colour, globalAlpha: 1 });
  context.fillRect(left, top, BAR, height);
  context.fillStyle = ink;
  context.fillText(name, left + BAR + PADDING, top + height / 2);
}

/** The name under a pixel, or undefined. @param {DrawnName[]} names @param {number} px @param {number} py */
export const nameAt = (names, px, py) =>
  names.find(({ left, top, width, height }) => px >= left && px <= left + width && py >= top && py <= top + height);
