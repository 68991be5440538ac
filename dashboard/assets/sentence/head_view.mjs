// The head view (BertViz): queries left, keys right, a line for every weight that is large enough, weights on hover;
// above them the heads as coloured boxes that turn their lines on and off. Lines and bars are drawn on a canvas as
// large as the window.
import {
  ROW_GAP,
  ROW_HEIGHT,
  beginsSegment,
  createSwatches,
  createTokens,
  headTip,
  pairOf,
  pairTip,
  remarkOn,
  rowTops,
  selectToken,
} from "./choice.mjs";
import { MARK, headPicture, nearestLine } from "./head_picture.mjs";
import { badgeElements, badgePlace, shownMarks } from "./pair_marks.mjs";
import { fontOf } from "./picture.mjs";
import { findLines, formatWeight, meanOf, weightSums } from "./weights.mjs";
import { contextOf } from "../web/drawing.mjs";
import { make, makeSvg, required } from "../web/elements.mjs";
import { hasModifier, isLetter } from "../web/keyboard.mjs";

/** @param {Views} views @param {HTMLElement} stage @param {AbortSignal} signal */
export function createHeadView(views, stage, signal) {
  const swatches = createSwatches(views, signal);
  const columns = { query: createTokens("query", "Queries"), key: createTokens("key", "Keys") };
  const other = /** @type {Record<Side, Side>} */ ({ query: "key", key: "query" });
  const canvas = make("canvas", { "aria-hidden": "true" });
  const names = ["query", "key"].map((side) => make("p", { className: `name ${side}` }));
  /** The name of sentence B, in the gap before its first token. */
  const ofB = { query: nameOfSecond("query"), key: nameOfSecond("key") };
  /** Marks are on a sheet below the lines, their numbers on one above the lines. */
  const marks = makeSvg("svg", { class: "marks", "aria-hidden": "true" });
  const badges = makeSvg("svg", { class: "marks", "aria-hidden": "true" });
  const parts = [...names, ...Object.values(ofB), columns.query.list, columns.key.list];
  const box = make("div", { className: "head-view" }, marks, canvas, badges, ...parts);
  const sheet = createHeadSheet(views, box, columns, { canvas, marks, badges });
  /** @type {Only | null} */
  let hovered = null;
  /** @type {TokenPair | null} */
  let pointed = null;
  let waiting = 0;

  const legend = make("legend", { textContent: "Heads" });
  views.lead.append(make("fieldset", { className: "control-group" }, legend, swatches.row));
  stage.append(box);

  // -- what is drawn ----------------------------------------------------------------------------

  /** Tokens whose lines are drawn: the one under the pointer or keyboard, else the selected ones; null for all. */
  function only() {
    const { queries, side } = views.shown;
    return hovered || (queries.length ? { side: side || "query", units: queries } : null);
  }

  /** @param {ShownSentence} shown */
  function draw(shown) {
    swatches.draw(shown);
    const focused = { query: columns.query.renew(shown.units), key: columns.key.renew(shown.keys) };
    const pair = pairOf(shown);
    for (const side of /** @type {Side[]} */ (["query", "key"]))
      columns[side].mark(pair ? [pair[side]] : (shown.side || "query") === side ? shown.queries : []);
    nameSentences(shown);
    if (pointed) views.leave();
    pointed = null;
    box.classList.remove("on-line");
    if (hovered && hovered.units[0] >= columns[hovered.side].units.length) hovered = null;
    paint();
    if (hovered) describe(hovered);
    // After a token is hidden the keyboard is on the next one.
    for (const { side, focus } of Object.values(columns)) if (focused[side] >= 0) focus(focused[side]);
  }

  /** Names the sentence of each column where there are two. @param {ShownSentence} shown */
  function nameSentences({ is_pair, units, keys }) {
    [units, keys].forEach((column, i) => {
      const side = /** @type {Side} */ (i ? "key" : "query");
      const title = i ? "Keys" : "Queries";
      names[i].textContent = is_pair && column.length ? `${title}: sentence ${"AB"[column[0].segment]}` : title;
      const begins = column.findIndex((_, at) => beginsSegment(column, at));
      ofB[side].hidden = begins < 0;
      if (begins >= 0) ofB[side].style.marginTop = `${rowTops(column)[begins] - ROW_GAP}px`;
    });
  }

  function paint() {
    cancelAnimationFrame(waiting);
    waiting = 0;
    const lines = sheet.paint(only());
    sheet.mark([pairOf(views.shown), pointed]);
    views.host.dataset.lines = String(lines.total);
    views.remark(remarkOn(lines, views.shown));
  }

  const schedule = () => (waiting ||= requestAnimationFrame(paint));

  // -- hover and focus --------------------------------------------------------------------------

  /** @param {Side} side @param {number} unit */
  function hover(side, unit) {
    if (unit < 0 || (hovered?.side === side && hovered.units[0] === unit)) return;
    hovered = { side, units: [unit] };
    paint();
    describe(hovered);
  }

  function leave() {
    if (!hovered) return;
    hovered = null;
    views.leave();
    schedule();
  }

  /** Marks the line under the pointer, and says its weights. @param {PointerEvent} event */
  function point(event) {
    const pair = event.type === "pointerleave" || columns.query.unitOf(event) >= 0 ? null : pairUnder(event);
    if (pair?.query === pointed?.query && pair?.key === pointed?.key) return;
    pointed = pair;
    box.classList.toggle("on-line", Boolean(pair));
    sheet.mark([pairOf(views.shown), pointed]);
    if (!pair) return views.leave();
    const { content } = pairTip(views, pair, columns);
    views.pointer.place(content, new DOMRect(event.clientX - 1, event.clientY - 1, 2, 2));
  }

  /** @param {MouseEvent} event */
  function click(event) {
    const pair = columns.query.unitOf(event) < 0 && pairUnder(event);
    if (!pair) return;
    if (event.shiftKey) views.toggleMark(pair);
    else views.choosePair(pair.query, pair.key);
  }

  /** @param {MouseEvent} event */
  function pairUnder(event) {
    const rectangle = box.getBoundingClientRect();
    return sheet.pairAt([event.clientX - rectangle.left, event.clientY - rectangle.top]);
  }

  /** @param {Only} given */
  function describe({ side, units: [unit] }) {
    const { content, text } = headTip(views, side, unit, columns);
    const element = columns[side].list.children[unit];
    views.pointer.place(content, element.getBoundingClientRect(), side === "query" ? "left" : "right");
    views.announce(text);
  }

  // -- what a reader does -----------------------------------------------------------------------

  /** @param {Side} side @param {number} unit @param {boolean} more */
  function select(side, unit, more) {
    const { queries, side: before } = views.shown;
    const pair = more ? pairWith(side, unit) : null;
    if (pair) return views.toggleMark(pair);
    const units = selectToken((before || "query") === side ? queries : [], unit, more);
    views.choose({ side, queries: units, toward: null }, { selected: { side, units } });
  }

  /**
   * The pair of a key and the only selected query; null for anything else.
   * @param {Side} side @param {number} unit @returns {TokenPair | null}
   */
  function pairWith(side, unit) {
    const { queries, side: before } = views.shown;
    if (!views.shown.marks || side !== "key" || (before || "query") !== "query" || queries.length !== 1) return null;
    return { query: queries[0], key: unit };
  }

  /** @param {Tokens} column @param {number} unit */
  function hide(column, unit) {
    if (unit < 0) return;
    leave();
    views.send({ hidden: { positions: column.units[unit].positions } });
  }

  function escape() {
    leave();
    views.clearSelection();
  }

  /**
   * Enter, or a finger, on a key with one query selected selects the pair.
   * @param {Tokens} column @param {number} unit @param {boolean} more
   */
  function enter(column, unit, more) {
    const { side, queries } = views.shown;
    if (!more && column.side === "key" && (side || "query") === "query" && queries.length === 1)
      return views.choosePair(queries[0], unit);
    return select(column.side, unit, more);
  }

  /** @param {KeyboardEvent} event @param {Tokens} column */
  function press(event, column) {
    const unit = column.unitOf(event);
    if (isLetter(event, "h") && unit >= 0) return (event.preventDefault(), hide(column, unit));
    const pair = isLetter(event, "m") ? pairWith(column.side, unit) : null;
    if (pair) return (event.preventDefault(), views.toggleMark(pair));
    const go = {
      ArrowUp: [column, unit - 1],
      ArrowDown: [column, unit + 1],
      Home: [column, 0],
      End: [column, column.units.length - 1],
    }[event.key];
    const across = event.key === (column.side === "query" ? "ArrowRight" : "ArrowLeft") && [
      columns[other[column.side]],
      unit,
    ];
    const moves = !hasModifier(event) && (go || across);
    if (unit < 0 || !(moves || event.key === "Enter" || event.key === " ")) return;
    event.preventDefault();
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    if (event.key === "Enter") return enter(column, unit, more);
    if (!moves) return select(column.side, unit, more);
    const [to, at] = /** @type {[Tokens, number]} */ (moves);
    to.focus(at);
  }

  /** @param {Tokens} column */
  function listen(column) {
    /** @param {string} name @param {(event: any) => void} act */
    const on = (name, act) => column.list.addEventListener(name, act, { signal });
    on("pointerover", (event) => hover(column.side, column.unitOf(event)));
    on("pointerleave", leave);
    on("focusin", (event) => {
      column.stand(column.unitOf(event));
      if (event.target?.matches?.(":focus-visible")) hover(column.side, column.unitOf(event));
    });
    on("focusout", leave);
    on("keydown", (event) => press(event, column));
    on("dblclick", (event) => hide(column, column.unitOf(event)));
    on("click", (event) => {
      const [unit, more] = [column.unitOf(event), event.shiftKey || event.ctrlKey || event.metaKey];
      if (unit < 0) return;
      if (event.pointerType === "touch") enter(column, unit, more);
      else select(column.side, unit, more);
    });
  }

  Object.values(columns).forEach(listen);
  box.addEventListener("pointermove", point, { signal });
  box.addEventListener("pointerleave", point, { signal });
  box.addEventListener("click", click, { signal });
  stage.addEventListener("keydown", (event) => event.key === "Escape" && escape(), { signal });
  window.addEventListener("scroll", () => sheet.moved() && schedule(), { signal, passive: true, capture: true });
  signal.addEventListener("abort", () => cancelAnimationFrame(waiting));
  return { draw, resize: schedule, picture: () => headPicture(views, only()) };
}

/** Share of the window's height that is drawn above and below it, so that scrolling need not draw at once. */
const BEYOND = 0.6;
const BAR = 10;
const NUMBER = 52;
/** Pixels from a line within which a click hits it. */
const REACH = 6;

/** @type {(keyof typeof MARK)[]} */
const KINDS = ["edge", "ground"];

/** @param {Box} ends @param {keyof typeof MARK} kind @param {string} [colour] */
function markLine([x1, y1, x2, y2], kind, colour) {
  const line = makeSvg("line", { x1, y1, x2, y2, class: kind, "stroke-width": MARK[kind] });
  if (colour && kind === "edge") line.style.stroke = colour;
  return line;
}

/** @param {Side} side */
const nameOfSecond = (side) =>
  make("p", { className: `name-of-second ${side}`, textContent: "Sentence B", hidden: true });

/**
 * @param {Views} views @param {HTMLElement} box @param {Columns} columns
 * @param {{ canvas: HTMLCanvasElement, marks: SVGElement, badges: SVGElement }} given
 */
function createHeadSheet(views, box, columns, { canvas, marks, badges }) {
  let top = 0;
  let height = 0;
  /** The drawn lines, their ends, and the places of tokens. */
  /** @type {{ lines: Lines, ys: Record<Side, number[]>, left: number, right: number, ends: Box[] } | null} */
  let drawn = null;

  function band() {
    const rectangle = box.getBoundingClientRect();
    const from = Math.max(0, -rectangle.top - BEYOND * window.innerHeight);
    return { rectangle, from, to: Math.min(box.offsetHeight, -rectangle.top + (1 + BEYOND) * window.innerHeight) };
  }

  /** Whether the window has left the drawn band. */
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
   * Paints beside every token of the other column a bar with a part for each chosen head, and their mean.
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

  /**
   * Draws pairs below the lines, without drawing the lines again: the marked pairs, and `pairs`, which are selected
   * or pointed at.
   * @param {(TokenPair | null)[]} pairs
   */
  function mark(pairs) {
    const known = pairs.flatMap((pair) => (pair && pair.query < columns.query.units.length ? [pair] : []));
    const coloured = shownMarks(views.shown);
    marks.replaceChildren(
      ...coloured.flatMap((pair) => KINDS.map((kind) => markLine(lineOf(pair), kind, pair.colour))),
      ...known.flatMap((pair) => KINDS.map((kind) => markLine(lineOf(pair), kind))),
    );
    badges.replaceChildren(...coloured.flatMap((pair) => badgeElements(pair, badgePlace(pair, lineOf(pair)))));
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
