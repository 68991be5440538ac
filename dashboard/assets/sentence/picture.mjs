// A picture as it is drawn, {width, height, ground, title, shapes}: on a canvas, or as the text of an SVG file.
// Colours are #rrggbb; a shape is a line, a box, a text or an image. Colour ramps: one hue from zero to the largest
// weight, two hues around zero. Scales of matrices: which of 256 colours a weight has, and what the ends and marks
// of the colours are.
import { FAMILY, escapeXml, shortNumber, svgElement, svgFile } from "../web/elements.mjs";

/** Largest side and area of a canvas that browsers allow. */
const SIDE = 16000;
const AREA = 1.2e8;
/** Pixels of a line's width. */
const LINE = 2;
/** @type {Record<string, CanvasTextAlign>} */
const ALIGN = { start: "left", middle: "center", end: "right" };

export const fontOf = (size = 13, weight = 400) => `${weight} ${size}px ${FAMILY}`;
let sheet = null;
const measuring = () => (sheet ||= document.createElement("canvas").getContext("2d"));

/** Width of a text in pixels. @param {string} text @param {number} size */
export function measureText(text, size) {
  const context = measuring();
  context.font = fontOf(size);
  return context.measureText(text).width;
}

/** @param {CanvasRenderingContext2D} context @param {Shape} shape */
function paintText(context, shape) {
  context.save();
  context.translate(shape.at[0], shape.at[1]);
  context.rotate(((shape.turn || 0) * Math.PI) / 180);
  context.font = fontOf(shape.size, shape.weight);
  context.textAlign = ALIGN[shape.align || "start"];
  context.textBaseline = "middle";
  context.fillStyle = shape.colour;
  context.fillText(shape.text, 0, 0);
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {Shape} shape */
function paintLine(context, { line: [x1, y1, x2, y2], colour, opacity, width = LINE }) {
  context.globalAlpha = opacity;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
  context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context @param {Shape} shape */
function paintBox(context, { box, colour }) {
  context.fillStyle = colour;
  context.fillRect(...box);
}

/** @param {CanvasRenderingContext2D} context @param {Drawing} picture */
function paint(context, picture) {
  context.fillStyle = picture.ground;
  context.fillRect(0, 0, picture.width, picture.height);
  context.imageSmoothingEnabled = false;
  for (const shape of picture.shapes) {
    if (shape.line) paintLine(context, shape);
    else if (shape.text !== undefined) paintText(context, shape);
    else if (shape.image) context.drawImage(shape.image, .../** @type {Box} */ (shape.at));
    else paintBox(context, shape);
  }
}

/** @param {{ width: number, height: number }} given @param {number} scale */
const largest = ({ width, height }, scale) =>
  Math.min(scale, SIDE / Math.max(width, height), Math.sqrt(AREA / (width * height)));

/**
 * Gives a canvas the size of a picture, at so many pixels a pixel, and paints it.
 * @param {HTMLCanvasElement} canvas @param {Drawing} picture @param {number} scale
 */
export function showPicture(canvas, picture, scale) {
  const most = largest(picture, scale);
  Object.assign(canvas, { width: Math.round(picture.width * most), height: Math.round(picture.height * most) });
  Object.assign(canvas.style, { width: `${picture.width}px`, height: `${picture.height}px` });
  const context = canvas.getContext("2d");
  context.scale(most, most);
  paint(context, picture);
  return canvas;
}

/** x, y, width and height of a box or an image, as attributes. @param {number[]} numbers */
function place(numbers) {
  const [x, y, width, height] = numbers.map(shortNumber);
  return { x, y, width, height };
}

/** @param {Shape} shape */
function svgLine({ line, colour, opacity, width = LINE }) {
  const [x1, y1, x2, y2] = line.map(shortNumber);
  return svgElement("line", {
    x1,
    y1,
    x2,
    y2,
    stroke: colour,
    "stroke-opacity": opacity.toFixed(3),
    "stroke-width": width,
  });
}

/** @param {Shape} shape */
function svgLetters({ text, at, turn, colour, align = "start", size = 13, weight = 400 }) {
  const [x, y] = at.map(shortNumber);
  return svgElement(
    "text",
    {
      x,
      y,
      fill: colour,
      "text-anchor": align,
      "font-size": size,
      "font-weight": weight,
      "dominant-baseline": "central",
      transform: turn ? `rotate(${turn} ${x} ${y})` : undefined,
    },
    escapeXml(text),
  );
}

/** @param {Shape} shape */
function svgImage({ image, at }) {
  const look = { preserveAspectRatio: "none", "image-rendering": "pixelated" };
  return svgElement("image", { ...place(at), ...look, href: image.toDataURL() });
}

/** @param {Shape} shape */
function svgShape(shape) {
  if (shape.line) return svgLine(shape);
  if (shape.box) return svgElement("rect", { ...place(shape.box), fill: shape.colour });
  return shape.image ? svgImage(shape) : svgLetters(shape);
}

/** The picture as the text of an SVG file. @param {Drawing} picture */
export function svgText({ width, height, ground, title, source, shapes }) {
  const [w, h] = [width, height].map(Math.ceil);
  const size = { width: w, height: h, viewBox: `0 0 ${w} ${h}`, "font-family": FAMILY };
  return svgFile({ size, ground, title, source }, shapes.map(svgShape));
}

const DEEP = { light: "#00223D", dark: "#DFF3FF" };

/** @param {string} colour */
const rgb = (colour) => [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
/** @param {number[]} colour */
export const hexOf = (colour) => `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;

/** @param {number[][]} stops @param {number} share */
function between(stops, share) {
  const at = share * (stops.length - 1);
  const first = Math.min(Math.floor(at), stops.length - 2);
  return stops[first].map((part, i) => part + (stops[first + 1][i] - part) * (at - first));
}

/** @param {string[]} stops @returns {Colour[]} */
const spread = (stops) =>
  Array.from({ length: 256 }, (_, i) => /** @type {Colour} */ (between(stops.map(rgb), i / 255)));

/** 256 colours [red, green, blue] from no weight to the largest. @param {Palette} palette @param {Scheme} scheme */
export const weightRamp = (palette, scheme) => spread([palette.panel, palette.query, DEEP[scheme] || DEEP.light]);

/** 256 colours from the most negative number over zero to the most positive. @param {Palette} palette */
export const divergingRamp = (palette) => spread([palette.key, palette.panel, palette.query]);

/** Powers of ten from the weakest colour to the strongest: weights of a thumbnail come in 8 bits, others in 16. */
const DECADES = { model: 2, matrix: 3 };
const DEEPEST = { model: 255, matrix: 65535 };

const ROOT_TICKS = [0, 0.1, 0.25, 0.5, 1];
const HALVES = [0, 0.5, 1];

/** @param {number} number */
const short = (number) => String(Number(number.toPrecision(2)));
/** @param {number} share */
const within = (share) => Math.max(0, Math.min(1, share));

/** The share of the way along the colours that a weight has, from its share of the top of the scale. */
const SHARES = {
  root: Math.sqrt,
  /** @param {number} part */
  linear: (part) => part,
  /** @param {number} part */
  largest: (part) => part,
  /** @param {number} part */
  row: (part) => part,
  /** @param {number} part @param {number} decades */
  log: (part, decades) => (part > 0 ? 1 + Math.log10(part) / decades : 0),
};

/** A row of numbers from 10^-decades to 1. @param {number} decades */
const powers = (decades) => Array.from({ length: decades + 1 }, (_, i) => 10 ** (i - decades));

/** @param {ScaleKind} kind @param {number} top @param {number} decades */
function ticksOf(kind, top, decades) {
  if (kind === "row") return HALVES.map((part, i) => ({ at: part, text: ["0", "", "largest of its row"][i] }));
  const parts = kind === "root" ? ROOT_TICKS : kind === "log" ? powers(decades) : HALVES;
  const names = parts.map((part) => short(part * top));
  if (kind === "log") names[0] = `≤ ${names[0]}`;
  return parts.map((part, i) => ({ at: within(SHARES[kind](part, decades)), text: names[i] }));
}

const NAMES = {
  root: "square root",
  linear: "linear",
  largest: "linear",
  row: "each row",
  log: "logarithmic",
};

/**
 * The scale of a picture: {kind, top, decades, unit, name, ticks}. A weight of `top` has the strongest colour; a weight
 * is its code times `unit`; `ticks` are {at, text} along the colours.
 * @param {{ kind?: ScaleKind, show: "model" | "matrix", most: number, codes: Uint16Array | Uint8Array }} given
 */
export function createScale({ kind = "root", show, most, codes }) {
  const unit = most / DEEPEST[show];
  const top = kind === "largest" ? strongest(codes) * unit || most : most;
  const decades = DECADES[show];
  return { kind, top, decades, unit, name: NAMES[kind], ticks: ticksOf(kind, top, decades) };
}

/** @param {Iterable<number>} codes */
function strongest(codes) {
  let most = 0;
  for (const code of codes) most = Math.max(most, code);
  return most;
}

/**
 * Which of 256 colours each of the codes of a matrix has, [row, column].
 * @param {Uint16Array | Uint8Array} codes @param {number} columns @param {Scale} scale
 */
export function shadesOf(codes, columns, { kind, top, decades, unit }) {
  const shades = new Uint8Array(codes.length);
  for (let start = 0; start < codes.length; start += columns) {
    const row = codes.subarray(start, start + columns);
    const end = kind === "row" ? strongest(row) * unit || 1 : top;
    row.forEach((code, i) => {
      shades[start + i] = Math.round(255 * within(SHARES[kind]((code * unit) / end, decades)));
    });
  }
  return shades;
}

const BAR = { width: 160, height: 10, steps: 32, size: 11 };
/** @param {number} at */
const alignOf = (at) => (at === 0 ? "start" : at === 1 ? "end" : "middle");

/**
 * The legend of a saved picture, 28 pixels high: the colours, their marks, and the name of the scale.
 * @param {Scale} scale @param {Pair} pair @param {Colour[]} ramp @param {string} ink
 * @returns {Shape[]}
 */
export function legendShapes({ name, ticks }, [x, y], ramp, ink) {
  const wide = BAR.width / BAR.steps;
  /** @type {Shape[]} */
  const boxes = Array.from({ length: BAR.steps }, (_, i) => ({
    box: [x + i * wide, y, wide, BAR.height],
    colour: hexOf(ramp[Math.round((255 * i) / (BAR.steps - 1))]),
  }));
  const marks = ticks.map(({ at, text }) => ({
    text,
    at: [x + at * BAR.width, y + 20],
    colour: ink,
    size: BAR.size,
    align: alignOf(at),
  }));
  return [...boxes, ...marks, { text: name, at: [x + BAR.width + 10, y + 5], colour: ink, size: BAR.size }];
}
