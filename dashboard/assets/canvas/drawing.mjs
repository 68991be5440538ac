// A context like that of a canvas, of which every call becomes an element of an SVG file: as much of one as pictures of points need.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const ANCHORS = { left: "start", center: "middle", right: "end" };
  const BASELINES = { middle: "central", bottom: "text-after-edge", top: "text-before-edge", alphabetic: "auto" };

  const short = (number) => headscape.sentence.svg.short(number);
  const escape = (text) => headscape.sentence.svg.escape(text);

  class Drawing {
    constructor({ width, height, scale, ground, title, source }) {
      Object.assign(this, { font: "10px sans-serif", fillStyle: "#000000", strokeStyle: "#000000", lineWidth: 1, lineJoin: "miter" });
      Object.assign(this, { globalAlpha: 1, textAlign: "left", textBaseline: "alphabetic", dashes: [], path: [], moved: [0, 0], before: [] });
      this.measuring = document.createElement("canvas").getContext("2d");
      const size = [width, height].map((length) => `${Math.round(length * scale)}`);
      this.elements = [
        `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${short(width)} ${short(height)}">`,
        `<title>${escape(title)}</title>`,
        `<desc>${escape(source)}</desc>`,
        `<rect width="100%" height="100%" fill="${ground}"/>`,
      ];
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
      const dashed = this.dashes.length ? ` stroke-dasharray="${this.dashes}"` : "";
      this.elements.push(`<path d="${this.path.join("")}" fill="none" ${this.stroked()}${dashed}/>`);
    }

    fill() {
      this.elements.push(`<path d="${this.path.join("")}" fill="${this.fillStyle}"${this.faint()}/>`);
    }

    stroked() {
      return `stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="${this.lineJoin}"${this.faint()}`;
    }

    faint() {
      return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : "";
    }

    // -- boxes, text, images ----------------------------------------------------------------------

    createLinearGradient(...ends) {
      const [x1, y1, x2, y2] = [...this.at(ends[0], ends[1]), ...this.at(ends[2], ends[3])];
      const stops = [];
      return {
        addColorStop: (offset, colour) => stops.push(`<stop offset="${short(offset)}" stop-color="${colour}"/>`),
        element: (id) => `<linearGradient id="${id}" gradientUnits="userSpaceOnUse" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}">${stops.join("")}</linearGradient>`,
      };
    }

    fillRect(x, y, width, height) {
      const [left, top] = this.at(x, y);
      this.elements.push(`<rect x="${left}" y="${top}" width="${short(width)}" height="${short(height)}" fill="${this.paint()}"${this.faint()}/>`);
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
      this.write(text, x, y, most, `fill="${this.fillStyle}"${this.faint()}`);
    }

    strokeText(text, x, y, most) {
      this.write(text, x, y, most, `fill="none" ${this.stroked()}`);
    }

    write(text, x, y, most, how) {
      const [left, top] = this.at(x, y);
      const squeezed = most && this.measureText(text).width > most ? ` textLength="${short(most)}" lengthAdjust="spacingAndGlyphs"` : "";
      const set = `text-anchor="${ANCHORS[this.textAlign]}" dominant-baseline="${BASELINES[this.textBaseline]}" style="font: ${this.font}"`;
      this.elements.push(`<text x="${left}" y="${top}" ${set} ${how}${squeezed}>${escape(text)}</text>`);
    }

    drawImage(canvas, x, y, width, height) {
      const [left, top] = this.at(x, y);
      this.elements.push(`<image x="${left}" y="${top}" width="${short(width)}" height="${short(height)}" href="${canvas.toDataURL()}"/>`);
    }

    text() {
      return [...this.elements, "</svg>"].join("\n");
    }
  }

  headscape.drawing = { create: (sheet) => new Drawing(sheet) };
})(window);
