// What pictures are drawn with, on a canvas and in a file: the typeface, colours, and the distance from a line.
//
// Files that the browser makes for a reader: their names, the elements of an SVG file, in which text is never read as
// XML, and the caption of a picture in lines that fit its width.
import { required } from "./elements.mjs";
import { hexDigits } from "./loading.mjs";

/** Typefaces of readers without Roboto: a saved file does not contain the page's typeface. */
const OTHERS = "system-ui, -apple-system, 'Segoe UI', sans-serif";
/** The typeface of pages, on canvases and in saved files. */
export const FAMILY = `Roboto, ${OTHERS}`;
/** Factor for typefaces of a file's reader that are wider than those of the layout. */
const RESERVE = 1.06;

/**
 * The width that a text may take in a file, whichever of the typefaces its reader has.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {string} font its weight and its size
 */
export function widthInFile(context, text, font) {
  const widths = [FAMILY, OTHERS].map((family) => {
    context.font = `${font} ${family}`;
    return context.measureText(text).width;
  });
  return RESERVE * Math.max(...widths);
}

/** Context of a canvas. @param {HTMLCanvasElement} canvas */
export const contextOf = (canvas) => required(canvas.getContext("2d"), "a canvas to draw on");

/** Red, green and blue of a colour `#rrggbb`, 0..255. @param {string} hex @returns {Colour} */
export const rgbOf = (hex) =>
  /** @type {Colour} */ ([1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16)));
/** The colour `#rrggbb` of red, green and blue, 0..255. @param {number[]} colour */
export const hexOf = (colour) => `#${hexDigits(colour.map(Math.round))}`;

/**
 * Squared distance of a place from the line between two.
 * @param {Pair} place @param {Pair} from @param {Pair} to
 */
export function squaredDistance([x, y], [fromX, fromY], [toX, toY]) {
  const [dx, dy] = [toX - fromX, toY - fromY];
  const squaredLength = dx * dx + dy * dy;
  const along = squaredLength ? Math.max(0, Math.min(1, ((x - fromX) * dx + (y - fromY) * dy) / squaredLength)) : 0;
  return (x - fromX - along * dx) ** 2 + (y - fromY - along * dy) ** 2;
}

/** @param {string} text */
const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

/**
 * File name of a title and of the stem that all files of a store share.
 * @param {[title: string, stem: string]} pair @param {string} ending
 */
export const fileName = ([title, stem], ending) =>
  `${[slug(title).slice(0, 80), stem].filter(Boolean).join("-")}.${ending}`;

/** @param {Blob} blob @param {[title: string, stem: string]} named @param {string} ending */
function save(blob, named, ending) {
  const link = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(blob),
    download: fileName(named, ending),
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** @param {string} text @param {string} type @param {[title: string, stem: string]} named @param {string} ending */
export const saveText = (text, type, named, ending) => save(new Blob([text], { type }), named, ending);
const TOO_LARGE = "The browser cannot make a picture of this size. Save it as SVG.";

/**
 * Resolves when the file is saved; rejects where a canvas is too large for the browser.
 * @param {HTMLCanvasElement} canvas @param {[title: string, stem: string]} named @returns {Promise<void>}
 */
export const saveCanvas = (canvas, named) =>
  new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(save(blob, named, "png")) : reject(new Error(TOO_LARGE))), "image/png"),
  );

/** @type {Record<string, string>} */
const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
// Control characters are no XML, whatever a tokenizer makes of a text.
// oxlint-disable-next-line no-control-regex
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** @param {string} text */
export const escapeXml = (text) => text.replace(NO_XML, "\ufffd").replace(/[&<>"]/g, (letter) => ESCAPED[letter]);
/** @param {number} number */
export const shortNumber = (number) => String(Math.round(number * 100) / 100);

/**
 * An element with these attributes, without those that are undefined; `inside` is text of elements.
 * @param {string} tag @param {Record<string, any>} attributes
 */
export function svgElement(tag, attributes, inside = "") {
  const named = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const start = [tag, ...named.map(([name, value]) => `${name}="${escapeXml(String(value))}"`)].join(" ");
  return inside ? `<${start}>${inside}</${tag}>` : `<${start}/>`;
}

/**
 * The text of an SVG file: `size` are attributes of its root, `elements` what is on its ground.
 * @param {{ size: Record<string, string | number | undefined>, ground: string, title: string, source: string }} given
 * @param {string[]} elements
 */
export function svgFile({ size, ground, title, source }, elements) {
  const about = [svgElement("title", {}, escapeXml(title)), svgElement("desc", {}, escapeXml(source))];
  const paper = svgElement("rect", { width: "100%", height: "100%", fill: ground });
  const root = { xmlns: "http://www.w3.org/2000/svg", ...size };
  return svgElement("svg", root, ["", ...about, paper, ...elements, ""].join("\n"));
}

/** @param {string} text */
export const escapeHtml = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

const FONT = { plain: `12px ${FAMILY}`, strong: `600 15px ${FAMILY}` };
const HEIGHT = { plain: 18, strong: 22 };
const SWATCH = 11;
/** Pixels between pieces, between entries of a legend, between paragraphs. */
const [SPACE, APART, BETWEEN] = [4, 14, 6];

/**
 * Lines of groups of pieces, each piece with its `left`; a group stays on one line where it fits on one.
 * @param {Piece[][]} groups @param {number} width @param {{ wide: (piece: Piece) => number, apart: number }} given
 */
export function breakLines(groups, width, { wide, apart }) {
  /** @type {(Piece & { left: number })[][]} */
  const lines = [[]];
  let line = lines[0];
  let right = 0;
  /** @param {number} gap @param {number} length */
  const isFull = (gap, length) => line.length > 0 && right + gap + length > width;
  const begin = () => ((right = 0), lines.push((line = [])));

  /** @param {Piece} piece @param {number} gap */
  function put(piece, gap) {
    if (isFull(gap, wide(piece))) begin();
    const left = line.length ? right + gap : 0;
    line.push({ ...piece, left });
    right = left + wide(piece);
  }

  for (const group of groups) {
    const whole = group.reduce((sum, piece) => sum + wide(piece) + SPACE, -SPACE);
    if (whole <= width && isFull(apart, whole)) begin();
    group.forEach((piece, i) => put(piece, i ? SPACE : apart));
  }
  return lines;
}

/**
 * The paragraphs in lines of at most `width` pixels: {rows, width, height}.
 * @param {CanvasRenderingContext2D} context @param {Paragraph[]} paragraphs @param {number} width
 */
export function setParagraphs(context, paragraphs, width) {
  /** @type {{ pieces: (Piece & { left: number })[], kind: keyof typeof FONT, middle: number }[]} */
  const rows = [];
  let top = 0;
  for (const { groups, apart, strong } of paragraphs) {
    const kind = strong ? "strong" : "plain";
    context.font = FONT[kind];
    /** @param {Piece} piece */
    const wide = (piece) => piece.width ?? context.measureText(piece.word ?? "").width;
    for (const pieces of breakLines(groups, width, { wide, apart: apart ? APART : SPACE })) {
      rows.push({ pieces, kind, middle: top + HEIGHT[kind] / 2 });
      top += HEIGHT[kind];
    }
    top += BETWEEN;
  }
  return { rows, width, height: Math.max(0, top - BETWEEN) };
}

/** @param {Context} context @param {Piece} piece @param {number} left @param {number} middle */
function drawColours(context, { colours = [], width = 0 }, left, middle) {
  const ramp = context.createLinearGradient(left, 0, left + width, 0);
  colours.forEach((colour, i) => ramp.addColorStop(i / Math.max(1, colours.length - 1), colour));
  context.fillStyle = ramp;
  context.fillRect(left, middle - SWATCH / 2, width, SWATCH);
}

/** @param {Context} context @param {Paragraphs} paragraphs @param {number} left @param {number} top */
export function drawParagraphs(context, { rows, width }, left, top) {
  Object.assign(context, { textBaseline: "middle", textAlign: "left" });
  for (const { pieces, kind, middle } of rows)
    for (const piece of pieces) {
      if (piece.colours) drawColours(context, piece, left + piece.left, top + middle);
      else {
        Object.assign(context, { font: FONT[kind], fillStyle: piece.colour });
        context.fillText(piece.word ?? "", left + piece.left, top + middle, width);
      }
    }
}
