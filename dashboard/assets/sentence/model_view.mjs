// The model view (BertViz): a thumbnail of every head, a row for each layer.
import { NO_TOKEN } from "./choice.mjs";
import { shownMarks, thumbnailFrame } from "./pair_marks.mjs";
import { fontOf, kindShapes, titleShape, titledWidth } from "./picture.mjs";
import { createScale, legendShapes, shadesOf } from "./weights.mjs";
import { contextOf } from "../web/drawing.mjs";
import { make, showRing } from "../web/elements.mjs";
import { arrowOf, stepInGrid } from "../web/keyboard.mjs";

const LEFT = 34;
const TOP = 22;
const GAP = 4;
/** Pixels above the thumbnails of a saved picture, for its title and its legend. */
const ABOVE = 88;
/** Pixels of the bar in the gap below a thumbnail that shows the head's kind of role. */
const BAR = 3;
const SIDE = { least: 18, most: 96 };
/** Pixels of the frame around a marked pair. */
const FRAME = 1.5;

/**
 * Where the thumbnails are: {side, width, height}, in pixels.
 * @param {number} layers @param {number} heads @param {number} room
 */
export function thumbnailLayout(layers, heads, room) {
  const side = Math.max(SIDE.least, Math.min(SIDE.most, Math.floor((room - LEFT) / heads) - GAP));
  return { side, width: LEFT + heads * (side + GAP), height: TOP + layers * (side + GAP) };
}

/** @param {number} side @param {number} layer @param {number} head @returns {Pair} */
const corner = (side, layer, head) => [LEFT + head * (side + GAP), TOP + layer * (side + GAP)];

/**
 * [layer, head] at a pixel, or null.
 * @param {{ side: number }} given @param {{ layers: number, heads: number }} how @param {number} x @param {number} y
 * @returns {[number, number] | null}
 */
export function headAt({ side }, { layers, heads }, x, y) {
  const [layer, head] = [Math.floor((y - TOP) / (side + GAP)), Math.floor((x - LEFT) / (side + GAP))];
  return layer >= 0 && head >= 0 && layer < layers && head < heads ? [layer, head] : null;
}

/**
 * All thumbnails pixel for pixel: a canvas of layers * rows by heads * columns.
 * @param {Thumbnails} data @param {Scale} scale @param {Colour[]} ramp
 */
function atlas(data, scale, ramp) {
  const { layers, heads, rows, columns, codes } = data;
  const image = new ImageData(heads * columns, layers * rows);
  const colours = Uint32Array.from(ramp, ([red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red);
  const pixels = new Uint32Array(image.data.buffer);
  const shades = shadesOf(codes, columns, scale);
  for (let i = 0; i < codes.length; i++) {
    const [column, row] = [i % columns, Math.floor(i / columns) % rows];
    const panel = Math.floor(i / (rows * columns));
    pixels[(Math.floor(panel / heads) * rows + row) * heads * columns + (panel % heads) * columns + column] =
      colours[shades[i]];
  }
  const sheet = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  contextOf(sheet).putImageData(image, 0, 0);
  return sheet;
}

/** A box as four lines. @param {Box} box @param {string} colour @returns {Shape[]} */
function outlineOf([left, top, wide, high], colour) {
  const [right, bottom] = [left + wide, top + high];
  /** @type {Box[]} */
  const sides = [
    [left, top, right, top],
    [right, top, right, bottom],
    [right, bottom, left, bottom],
    [left, bottom, left, top],
  ];
  return sides.map((line) => ({ line, colour, opacity: 1, width: FRAME }));
}

/** @param {Views} views @param {HTMLElement} stage @param {AbortSignal} signal */
export function createModelView(views, stage, signal) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const ring = make("div", { className: "ring" });
  const frame = make("div", { className: "frame model-view", tabIndex: 0, role: "application" }, canvas, ring);
  let place = { side: 0, width: 0, height: 0 };
  /** @type {[number, number]} */
  let stood = [0, 0];

  stage.append(frame);

  function colourScale() {
    const { data, scale: kind } = views.shown;
    return createScale({ kind, show: "model", most: data.most, codes: data.codes });
  }

  /** @param {ShownSentence} shown */
  function draw(shown) {
    frame.setAttribute("aria-label", `${shown.title}. Every head of every layer; arrow keys move, Enter opens a head.`);
    views.drawLegend(colourScale());
    stood = [Math.min(shown.layer, shown.data.layers - 1), Math.min(shown.head || 0, shown.data.heads - 1)];
    paint();
    views.remark(shown.data.layers * shown.data.heads * shown.data.rows * shown.data.columns ? "" : NO_TOKEN);
  }

  function paint() {
    const { data } = views.shown;
    place = thumbnailLayout(data.layers, data.heads, views.host.clientWidth);
    const scale = window.devicePixelRatio || 1;
    Object.assign(canvas.style, { width: `${place.width}px`, height: `${place.height}px` });
    Object.assign(canvas, { width: Math.round(place.width * scale), height: Math.round(place.height * scale) });
    const context = contextOf(canvas);
    context.scale(scale, scale);
    paintOn(context);
  }

  /** @param {CanvasRenderingContext2D} context */
  function paintOn(context) {
    const { data } = views.shown;
    if (data.codes.length) paintHeads(context, atlas(data, colourScale(), views.ramp));
    for (const { box, colour } of kindBars()) {
      context.fillStyle = colour;
      context.fillRect(...box);
    }
    for (const { box, colour } of markFrames()) {
      context.strokeStyle = colour;
      context.lineWidth = FRAME;
      context.strokeRect(...box);
    }
    context.fillStyle = views.palette.ink;
    context.font = fontOf(12);
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (let head = 0; head < data.heads; head++)
      context.fillText(views.nameOf(head), corner(place.side, 0, head)[0] + place.side / 2, TOP / 2);
    context.textAlign = "left";
    outline(context);
    for (let layer = 0; layer < data.layers; layer++)
      context.fillText(`L${layer}`, 0, corner(place.side, layer, 0)[1] + place.side / 2);
  }

  /** A bar below each thumbnail in the colour of its kind of role. @returns {{ box: Box, colour: string }[]} */
  function kindBars() {
    const { data, roles } = views.shown;
    if (!roles?.kinds.length || data.heads !== roles.of[0].length) return [];
    return roles.of.flatMap((row, layer) =>
      row.map((kind, head) => {
        const [left, top] = corner(place.side, layer, head);
        const box = /** @type {Box} */ ([left, top + place.side, place.side, BAR]);
        return { box, colour: roles.kinds[kind].colour };
      }),
    );
  }

  /** A frame in every thumbnail around the cell of each marked pair. @returns {{ box: Box, colour: string }[]} */
  function markFrames() {
    const { data } = views.shown;
    const marks = data.codes.length ? shownMarks(views.shown) : [];
    return Array.from({ length: data.layers * data.heads }, (_, i) =>
      corner(place.side, Math.floor(i / data.heads), i % data.heads),
    ).flatMap((at) =>
      marks.map((mark) => ({ box: thumbnailFrame(mark, views.shown, at, place.side), colour: mark.colour })),
    );
  }

  /** Outlines the head that other views show. @param {CanvasRenderingContext2D} context */
  function outline(context) {
    const { data, layer, head } = views.shown;
    if (layer >= data.layers || (head || 0) >= data.heads) return;
    context.strokeStyle = views.palette.ink;
    context.lineWidth = 1.5;
    const [left, top] = corner(place.side, layer, head || 0);
    context.strokeRect(left - 1.5, top - 1.5, place.side + 3, place.side + 3);
  }

  /** @param {CanvasRenderingContext2D} context @param {HTMLCanvasElement} sheet */
  function paintHeads(context, sheet) {
    const { data } = views.shown;
    const { rows, columns } = data;
    context.imageSmoothingEnabled = Math.max(rows, columns) > place.side;
    context.imageSmoothingQuality = "high";
    for (let layer = 0; layer < data.layers; layer++)
      for (let head = 0; head < data.heads; head++)
        context.drawImage(
          sheet,
          head * columns,
          layer * rows,
          columns,
          rows,
          ...corner(place.side, layer, head),
          place.side,
          place.side,
        );
  }

  /** @param {[number, number] | null} position */
  function point(position) {
    if (!position) return leave();
    const [layer, head] = (stood = position);
    const [left, top] = corner(place.side, layer, head);
    showRing(ring, left - 2, top - 2, place.side + 4, place.side + 4);
    const [text, does] = [views.fullNameOf(head, layer), views.roleOf(layer, head)];
    const content = [make("strong", { textContent: text }), ...(does ? [make("p", { textContent: does })] : [])];
    views.pointer.place(content, ring.getBoundingClientRect());
    views.announce(does ? `${text}: ${does}` : text);
  }

  function leave() {
    ring.style.display = "none";
    views.leave();
  }

  /** @param {[number, number]} pair */
  const open = ([layer, head]) => views.send({ opened: { layer, head } });
  /** @param {MouseEvent} event */
  const under = (event) => headAt(place, views.shown.data, event.offsetX, event.offsetY);

  /** @param {MouseEvent} event */
  function click(event) {
    const head = under(event);
    if (head) open(head);
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    const step = arrowOf(event);
    if (event.key === "Escape") return leave();
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    if (!step) return open(stood);
    const { layers, heads } = views.shown.data;
    point(stepInGrid(stood, step, [layers, heads]));
    ring.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** The picture of a file: names as text, each thumbnail as an image of its cells. */
  function picture() {
    const { data, roles, title } = views.shown;
    /** @param {string} text @param {number} x @param {number} y @param {string} [align] */
    const name = (text, x, y, align) => ({ text, at: [20 + x, ABOVE + y], colour: views.palette.ink, size: 12, align });
    const heads = Array.from({ length: data.heads }, (_, head) =>
      name(views.nameOf(head), corner(place.side, 0, head)[0] + place.side / 2, TOP / 2, "middle"),
    );
    const layers = Array.from({ length: data.layers }, (_, layer) =>
      name(`L${layer}`, 0, corner(place.side, layer, 0)[1] + place.side / 2),
    );
    const width = Math.max(place.width + 40, 340, titledWidth(title));
    const bottom = ABOVE + place.height + BAR + 8;
    const kinds = kindShapes(roles?.kinds ?? [], [20, bottom], width - 40, views.palette.ink);
    const bars = kindBars().map(({ box: [left, top, ...size], colour }) => ({
      box: /** @type {Box} */ ([20 + left, ABOVE + top, ...size]),
      colour,
    }));
    const frames = markFrames().flatMap(({ box: [left, top, wide, high], colour }) =>
      outlineOf([20 + left, ABOVE + top, wide, high], colour),
    );
    const shapes = [
      titleShape(title, views.palette.ink),
      ...legendShapes(colourScale(), [20, 48], views.ramp, views.palette.ink),
      ...heads,
      ...layers,
      ...(data.codes.length ? images() : []),
      ...bars,
      ...frames,
      ...kinds.shapes,
    ];
    return {
      width,
      height: place.height + ABOVE + 20 + kinds.height,
      ground: views.palette.background,
      title,
      shapes,
    };
  }

  function images() {
    const { layers, heads, rows, columns } = views.shown.data;
    const every = atlas(views.shown.data, colourScale(), views.ramp);
    return Array.from({ length: layers * heads }, (_, i) => {
      const [layer, head] = [Math.floor(i / heads), i % heads];
      const [left, top] = corner(place.side, layer, head);
      const thumbnail = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
      contextOf(thumbnail).drawImage(every, head * columns, layer * rows, columns, rows, 0, 0, columns, rows);
      return { image: thumbnail, at: [20 + left, ABOVE + top, place.side, place.side] };
    });
  }

  canvas.addEventListener("pointermove", (event) => point(under(event)), { signal });
  canvas.addEventListener("pointerleave", leave, { signal });
  canvas.addEventListener("click", click, { signal });
  frame.addEventListener("keydown", press, { signal });
  frame.addEventListener("focus", () => frame.matches(":focus-visible") && point(stood), { signal });
  frame.addEventListener("blur", leave, { signal });
  return { draw, resize: paint, picture };
}
