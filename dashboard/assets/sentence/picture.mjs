// A picture as it is drawn, {width, height, ground, title, shapes}: on a canvas, or as the text of an SVG file.
// Colours are #rrggbb; a shape is a line, a box, a text or an image.
import { FAMILY, contextOf, escapeXml, shortNumber, svgElement, svgFile } from "../web/elements.mjs";

/** Largest side and area of a canvas that browsers allow. */
const SIDE = 16000;
const AREA = 1.2e8;
/** Pixels of a line's width. */
const LINE = 2;
/** @type {Record<string, CanvasTextAlign>} */
const ALIGN = { start: "left", middle: "center", end: "right" };

export const fontOf = (size = 13, weight = 400) => `${weight} ${size}px ${FAMILY}`;
/** @type {CanvasRenderingContext2D | null} */
let sheet = null;
const measuring = () => (sheet ||= contextOf(document.createElement("canvas")));

/** Width of a text in pixels. @param {string} text @param {number} size */
export function measureText(text, size) {
  const context = measuring();
  context.font = fontOf(size);
  return context.measureText(text).width;
}

/** @param {CanvasRenderingContext2D} context @param {TextShape} shape */
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

/** @param {CanvasRenderingContext2D} context @param {LineShape} shape */
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

/** @param {CanvasRenderingContext2D} context @param {BoxShape} shape */
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
    if ("line" in shape) paintLine(context, shape);
    else if ("text" in shape) paintText(context, shape);
    else if ("image" in shape) context.drawImage(shape.image, .../** @type {Box} */ (shape.at));
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
  const context = contextOf(canvas);
  context.scale(most, most);
  paint(context, picture);
  return canvas;
}

/** x, y, width and height of a box or an image, as attributes. @param {number[]} numbers */
function place(numbers) {
  const [x, y, width, height] = numbers.map(shortNumber);
  return { x, y, width, height };
}

/** @param {LineShape} shape */
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

/** @param {TextShape} shape */
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

/** @param {ImageShape} shape */
function svgImage({ image, at }) {
  const look = { preserveAspectRatio: "none", "image-rendering": "pixelated" };
  return svgElement("image", { ...place(at), ...look, href: image.toDataURL() });
}

/** @param {Shape} shape */
function svgShape(shape) {
  if ("line" in shape) return svgLine(shape);
  if ("box" in shape) return svgElement("rect", { ...place(shape.box), fill: shape.colour });
  return "image" in shape ? svgImage(shape) : svgLetters(shape);
}

/** The picture as the text of an SVG file. @param {Drawing} picture */
export function svgText({ width, height, ground, title, source = "", shapes }) {
  const [w, h] = [width, height].map(Math.ceil);
  const size = { width: w, height: h, viewBox: `0 0 ${w} ${h}`, "font-family": FAMILY };
  return svgFile({ size, ground, title, source }, shapes.map(svgShape));
}
