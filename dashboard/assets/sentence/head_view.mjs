// The head view (BertViz): queries left, keys right, a line for every weight that is large enough, weights on hover;
// above them the heads as coloured boxes that turn their lines on and off.
import { createHeadSheet, createMarks, headPicture } from "./head_drawing.mjs";
import { NO_TOKEN, createSwatches, createTokens, pairOf, selectToken } from "./choice.mjs";
import { MOST_LINES, exactWeight, meanOf, weightAt, weightSums } from "./weights.mjs";
import { make } from "../web/elements.mjs";

/** @param {Views} views @param {HTMLElement} stage @param {AbortSignal} signal */
export function createHeadView(views, stage, signal) {
  const swatches = createSwatches(views, signal);
  const columns = { query: createTokens("query", "Queries"), key: createTokens("key", "Keys") };
  const other = /** @type {Record<Side, Side>} */ ({ query: "key", key: "query" });
  const canvas = make("canvas", { "aria-hidden": "true" });
  const names = ["query", "key"].map((side) =>
    make("p", { className: `name ${side}`, textContent: side === "query" ? "Queries" : "Keys" }),
  );
  const marks = createMarks();
  const box = make("div", { className: "head-view" }, marks, canvas, ...names, columns.query.list, columns.key.list);
  const sheet = createHeadSheet(views, box, columns, { canvas, marks });
  /** @type {Only | null} */
  let hovered = null;
  /** @type {TokenPair | null} */
  let pointed = null;
  let waiting = 0;

  const legend = make("legend", { textContent: "Heads" });
  views.lead.append(make("fieldset", { className: "control-group" }, legend, swatches.row));
  stage.append(box);

  // -- what is drawn ----------------------------------------------------------------------------

  /** Whose lines are drawn: those of the token under the pointer or the keyboard, else the selected ones', else all. */
  function only() {
    const { queries, side } = views.shown;
    return hovered || (queries.length ? { side: side || "query", units: queries } : null);
  }

  /** @param {ShownSentence} shown */
  function draw(shown) {
    swatches.draw(shown);
    columns.query.renew(shown.units);
    columns.key.renew(shown.keys);
    const pair = pairOf(shown);
    for (const side of /** @type {Side[]} */ (["query", "key"]))
      columns[side].mark(pair ? [pair[side]] : (shown.side || "query") === side ? shown.queries : []);
    if (pointed) views.leave();
    pointed = null;
    box.classList.remove("on-line");
    if (hovered && hovered.units[0] >= columns[hovered.side].units.length) hovered = null;
    paint();
    if (hovered) describe(hovered);
  }

  function paint() {
    cancelAnimationFrame(waiting);
    waiting = 0;
    const lines = sheet.paint(only());
    sheet.mark([pairOf(views.shown), pointed]);
    views.host.dataset.lines = String(lines.total);
    views.remark(remarkOn(lines, views.shown), longestRemark(views.shown));
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
    if (pair) views.choosePair(pair.query, pair.key);
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
    const units = selectToken((before || "query") === side ? queries : [], unit, more);
    views.choose({ side, queries: units, toward: null }, { selected: { side, units } });
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
   * Enter on a key with one query selected selects the pair.
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
    if (event.key === "h" && !event.ctrlKey && !event.metaKey) return hide(column, unit);
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
    if (unit < 0 || !(go || across || event.key === "Enter" || event.key === " ")) return;
    event.preventDefault();
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    if (event.key === "Enter") return enter(column, unit, more);
    if (!go && !across) return select(column.side, unit, more);
    const [to, at] = /** @type {[Tokens, number]} */ (go || across);
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
    on(
      "click",
      (event) =>
        column.unitOf(event) >= 0 &&
        select(column.side, column.unitOf(event), event.shiftKey || event.ctrlKey || event.metaKey),
    );
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

/** @param {number} number */
const whole = (number) => number.toLocaleString("en");
/** @param {number} least */
const noWeight = (least) => `No weight is ${least} or more here. Lower the minimum weight, or choose more heads.`;
/** @param {number} count @param {number} total */
const strongestLines = (count, total) =>
  `The strongest ${whole(count)} of ${whole(total)} lines are drawn. Raise the minimum weight to see fewer.`;

/** Why there are no lines, or not all of them. @param {Lines} lines @param {ShownSentence} shown */
function remarkOn({ total, count }, { chosen, least, units, keys }) {
  if (!units.length || !keys.length) return NO_TOKEN;
  if (!chosen.length) return "No head is chosen. Click a head's colour above to see its lines.";
  if (!total) return noWeight(least);
  return count < total ? strongestLines(count, total) : "";
}

/**
 * The longest remark that a hover or a click brings: that on all lines where they are many.
 * @param {ShownSentence} shown
 */
function longestRemark({ least, units, keys, data }) {
  const most = data.heads * units.length * keys.length;
  return most > MOST_LINES ? strongestLines(MOST_LINES, most) : noWeight(least);
}

/** @param {Layer} layer @param {number} head @param {Side} side @param {number} unit */
function largestWeight(layer, head, side, unit) {
  const values = weightSums(layer, [head], side, [unit]).map(([value]) => value);
  const at = values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
  return { at, value: values[at] };
}

/** @param {Views} views @param {number} head @param {string} name @param {number} value */
function weightRow(views, head, name, value) {
  const colour = make("span", { className: "colour" });
  colour.style.setProperty("--colour", views.colour(head));
  return make(
    "tr",
    {},
    make("td", {}, colour),
    make("td", { textContent: views.nameOf(head) }),
    make("td", { className: "to", dir: "auto", textContent: name }),
    make("td", { className: "number", textContent: exactWeight(value) }),
  );
}

/** @param {Pick<Unit, "name">} unit */
const tokenOf = (unit) => make("bdi", { textContent: unit.name });

/** @param {(Node | string)[]} title @param {Node[]} rows @param {string} [last] */
function titled(title, rows, last) {
  const content = [make("p", { className: "what" }, ...title), make("table", {}, ...rows)];
  return last ? [...content, make("p", { className: "sum", textContent: last })] : content;
}

/**
 * The token and what is selected in the other column.
 * @param {Views} views @param {Side} side @param {number} unit @param {Columns} columns
 */
function together(views, side, unit, columns) {
  const { data, chosen, queries } = views.shown;
  const across = side === "query" ? "key" : "query";
  const values = weightSums(data, chosen, across, queries)[unit];
  const selected =
    queries.length === 1
      ? tokenOf(columns[across].units[queries[0]])
      : `${queries.length} ${side === "key" ? "queries" : "keys"}`;
  const token = tokenOf(columns[side].units[unit]);
  const names = side === "key" ? [selected, " → ", token] : [token, " → ", selected];
  const mean = `mean ${exactWeight(meanOf(values))}`;
  const weights = chosen.map((head, i) => `${views.spokenNameOf(head)} ${exactWeight(values[i])}`);
  const said = names.map((part) => (typeof part === "string" ? part : part.textContent)).join("");
  const text = `${said}: ${weights.join(", ")}, ${mean}`;
  return {
    content: titled(
      names,
      chosen.map((head, i) => weightRow(views, head, "", values[i])),
      chosen.length > 1 ? mean : "",
    ),
    text,
  };
}

/**
 * A query and a key, the weight of each chosen head.
 * @param {Views} views @param {{ query: number, key: number }} given @param {Columns} columns
 */
function pairTip(views, { query, key }, columns) {
  const { data, chosen } = views.shown;
  const names = [tokenOf(columns.query.units[query]), " → ", tokenOf(columns.key.units[key])];
  const rows = chosen.map((head) => weightRow(views, head, "", weightAt(data, head, query, key)));
  return { content: titled(names, rows) };
}

/** The token alone. @param {Views} views @param {Side} side @param {number} unit @param {Columns} columns */
function alone(views, side, unit, columns) {
  const { data, chosen } = views.shown;
  const strongest = chosen.map((head) => largestWeight(data, head, side, unit));
  const others = columns[side === "query" ? "key" : "query"].units;
  const direction = side === "query" ? "attends most to" : "gets most from";
  const { name } = columns[side].units[unit];
  /** @param {number} head @param {{ at: number, value: number }} given */
  const spokenOf = (head, { at, value }) => `${views.spokenNameOf(head)}: ${others[at].name} ${exactWeight(value)}`;
  const text = `${name} ${direction} ${chosen.map((head, i) => spokenOf(head, strongest[i])).join(", ")}`;
  return {
    content: titled(
      [tokenOf({ name }), ` ${direction}`],
      chosen.map((head, i) => weightRow(views, head, others[strongest[i].at].name, strongest[i].value)),
    ),
    text,
  };
}

/** @param {Views} views @param {Side} side @param {number} unit @param {Columns} columns */
function headTip(views, side, unit, columns) {
  const { queries, chosen } = views.shown;
  const isAcross = queries.length > 0 && (views.shown.side || "query") !== side;
  if (!chosen.length || !columns.query.units.length || !columns.key.units.length)
    return { content: [tokenOf(columns[side].units[unit])], text: columns[side].units[unit].name };
  return (isAcross ? together : alone)(views, side, unit, columns);
}
