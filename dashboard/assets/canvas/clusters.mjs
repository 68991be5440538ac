// Names of the clusters of a head, each at the place where its points are densest, or as near to it as one is free.
import { FAMILY } from "../web/elements.mjs";
import { takeBox } from "./labels.mjs";

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

function measure(context, text) {
  context.font = FONT;
  return context.measureText(text).width + BAR + 2 * PADDING;
}

/**
 * The names that fit into a room, the largest cluster first: {left, top, width, height, px, py, ...cluster}, where px,
 * py is the peak.
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

const isInside = (left, width, room) => left >= room.left && left + width <= room.right;

/** As `chooseNames`, measured on a canvas. */
export const namesOnCanvas = (context, clusters, onSheet, room, toPixel) =>
  chooseNames(clusters, (text) => measure(context, text), onSheet, room, toPixel);

/** Draws each name on a plate, with a line to the peak where it stands apart from it. */
export function drawNames(context, names, { palette, roles }, toPixel) {
  Object.assign(context, { font: FONT, textBaseline: "middle", textAlign: "left", lineWidth: 1.5 });
  const moved = names.map((name) => moveTo(name, toPixel(name.place)));
  for (const { role, peak, left, top, width } of moved)
    drawLeader(context, palette[roles[role]], peak, [left + width / 2, top + HEIGHT / 2]);
  for (const name of moved) drawPlate(context, name, palette[roles[name.role]], palette);
}

/** A name whose peak is at another pixel by now: it moves along until names are chosen anew. */
const moveTo = ({ left, top, px, py, ...name }, [x, y]) => ({
  ...name,
  peak: [x, y],
  left: left + x - px,
  top: top + y - py,
});

function drawLeader(context, colour, from, to) {
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function drawPlate(context, { name, left, top, width, height }, colour, { background, ink }) {
  Object.assign(context, { fillStyle: background, globalAlpha: 0.9 });
  context.fillRect(left, top, width, height);
  Object.assign(context, { fillStyle: colour, globalAlpha: 1 });
  context.fillRect(left, top, BAR, height);
  context.fillStyle = ink;
  context.fillText(name, left + BAR + PADDING, top + height / 2);
}

/** The name under a pixel, or undefined. */
export const nameAt = (names, px, py) =>
  names.find(({ left, top, width, height }) => px >= left && px <= left + width && py >= top && py <= top + height);
