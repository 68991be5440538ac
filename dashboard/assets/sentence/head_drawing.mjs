// Draws the head view: lines and bars on a canvas as large as the window, and all of it as a picture for a file;
// which of its lines a point is on.
import { fontOf, measureText } from "./picture.mjs";
import { ROW_HEIGHT, pairOf, rowTops } from "./choice.mjs";
import { contextOf, required } from "../web/elements.mjs";
import { findLines, formatWeight, meanOf, weightSums } from "./weights.mjs";

/** Share of the window's height that is drawn above and below it, so that scrolling need not draw at once. */
const BEYOND = 0.6;
const BAR = 10;
const NUMBER = 52;
/** Pixels from a line within which a click is on it. */
const REACH = 6;
/** Widths of the mark of a pair: its line runs between two edges, and keeps its opacity. */
const MARK = { edge: 7, ground: 4 };

const SVG = "http://www.w3.org/2000/svg";
/** @type {(keyof typeof MARK)[]} */
const KINDS = ["edge", "ground"];

/** @param {Box} ends @param {keyof typeof MARK} kind */
function markLine(ends, kind) {
  const line = document.createElementNS(SVG, "line");
  ["x1", "y1", "x2", "y2"].forEach((name, i) => line.setAttribute(name, String(ends[i])));
  line.setAttribute("class", kind);
  line.setAttribute("stroke-width", String(MARK[kind]));
  return line;
}

/** An empty sheet for marks, below that of the lines. */
export function createMarks() {
  const marks = document.createElementNS(SVG, "svg");
  marks.setAttribute("class", "marks");
  marks.setAttribute("aria-hidden", "true");
  return marks;
}

/**
 * @param {Views} views @param {HTMLElement} box @param {Columns} columns
 * @param {{ canvas: HTMLCanvasElement, marks: SVGElement }} given
 */
export function createHeadSheet(views, box, columns, { canvas, marks }) {
  let top = 0;
  let height = 0;
  /** The drawn lines and the ends of each; where tokens are. */
  /** @type {{ lines: Lines, ys: Record<Side, number[]>, left: number, right: number, ends: Box[] } | null} */
  let drawn = null;

  function band() {
    const rectangle = box.getBoundingClientRect();
    const from = Math.max(0, -rectangle.top - BEYOND * window.innerHeight);
    return { rectangle, from, to: Math.min(box.offsetHeight, -rectangle.top + (1 + BEYOND) * window.innerHeight) };
  }

  /** Whether the window has left what is drawn. */
  function moved() {
    const { rectangle } = band();
    const shown = [Math.max(0, -rectangle.top), Math.min(box.offsetHeight, window.innerHeight - rectangle.top)];
    return shown[0] < top || shown[1] > top + height;
  }

  /** A cleared context, in pixels of the box. */
  function clear() {
    const { from, to } = band();
    [top, height] = [from, Math.max(0, to - from)];
    const scale = window.devicePixelRatio || 1;
    Object.assign(canvas.style, { top: `${top}px`, width: `${box.offsetWidth}px`, height: `${height}px` });
    Object.assign(canvas, { width: Math.round(box.offsetWidth * scale), height: Math.round(height * scale) });
    const context = contextOf(canvas);
    context.setTransform(scale, 0, 0, scale, 0, -top * scale);
    return context;
  }

  /** Middle of every token, in pixels of the box. @param {Tokens} column */
  function middles(column) {
    return rowTops(column.units).map((y) => column.list.offsetTop + y + ROW_HEIGHT / 2);
  }

  /** @param {CanvasRenderingContext2D} context @param {Box} pair */
  function stroke(context, [x1, y1, x2, y2]) {
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
  }

  /** @param {CanvasRenderingContext2D} context @param {{ lines: Lines, ends: Box[] }} given */
  function paintLines(context, { lines, ends }) {
    const colours = Array.from({ length: views.shown.data.heads }, (_, head) => views.colour(head));
    context.lineWidth = 2;
    for (let i = 0; i < lines.count; i++) {
      const [, from, , to] = ends[i];
      if ((from < top && to < top) || (from > top + height && to > top + height)) continue;
      context.globalAlpha = lines.codes[i] / 65535;
      context.strokeStyle = colours[lines.heads[i]];
      stroke(context, ends[i]);
    }
    context.globalAlpha = 1;
  }

  /** The {query, key} of the line at a point of the box, null where there is none. @param {Pair} point */
  function pairAt(point) {
    const i = drawn ? nearestLine(drawn.ends, point, REACH) : -1;
    return !drawn || i < 0 ? null : { query: drawn.lines.queries[i], key: drawn.lines.keys[i] };
  }

  /**
   * Beside every token of the other column: a bar of the chosen heads' parts, and their mean as a number.
   * @param {CanvasRenderingContext2D} context @param {Only} only @param {Record<Side, number[]>} ys
   */
  function paintBars(context, only, ys) {
    const { data, chosen } = views.shown;
    const across = only.side === "query" ? "key" : "query";
    const sums = weightSums(data, chosen, only.side, only.units);
    const most = Math.max(...sums.map((values) => meanOf(values)), 1e-9);
    const { list } = columns[across];
    const outwards = across === "key" ? 1 : -1;
    const start = across === "key" ? list.offsetLeft + list.offsetWidth + 8 : list.offsetLeft - 8;
    const room = Math.max(0, (across === "key" ? box.offsetWidth - start : start) - NUMBER);
    context.font = fontOf(12);
    context.textBaseline = "middle";
    context.textAlign = outwards > 0 ? "left" : "right";
    sums.forEach((values, unit) =>
      paintBar(context, { values, y: ys[across][unit], start, outwards, wide: room / most, most: data.most }),
    );
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {{ values: number[], y: number, start: number, outwards: number, wide: number, most: number }} given
   */
  function paintBar(context, { values, y, start, outwards, wide, most }) {
    if (y < top || y > top + height) return;
    const mean = meanOf(values);
    let x = start;
    values.forEach((value, i) => {
      const width = (wide * value) / values.length;
      context.fillStyle = views.colour(views.shown.chosen[i]);
      context.fillRect(outwards > 0 ? x : x - width, y - BAR / 2, width, BAR);
      x += outwards * width;
    });
    context.fillStyle = views.palette.ink;
    if (mean >= most / 2000) context.fillText(formatWeight(mean, most), x + 6 * outwards, y);
  }

  /** Marks pairs below all lines, without drawing these again. @param {(TokenPair | null)[]} pairs */
  function mark(pairs) {
    const known = pairs.flatMap((pair) => (pair && pair.query < columns.query.units.length ? [pair] : []));
    marks.replaceChildren(...known.flatMap((pair) => KINDS.map((kind) => markLine(lineOf(pair), kind))));
  }

  /** @param {TokenPair} pair @returns {Box} */
  function lineOf({ query, key }) {
    const { left, right, ys } = required(drawn, "the lines of a head");
    return [left, ys.query[query], right, ys.key[key]];
  }

  /** @param {Only | null} only */
  function paint(only) {
    const { data, chosen, least } = views.shown;
    const context = clear();
    const ys = { query: middles(columns.query), key: middles(columns.key) };
    const { query, key } = columns;
    const [left, right] = [query.list.offsetLeft + query.list.offsetWidth + 4, key.list.offsetLeft - 4];
    const lines = findLines(data, chosen, least, only);
    const ends = Array.from(
      lines.codes,
      (_, i) => /** @type {Box} */ ([left, ys.query[lines.queries[i]], right, ys.key[lines.keys[i]]]),
    );
    drawn = { lines, ys, left, right, ends };
    paintLines(context, drawn);
    if (only && chosen.length && query.units.length && key.units.length) paintBars(context, only, ys);
    return lines;
  }

  return { paint, moved, pairAt, mark };
}

const MARGIN = 20;
const ABOVE = 84;
const BETWEEN = 300;
const NUMBER_ROOM = 64;

/** @param {Unit[]} units */
const widest = (units) => Math.max(40, ...units.map(({ name }) => measureText(name, 13)));

/** @param {Views} views @param {number} y @returns {Shape[]} */
function legendShapes(views, y) {
  return views.shown.chosen.flatMap((head, i) => [
    { box: [MARGIN + 44 * i, y - 6, 12, 12], colour: views.colour(head) },
    { text: views.nameOf(head), at: [MARGIN + 44 * i + 16, y], colour: views.palette.ink, size: 12 },
  ]);
}

/**
 * The names of tokens, those in `bold` bold.
 * @param {Views} views @param {Unit[]} units @param {number[]} ys @param {number} x @param {string} align
 * @param {number[]} bold
 * @returns {Shape[]}
 */
function tokenShapes(views, units, ys, x, align, bold) {
  return units.map((unit, i) => ({
    text: unit.name,
    at: [x, ys[i]],
    colour: views.palette.ink,
    align,
    weight: bold.includes(i) ? 700 : 400,
  }));
}

/**
 * @param {Views} views @param {Only | null} only @param {Record<Side, number[]>} ys @param {Pair} pair
 * @returns {Shape[]}
 */
function lineShapes(views, only, ys, [left, right]) {
  const { data, chosen, least } = views.shown;
  const lines = findLines(data, chosen, least, only);
  /** @param {number} i @returns {Shape} */
  const shapeOf = (i) => ({
    line: [left, ys.query[lines.queries[i]], right, ys.key[lines.keys[i]]],
    colour: views.colour(lines.heads[i]),
    opacity: lines.codes[i] / 65535,
  });
  return Array.from({ length: lines.count }, (_, i) => shapeOf(i));
}

/** @param {Views} views @param {Box} line @returns {Shape[]} */
const markShapes = ({ palette }, line) => [
  { line, colour: palette.ink, opacity: 1, width: MARK.edge },
  { line, colour: palette.background, opacity: 1, width: MARK.ground },
];

/**
 * @param {Views} views @param {Only | null} only @param {Record<Side, number[]>} ys
 * @param {Record<Side, number>} given
 * @returns {Shape[]}
 */
function numberShapes(views, only, ys, { query, key }) {
  if (!only) return [];
  const { data, chosen } = views.shown;
  const across = only.side === "query" ? "key" : "query";
  const [x, align] = across === "key" ? [key, "end"] : [query, "start"];
  const means = weightSums(data, chosen, only.side, only.units).map(meanOf);
  const texts = means.map((mean, i) => ({
    text: formatWeight(mean, data.most),
    at: [x, ys[across][i]],
    colour: views.palette.ink,
    size: 12,
    align,
  }));
  return texts.filter((_, i) => means[i] >= data.most / 2000);
}

/** @param {Views} views @param {Only | null} only */
export function headPicture(views, only) {
  const { units, keys, title } = views.shown;
  /** @param {Unit[]} column */
  const place = (column) => rowTops(column).map((y) => ABOVE + y + ROW_HEIGHT / 2);
  const ys = { query: place(units), key: place(keys) };
  const left = MARGIN + NUMBER_ROOM + widest(units);
  const width = Math.max(
    left + BETWEEN + widest(keys) + NUMBER_ROOM + MARGIN,
    2 * MARGIN + measureText(title, 15),
    2 * MARGIN + 44 * views.shown.chosen.length,
  );
  const height = ABOVE + Math.max(...[units, keys].map((column) => rowTops(column).at(-1) ?? 0)) + MARGIN;
  const pair = pairOf(views.shown);
  /** @param {Side} side */
  const boldOf = (side) => [...(only?.side === side ? only.units : []), ...(pair ? [pair[side]] : [])];
  const shapes = [
    { text: title, at: [MARGIN, 26], colour: views.palette.ink, size: 15, weight: 600 },
    ...legendShapes(views, 54),
    ...(pair ? markShapes(views, [left + 6, ys.query[pair.query], left + BETWEEN - 6, ys.key[pair.key]]) : []),
    ...lineShapes(views, only, ys, [left + 6, left + BETWEEN - 6]),
    ...tokenShapes(views, units, ys.query, left, "end", boldOf("query")),
    ...tokenShapes(views, keys, ys.key, left + BETWEEN, "start", boldOf("key")),
    ...numberShapes(views, only, ys, { query: MARGIN, key: left + BETWEEN + widest(keys) + NUMBER_ROOM }),
  ];
  return { width, height, ground: views.palette.background, title, shapes };
}

/** Distance of a point from a line [x1, y1, x2, y2] with these ends. @param {Pair} first @param {Box} second */
export function distanceToLine([x, y], [x1, y1, x2, y2]) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const along = length ? Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / length)) : 0;
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}

/**
 * Index of the nearest line within `reach` of a point; of equally near ones the last, which is on top; -1 for none.
 * @param {Box[]} lines @param {Pair} point @param {number} reach
 */
export function nearestLine(lines, point, reach) {
  let [nearest, least] = [-1, reach];
  lines.forEach((line, i) => {
    const distance = distanceToLine(point, line);
    if (distance <= least) [nearest, least] = [i, distance];
  });
  return nearest;
}
