// Saves the picture as a PNG or SVG file: points, overlay, names of panels, and below them the captions of the
// page. For an SVG file the calls of a canvas context become its elements.
import { drawNames } from "./frame.mjs";
import {
  contextOf,
  drawParagraphs,
  escapeXml,
  saveCanvas,
  saveText,
  setParagraphs,
  shortNumber as short,
  svgElement,
  svgFile,
} from "../web/drawing.mjs";
import { required } from "../web/elements.mjs";

const MARGIN = 12;
/** Room for the names of rows and columns. */
const NAMED = { left: 34, top: 26 };
/** Room for the names of columns alone. */
const HEADED = { left: MARGIN, top: 26 };
/** Least width in pixels for the text. */
const NARROWEST = 480;
/** Pixels of a printed picture: about 220 for each inch of A4. */
const PAPER_PIXELS = 1600;
/** Longest side of a canvas in any browser. */
const LONGEST_SIDE = 16000;
export const LOST =
  "The browser has lost the points of this picture, which come back by themselves. If they do not, reload the page.";
const NOT_DRAWN = "The points could not be drawn: nothing is saved. Reload the page.";

/** @param {Panels} panels */
function marginsOf({ layout, picture }) {
  if (picture.headings) return HEADED;
  return layout.single || layout.title ? { left: MARGIN, top: MARGIN } : NAMED;
}
/** @param {Panels} panels */
const titleOf = (panels) => panels.player.label() || panels.picture.label;

/** Where everything stands on the sheet, in pixels of the page. @param {Panels} panels */
export function sheetOf(panels, captions = captionOf(panels)) {
  const { layout } = panels;
  const { left, top } = marginsOf(panels);
  const measuring = contextOf(document.createElement("canvas"));
  const text = setParagraphs(measuring, captions, Math.max(layout.width, NARROWEST));
  const below = top + layout.height + MARGIN;
  return {
    left,
    top,
    text,
    below,
    width: left + Math.max(text.width, layout.width) + MARGIN,
    height: below + text.height + MARGIN,
  };
}

/**
 * Pixels of a file of this width for each pixel of the page; those of the screen without a width.
 * @param {Panels} panels @param {PictureSheet} sheet @param {number} width
 */
const scaleFor = (panels, sheet, width) =>
  Math.min(
    width ? width / sheet.width : panels.scale,
    LONGEST_SIDE / Math.max(sheet.width, sheet.height),
    required(panels.painter, "WebGL2").longest() / Math.max(panels.layout.width, panels.layout.height),
  );

/** @param {Context} context @param {Panels} panels @param {PictureSheet} pictureSheet */
function drawPoints(context, panels, { left, top }) {
  if (!panels.hasPoints) throw new Error(LOST);
  const { width, height } = panels.layout;
  context.drawImage(panels.canvas, left, top, width, height);
}

/**
 * Draws lines and text: all but the points. The frame cuts off what a zoom moves out of it, as on screen.
 * @param {Context} context @param {Panels} panels @param {PictureSheet} pictureSheet
 */
function drawRest(context, panels, { left, top, text, below }) {
  const { width, height } = panels.layout;
  context.save();
  context.translate(left, top);
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  panels.layer.drawOn(context);
  context.restore();
  drawNames(context, panels, left, top);
  drawParagraphs(context, text, left, below);
}

/**
 * The sheet on a canvas of this width in pixels; as wide as on screen where no width is given.
 * @param {Panels} panels @param {number} width
 */
function compose(panels, width, sheet = sheetOf(panels), canvas = document.createElement("canvas")) {
  const scale = scaleFor(panels, sheet, width);
  Object.assign(canvas, { width: Math.round(sheet.width * scale), height: Math.round(sheet.height * scale) });
  const context = contextOf(canvas);
  context.fillStyle = panels.palette.background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(canvas.width / sheet.width, canvas.width / sheet.width);
  panels.enlarged(scale, () => drawPoints(context, panels, sheet));
  drawRest(context, panels, sheet);
  return canvas;
}

/**
 * The picture without captions, for paper: a canvas of WebGL prints empty.
 * @param {Panels} panels @param {HTMLCanvasElement} canvas
 */
export function drawForPaper(panels, canvas) {
  compose(panels, PAPER_PIXELS, sheetOf(panels, []), canvas);
}

/** The sheet as text of an SVG file, the points as an image. @param {Panels} panels @param {number} width */
function drawing(panels, width) {
  const sheet = sheetOf(panels);
  const scale = scaleFor(panels, sheet, width);
  const svg = new SvgContext({
    ...sheet,
    scale,
    ground: panels.palette.background,
    title: titleOf(panels),
    source: panels.picture.file.source,
  });
  panels.enlarged(scale, () => drawPoints(svg, panels, sheet));
  drawRest(svg, panels, sheet);
  return svg.text();
}

/**
 * Saves a file of this width once its points are there; `form` is png or svg. Without points it says why.
 * @param {Panels} panels @param {string} form @param {number} width
 */
export async function savePicture(panels, form, width) {
  await panels.loaded;
  /** @type {[title: string, stem: string]} */
  const name = [titleOf(panels), panels.picture.file.stem];
  try {
    if (!panels.frame.dataset.drawn) throw new Error(panels.problem.textContent || NOT_DRAWN);
    if (form === "svg") saveText(drawing(panels, width), "image/svg+xml", name, "svg");
    else await saveCanvas(compose(panels, width), name);
  } catch (error) {
    panels.say(error.message);
  }
}

const CAPTIONS = ".of-picture";
/** Elements of use on the page alone. */
const ON_PAGE_ONLY = "a, button:not(.chip), .on-page";

/** @param {Element} element */
const style = (element) => getComputedStyle(element);
/** @param {string} text @param {string} colour */
const wordsOf = (text, colour) =>
  text
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => ({ word, colour }));
/** @param {Element} bar */
const stops = (bar) => style(bar).backgroundImage.match(/rgba?\([^)]*\)/g) || [];

/**
 * Words, swatches and ramps of an entry of a legend, in order and in their present colours.
 * @param {any} node
 * @returns {Piece[]}
 */
function pieces(node) {
  if (node.nodeType === Node.TEXT_NODE) return wordsOf(node.data, style(node.parentElement).color);
  if (node.matches(".swatch")) return [{ colours: [style(node).backgroundColor], width: node.offsetWidth }];
  if (node.matches(".bar")) return [{ colours: stops(node), width: node.offsetWidth }];
  return [...node.childNodes].flatMap(pieces);
}

/** A text that may break between any words. @param {string} text @param {string} colour @param {boolean} [strong] */
const lineOf = (text, colour, strong) => ({ groups: wordsOf(text, colour).map((word) => [word]), strong });

/** A caption; an entry of a legend stays on one line if it can. @param {HTMLElement} element */
function paragraph(element) {
  if (element.matches(".legend")) return { groups: [...element.childNodes].map(pieces), apart: true };
  const copy = /** @type {HTMLElement} */ (element.cloneNode(true));
  for (const extra of copy.querySelectorAll(ON_PAGE_ONLY)) extra.remove();
  return lineOf(copy.textContent, style(element).color);
}

/**
 * Paragraphs of a file: label, source, notes, the caption of the lines, and the captions on the page.
 * @param {Panels} panels
 */
function captionOf({ picture, player, layer, palette }) {
  const { source, notes } = picture.file;
  const above = [source, ...notes, (layer.focused && picture.focus_caption) || ""].filter(Boolean);
  const captions = [...document.querySelectorAll(CAPTIONS)].map(paragraph).filter(({ groups }) => groups.flat().length);
  return [
    lineOf(player.label() || picture.label, palette.ink, true),
    ...above.map((text) => lineOf(text, palette.ink)),
    ...captions,
  ];
}

/** @type {Record<string, string>} */
const ANCHORS = { left: "start", center: "middle", right: "end" };
/** @type {Record<string, string>} */
const BASELINES = { middle: "central", bottom: "text-after-edge", top: "text-before-edge", alphabetic: "auto" };

export class SvgContext {
  /**
   * @param {{ width: number, height: number, scale: number, ground: string, title: string, source: string }} sheet
   */
  constructor({ width, height, scale, ground, title, source }) {
    this.font = "10px sans-serif";
    this.fillStyle = /** @type {any} */ ("#000000");
    this.strokeStyle = "#000000";
    this.lineWidth = this.globalAlpha = 1;
    this.lineJoin = "miter";
    this.textAlign = "left";
    this.textBaseline = "alphabetic";
    this.dashes = /** @type {number[]} */ ([]);
    this.path = /** @type {string[]} */ ([]);
    this.moved = /** @type {Pixel} */ ([0, 0]);
    this.clipped = /** @type {string | undefined} */ (undefined);
    this.before = /** @type {{ moved: Pixel, clipped: string | undefined }[]} */ ([]);
    this.measuring = contextOf(document.createElement("canvas"));
    const [wide, high] = [width, height].map((length) => Math.round(length * scale));
    const size = { width: wide, height: high, viewBox: `0 0 ${short(width)} ${short(height)}` };
    this.sheet = { size, ground, title, source };
    this.elements = /** @type {string[]} */ ([]);
    this.gradients = this.clips = 0;
  }

  // -- places -----------------------------------------------------------------------------------

  save() {
    this.before.push({ moved: this.moved, clipped: this.clipped });
  }

  restore() {
    const { moved, clipped } = this.before.pop() ?? { moved: /** @type {Pixel} */ ([0, 0]), clipped: undefined };
    [this.moved, this.clipped] = [moved, clipped];
  }

  /** @param {number} x @param {number} y */
  translate(x, y) {
    const [left, top] = this.moved;
    this.moved = /** @type {Pixel} */ ([left + x, top + y]);
  }

  /** @param {number} x @param {number} y */
  at(x, y) {
    return [short(x + this.moved[0]), short(y + this.moved[1])];
  }

  // -- paths ------------------------------------------------------------------------------------

  beginPath() {
    this.path = [];
  }

  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.path.push(`M${this.at(x, y)}`);
  }

  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.path.push(`L${this.at(x, y)}`);
  }

  /** Adds a circle: no other arc is used. @param {number} x @param {number} y @param {number} radius */
  arc(x, y, radius) {
    /** @param {number} end */
    const half = (end) => `A${radius} ${radius} 0 1 1 ${this.at(end, y)}`;
    this.path.push(`M${this.at(x + radius, y)}${half(x - radius)}${half(x + radius)}`);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  rect(x, y, width, height) {
    this.moveTo(x, y);
    for (const corner of [
      [x + width, y],
      [x + width, y + height],
      [x, y + height],
    ])
      this.lineTo(corner[0], corner[1]);
    this.closePath();
  }

  closePath() {
    this.path.push("Z");
  }

  /** Clips to the path until `restore`; nested clips are not needed. */
  clip() {
    const id = `clip-${++this.clips}`;
    this.elements.push(svgElement("clipPath", { id }, svgElement("path", { d: this.path.join("") })));
    this.clipped = `url(#${id})`;
  }

  /** @param {number[]} dashes */
  setLineDash(dashes) {
    this.dashes = dashes;
  }

  stroke() {
    const dashes = this.dashes.length ? this.dashes : undefined;
    this.add("path", {
      d: this.path.join(""),
      fill: "none",
      ...this.stroked(),
      "stroke-dasharray": dashes && String(dashes),
    });
  }

  fill() {
    this.add("path", { d: this.path.join(""), fill: this.fillStyle, ...this.faint() });
  }

  stroked() {
    const { strokeStyle, lineWidth, lineJoin } = this;
    return { stroke: strokeStyle, "stroke-width": lineWidth, "stroke-linejoin": lineJoin, ...this.faint() };
  }

  faint() {
    return { opacity: this.globalAlpha < 1 ? short(this.globalAlpha) : undefined };
  }

  /** @param {string} tag @param {Record<string, string | number | undefined>} attributes @param {string} [inside] */
  add(tag, attributes, inside) {
    this.elements.push(svgElement(tag, { ...attributes, "clip-path": this.clipped }, inside));
  }

  // -- boxes, text, images ----------------------------------------------------------------------

  /** @param {...number} ends */
  createLinearGradient(...ends) {
    const [x1, y1, x2, y2] = [...this.at(ends[0], ends[1]), ...this.at(ends[2], ends[3])];
    const place = { gradientUnits: "userSpaceOnUse", x1, y1, x2, y2 };
    const marks = /** @type {string[]} */ ([]);
    return {
      /** @param {number} offset @param {string} colour */
      addColorStop: (offset, colour) => marks.push(svgElement("stop", { offset: short(offset), "stop-color": colour })),
      /** @param {string} id */
      element: (id) => svgElement("linearGradient", { id, ...place }, marks.join("")),
    };
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    this.add("rect", { ...this.box(x, y, width, height), fill: this.paint(), ...this.faint() });
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  box(x, y, width, height) {
    const [left, top] = this.at(x, y);
    return { x: left, y: top, width: short(width), height: short(height) };
  }

  /** The colour to fill with, or a reference to a gradient that is written first. */
  paint() {
    if (typeof this.fillStyle === "string") return this.fillStyle;
    const id = `gradient-${++this.gradients}`;
    this.elements.push(this.fillStyle.element(id));
    return `url(#${id})`;
  }

  /** @param {string} text */
  measureText(text) {
    this.measuring.font = this.font;
    return this.measuring.measureText(text);
  }

  /** @param {string} text @param {number} x @param {number} y @param {number} [most] */
  fillText(text, x, y, most) {
    this.write(text, x, y, most, { fill: this.fillStyle, ...this.faint() });
  }

  /** @param {string} text @param {number} x @param {number} y @param {number} [most] */
  strokeText(text, x, y, most) {
    this.write(text, x, y, most, { fill: "none", ...this.stroked() });
  }

  /**
   * @param {string} text @param {number} x @param {number} y @param {number | undefined} most
   * @param {Record<string, string | number | undefined>} colours
   */
  write(text, x, y, most, colours) {
    const [left, top] = this.at(x, y);
    const isWide = most && this.measureText(text).width > most;
    const squeezed = isWide ? { textLength: short(most), lengthAdjust: "spacingAndGlyphs" } : {};
    const set = {
      "text-anchor": ANCHORS[this.textAlign],
      "dominant-baseline": BASELINES[this.textBaseline],
      style: `font: ${this.font}`,
    };
    this.add("text", { x: left, y: top, ...set, ...colours, ...squeezed }, escapeXml(text));
  }

  /**
   * @param {HTMLCanvasElement} canvas @param {number} x @param {number} y @param {number} width
   * @param {number} height
   */
  drawImage(canvas, x, y, width, height) {
    this.add("image", { ...this.box(x, y, width, height), href: canvas.toDataURL() });
  }

  text() {
    return svgFile(this.sheet, this.elements);
  }
}
