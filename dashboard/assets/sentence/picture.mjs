// A picture of a sentence, {width, height, ground, title, shapes}: on a canvas, or as the text of an SVG file; and the
// buttons that save what a view shows, as a picture or as a page that works without a server. Colours are #rrggbb; a
// shape is a line, a box, a text or an image.
import {
  FAMILY,
  contextOf,
  widthInFile,
  escapeHtml,
  escapeXml,
  saveCanvas,
  saveText,
  shortNumber,
  svgElement,
  svgFile,
} from "../web/drawing.mjs";
import { make, required } from "../web/elements.mjs";
import { reach, trying } from "../web/loading.mjs";

/** Largest side and area of a canvas that browsers allow. */
const SIDE = 16000;
const AREA = 1.2e8;
/** Width of a line, in pixels. */
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

/** The width that a text may take in a saved picture. @param {string} text @param {number} size */
export const savedWidth = (text, size, weight = 400) => widthInFile(measuring(), text, `${weight} ${size}px`);

const TITLE = { size: 15, weight: 600 };

/** The title at the top of a saved picture. @param {string} title @param {string} ink @returns {TextShape} */
export const titleShape = (title, ink) => ({ text: title, at: [20, 26], colour: ink, ...TITLE });

/** The least width of a picture with a title. @param {string} title */
export const titledWidth = (title) => 40 + savedWidth(title, TITLE.size, TITLE.weight);

/** Text before the kinds of roles, the meaning of heads' colours. */
export const KINDS_ARE = "Clearest role:";
/** Pixels of a row of kinds, of the box before a name, and after a name. */
const [KIND_ROW, KIND_BOX, KIND_GAP] = [16, 16, 12];

/**
 * The legend of the colours of heads, in rows that fit the width: its shapes and its height.
 * @param {Kind[]} kinds @param {Pair} at @param {number} width @param {string} ink
 */
export function kindShapes(kinds, [left, top], width, ink) {
  const start = left + savedWidth(KINDS_ARE, 12) + KIND_GAP;
  let [x, y] = [start, top];
  const shapes = kinds.flatMap(({ name, colour }) => {
    const wide = KIND_BOX + savedWidth(name, 12) + KIND_GAP;
    if (x > start && x + wide > left + width) [x, y] = [start, y + KIND_ROW];
    const at = x;
    x += wide;
    return [
      { box: [at, y - 6, 12, 12], colour },
      { text: name, at: [at + KIND_BOX, y], colour: ink, size: 12 },
    ];
  });
  if (!kinds.length) return { shapes: [], height: 0 };
  const title = { text: KINDS_ARE, at: [left, top], colour: ink, size: 12 };
  return { shapes: /** @type {Shape[]} */ ([title, ...shapes]), height: y - top + KIND_ROW };
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
 * Gives a canvas the size of a picture, at up to `scale` pixels a pixel, and paints it.
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

const SMALL = 11;

/**
 * The picture with its source in a line below.
 * @param {Drawing} picture @param {{ source: string }} given @param {string} ink
 */
function withSource(picture, { source }, ink) {
  const width = Math.max(picture.width, 40 + savedWidth(source, SMALL));
  const line = { text: source, at: [20, picture.height + 4], colour: ink, size: SMALL };
  return { ...picture, source, width, height: picture.height + 24, shapes: [...picture.shapes, line] };
}

/** @param {Views} views @param {{ offline: boolean }} given */
export function createSaveButtons(views, { offline }) {
  /** @returns {[title: string, stem: string]} */
  const name = () => [views.shown.title, views.shown.stem];
  const picture = () => withSource(required(views.view, "a view").picture(), views.shown, views.palette.ink);
  const png = button("PNG", () => saveCanvas(showPicture(document.createElement("canvas"), picture(), 2), name()));
  const svg = button("SVG", () => saveText(svgText(picture()), "image/svg+xml", name(), "svg"));
  const html = button("HTML", async () => saveText(await offlinePage(views), "text/html", name(), "html"));
  const csv = make("a", { className: "plain", textContent: "CSV", download: "" });
  const files = offline ? [png, svg] : [csv, png, svg, html];
  views.tools.replaceChildren(
    make("legend", { textContent: "Export" }),
    make("div", { className: "controls" }, ...files),
  );

  /** @param {string} kind @param {() => unknown} act */
  function button(kind, act) {
    const named = { "aria-label": `Save ${kind}`, title: `Save ${kind}` };
    const element = make("button", { type: "button", className: "plain", textContent: kind, ...named });
    element.addEventListener("click", () => trying(views.problem, act));
    return element;
  }

  /** Disables files that the view lacks now, rather than hiding them: buttons do not move. */
  function renew() {
    png.disabled = svg.disabled = !views.view || !views.shown.data;
    html.disabled = views.now?.show !== "head";
    const file = views.now?.csv;
    csv.toggleAttribute("aria-disabled", !file);
    csv.title = file ? `${file.content} as CSV` : "";
    if (file) csv.setAttribute("href", file.url);
    else csv.removeAttribute("href");
  }

  return { renew };
}

/** The policy of the saved page: it may load nothing. */
const CLOSED = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";
const STYLE = /\/assets\/(style|sentence)\.css/;

/** @param {string} url */
async function textOf(url) {
  const response = await reach(url);
  if (!response.ok) throw new Error("The page's own files cannot be read. Reload the page and save again.");
  return response.text();
}

async function styles() {
  const urls = [...document.querySelectorAll('link[rel="stylesheet"]')].map(
    (link) => /** @type {HTMLLinkElement} */ (link).href,
  );
  return (await Promise.all(urls.filter((url) => STYLE.test(url)).map(textOf))).join("\n");
}

/** Text that may stand in a script or a style element. @param {string} text */
const inside = (text) => text.replace(/<\/(script|style)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");

/** @param {Uint16Array} codes */
function base64(codes) {
  const bytes = new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
}

/** What the saved page shows, as JSON without a "<". @param {ShownSentence} shown */
function contents({ data, ...shown }) {
  const { codes, ...shape } = data;
  const addresses = { layer_url: "saved", model_url: null, neuron_url: null };
  const saved = { shown: { ...shown, ...addresses, show: "head" }, layer: { ...shape, codes: base64(codes) } };
  return JSON.stringify(saved).replace(/</g, "\\u003c");
}

/**
 * @param {{ title: string, source: string }} given @param {string} style @param {string} script @param {string} json
 */
function page({ title, source }, style, script, json) {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${CLOSED}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${inside(style)}</style>
</head>
<body class="saved-sentence">
<h1>${escapeHtml(title)}</h1>
<p class="caption">${escapeHtml(source)}</p>
<div id="sentence" class="sentence-views"></div>
<script type="application/json" id="saved">${json}</script>
<script type="module">${inside(script)}</script>
</body>
</html>
`;
}

/** The head view as one HTML file: modules, style sheet and weights are in it. @param {Views} views */
async function offlinePage({ shown }) {
  const [style, script] = await Promise.all([styles(), bundle(import.meta.resolve("./views.mjs"), textOf)]);
  return page(shown, style, script, contents(shown));
}

/** Forms that `bundle` reads: `import { a, b as c } from "./x.mjs";` and `export` before a declaration. */
const IMPORT = /^import \{([^}]*)\} from "([^"]+)";$/gm;
const EXPORT = /^export (?=(?:async )?(?:function\*?|const|class) (\w+))/gm;
const OTHER = /^(?:import|export)\b.*/m;

/** @param {string} specifier */
const isRelative = (specifier) => /^\.{1,2}\//.test(specifier);

/**
 * URLs of the modules that a text imports, as the page's import map has them.
 * @param {string} text @param {string} url @param {(specifier: string) => string} resolve
 */
function importsOf(text, url, resolve) {
  return [...text.matchAll(IMPORT)].map(([, , specifier]) => {
    if (!isRelative(specifier)) throw new Error(`${url} imports ${specifier}, which is not one of our modules.`);
    return resolve(new URL(specifier, url).href);
  });
}

/**
 * All modules by URL, each after those that it imports.
 * @param {string} url @param {(url: string) => Promise<string>} read @param {(specifier: string) => string} resolve
 */
async function collect(url, read, resolve, modules = new Map()) {
  const text = await read(url);
  const imports = importsOf(text, url, resolve);
  for (const imported of imports) if (!modules.has(imported)) await collect(imported, read, resolve, modules);
  modules.set(url, { text, imports });
  return modules;
}

/**
 * A module as a function that returns its exports, so that no names clash.
 * @param {Module} module @param {Map<string, string>} names
 */
function asFunction({ text, imports }, names) {
  const sources = imports.map((url) => names.get(url));
  const exported = [...text.matchAll(EXPORT)].map(([, name]) => name);
  const body = text
    .replace(IMPORT, (_, list) => `const {${list.replaceAll(" as ", ": ")}} = ${sources.shift()};`)
    .replace(EXPORT, "");
  const [unread] = body.match(OTHER) || [];
  if (unread) throw new Error(`This form cannot be bundled: ${unread}`);
  return `(() => {\n${body}\nreturn { ${exported.join(", ")} };\n})()`;
}

/**
 * A module and all that it imports as one script, which starts it: a page that is opened from a file can import
 * nothing. `read` gives the text of a URL, `resolve` the dated address of a module.
 * @param {string} entry @param {(url: string) => Promise<string>} read
 */
export async function bundle(entry, read, resolve = import.meta.resolve) {
  const modules = await collect(entry, read, resolve);
  const names = new Map([...modules.keys()].map((url, i) => [url, `module${i}`]));
  const parts = [...modules].map(([url, module]) => `const ${names.get(url)} = ${asFunction(module, names)};`);
  return [...parts, `${[...names.values()].at(-1)}.start();`].join("\n");
}
