// The picture of the head view for a file: heads, tokens, lines and weights; and which line a point is on.
import { ROW_GAP, ROW_HEIGHT, beginsSegment, pairOf, rowTops } from "./choice.mjs";
import { badgePlace, badgeShapes, shownMarks } from "./pair_marks.mjs";
import { kindShapes, savedWidth, titleShape, titledWidth } from "./picture.mjs";
import { findLines, formatWeight, meanOf, weightSums } from "./weights.mjs";
import { squaredDistance } from "../web/drawing.mjs";

/** Widths of the mark of a pair: its line runs between two edges, and keeps its opacity. */
export const MARK = { edge: 7, ground: 4 };

const MARGIN = 20;
const ABOVE = 84;
const BETWEEN = 300;
const NUMBER_ROOM = 64;

/** @param {Unit[]} units */
const widest = (units) => Math.max(40, ...units.map(({ name }) => savedWidth(name, 13)));

/** Pixels of the box before the name of a head, and after the name. */
const [HEAD_BOX, HEAD_GAP] = [16, 12];

/** The legend of heads: shapes in a row, and their right end. @param {Views} views @param {number} y */
function legendOf(views, y) {
  let x = MARGIN;
  /** @param {number} head @returns {Shape[]} */
  const entry = (head) => {
    const [name, left] = [views.nameOf(head), x];
    x += HEAD_BOX + savedWidth(name, 12) + HEAD_GAP;
    return [
      { box: [left, y - 6, 12, 12], colour: views.colour(head) },
      { text: name, at: [left + HEAD_BOX, y], colour: views.palette.ink, size: 12 },
    ];
  };
  return { shapes: views.shown.chosen.flatMap(entry), right: x - HEAD_GAP };
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
 * Names of the sentences of a pair, each above its first token.
 * @param {Views} views @param {Unit[]} units @param {number[]} ys @param {number} x @param {string} align
 * @returns {Shape[]}
 */
function sentenceShapes({ shown, palette }, units, ys, x, align) {
  if (!shown.is_pair) return [];
  return units.flatMap((unit, i) => {
    if (i && !beginsSegment(units, i)) return [];
    const at = [x, ys[i] - (ROW_HEIGHT + ROW_GAP) / 2];
    return [{ text: `Sentence ${"AB"[unit.segment]}`, at, colour: palette.ink, size: 11, align }];
  });
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

/** @param {Views} views @param {Box} line @param {string} [colour] @returns {Shape[]} */
const markShapes = ({ palette }, line, colour = palette.ink) => [
  { line, colour, opacity: 1, width: MARK.edge },
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
  const left = MARGIN + NUMBER_ROOM + widest(units);
  const legend = legendOf(views, 54);
  const width = Math.max(
    left + BETWEEN + widest(keys) + NUMBER_ROOM + MARGIN,
    titledWidth(title),
    legend.right + MARGIN,
  );
  const kinds = kindShapes(views.shown.roles?.kinds ?? [], [MARGIN, 76], width - 2 * MARGIN, views.palette.ink);
  const above = ABOVE + kinds.height + (views.shown.is_pair ? ROW_GAP : 0);
  /** @param {Unit[]} column */
  const place = (column) => rowTops(column).map((y) => above + y + ROW_HEIGHT / 2);
  const ys = { query: place(units), key: place(keys) };
  const height = above + Math.max(...[units, keys].map((column) => rowTops(column).at(-1) ?? 0)) + MARGIN;
  const pair = pairOf(views.shown);
  /** @param {Side} side */
  const boldOf = (side) => [...(only?.side === side ? only.units : []), ...(pair ? [pair[side]] : [])];
  /** @param {TokenPair} of @returns {Box} */
  const lineOf = ({ query, key }) => [left + 6, ys.query[query], left + BETWEEN - 6, ys.key[key]];
  const marks = shownMarks(views.shown);
  const shapes = [
    titleShape(title, views.palette.ink),
    ...legend.shapes,
    ...kinds.shapes,
    ...marks.flatMap((mark) => markShapes(views, lineOf(mark), mark.colour)),
    ...(pair ? markShapes(views, lineOf(pair)) : []),
    ...lineShapes(views, only, ys, [left + 6, left + BETWEEN - 6]),
    ...marks.flatMap((mark) => badgeShapes(mark, badgePlace(mark, lineOf(mark)))),
    ...sentenceShapes(views, units, ys.query, left, "end"),
    ...sentenceShapes(views, keys, ys.key, left + BETWEEN, "start"),
    ...tokenShapes(views, units, ys.query, left, "end", boldOf("query")),
    ...tokenShapes(views, keys, ys.key, left + BETWEEN, "start", boldOf("key")),
    ...numberShapes(views, only, ys, { query: MARGIN, key: left + BETWEEN + widest(keys) + NUMBER_ROOM }),
  ];
  return { width, height, ground: views.palette.background, title, shapes };
}

/**
 * Index of the nearest line within `reach` of a point; of equally near ones the last, which is on top; -1 for none.
 * @param {Box[]} lines @param {Pair} point @param {number} reach
 */
export function nearestLine(lines, point, reach) {
  let [nearest, least] = [-1, reach ** 2];
  lines.forEach(([x1, y1, x2, y2], i) => {
    const distance = squaredDistance(point, [x1, y1], [x2, y2]);
    if (distance <= least) [nearest, least] = [i, distance];
  });
  return nearest;
}
