// The methods of a canvas context that pictures of points use; each call becomes an element of an SVG file.
import { escapeXml, shortNumber as short, svgElement, svgFile } from "../web/elements.mjs";

const ANCHORS = { left: "start", center: "middle", right: "end" };
const BASELINES = { middle: "central", bottom: "text-after-edge", top: "text-before-edge", alphabetic: "auto" };

export class SvgContext {
  constructor({ width, height, scale, ground, title, source }) {
    Object.assign(this, {
      font: "10px sans-serif",
      fillStyle: "#000000",
      strokeStyle: "#000000",
      lineWidth: 1,
      lineJoin: "miter",
    });
    Object.assign(this, {
      globalAlpha: 1,
      textAlign: "left",
      textBaseline: "alphabetic",
      dashes: [],
      path: [],
      moved: [0, 0],
      before: [],
    });
    this.measuring = document.createElement("canvas").getContext("2d");
    const [wide, high] = [width, height].map((length) => Math.round(length * scale));
    const size = { width: wide, height: high, viewBox: `0 0 ${short(width)} ${short(height)}` };
    this.sheet = { size, ground, title, source };
    this.elements = [];
    this.gradients = 0;
  }

  // -- places -----------------------------------------------------------------------------------

  save() {
    this.before.push(this.moved);
  }

  restore() {
    this.moved = this.before.pop();
  }

  translate(x, y) {
    this.moved = [this.moved[0] + x, this.moved[1] + y];
  }

  at(x, y) {
    return [short(x + this.moved[0]), short(y + this.moved[1])];
  }

  // -- paths ------------------------------------------------------------------------------------

  beginPath() {
    this.path = [];
  }

  moveTo(x, y) {
    this.path.push(`M${this.at(x, y)}`);
  }

  lineTo(x, y) {
    this.path.push(`L${this.at(x, y)}`);
  }

  /** Circles alone are drawn. */
  arc(x, y, radius) {
    const half = (end) => `A${radius} ${radius} 0 1 1 ${this.at(end, y)}`;
    this.path.push(`M${this.at(x + radius, y)}${half(x - radius)}${half(x + radius)}`);
  }

  closePath() {
    this.path.push("Z");
  }

  setLineDash(dashes) {
    this.dashes = dashes;
  }

  stroke() {
    const dashes = this.dashes.length ? this.dashes : undefined;
    this.add("path", { d: this.path.join(""), fill: "none", ...this.stroked(), "stroke-dasharray": dashes });
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

  add(tag, attributes, inside) {
    this.elements.push(svgElement(tag, attributes, inside));
  }

  // -- boxes, text, images ----------------------------------------------------------------------

  createLinearGradient(...ends) {
    const [x1, y1, x2, y2] = [...this.at(ends[0], ends[1]), ...this.at(ends[2], ends[3])];
    const place = { gradientUnits: "userSpaceOnUse", x1, y1, x2, y2 };
    const stops = [];
    return {
      addColorStop: (offset, colour) => stops.push(svgElement("stop", { offset: short(offset), "stop-color": colour })),
      element: (id) => svgElement("linearGradient", { id, ...place }, stops.join("")),
    };
  }

  fillRect(x, y, width, height) {
    this.add("rect", { ...this.box(x, y, width, height), fill: this.paint(), ...this.faint() });
  }

  box(x, y, width, height) {
    const [left, top] = this.at(x, y);
    return { x: left, y: top, width: short(width), height: short(height) };
  }

  /** The colour to fill with, or a reference to a gradient that is written first. */
  paint() {
    if (!this.fillStyle.element) return this.fillStyle;
    const id = `gradient-${++this.gradients}`;
    this.elements.push(this.fillStyle.element(id));
    return `url(#${id})`;
  }

  measureText(text) {
    this.measuring.font = this.font;
    return this.measuring.measureText(text);
  }

  fillText(text, x, y, most) {
    this.write(text, x, y, most, { fill: this.fillStyle, ...this.faint() });
  }

  strokeText(text, x, y, most) {
    this.write(text, x, y, most, { fill: "none", ...this.stroked() });
  }

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

  drawImage(canvas, x, y, width, height) {
    this.add("image", { ...this.box(x, y, width, height), href: canvas.toDataURL() });
  }

  text() {
    return svgFile(this.sheet, this.elements);
  }
}
