// The head view (BertViz): queries left, keys right, a line for every weight that is large enough, weights on hover;
// above them the heads as coloured boxes that turn their lines on and off.
import { createHeadSheet, createMarks, headPicture } from "./head_drawing.mjs";
import { createTokens, pairOf, selectToken } from "./tokens.mjs";
import { MOST_LINES, exactWeight, meanOf, weightAt, weightSums } from "./weights.mjs";
import { make } from "../web/elements.mjs";

export function createHeadView(views, stage, signal) {
  const swatches = createSwatches(views, signal);
  const columns = { query: createTokens("query", "Queries"), key: createTokens("key", "Keys") };
  const other = { query: "key", key: "query" };
  const canvas = make("canvas", { "aria-hidden": "true" });
  const names = ["query", "key"].map((side) =>
    make("p", { className: `name ${side}`, textContent: side === "query" ? "Queries" : "Keys" }),
  );
  const marks = createMarks();
  const box = make("div", { className: "head-view" }, marks, canvas, ...names, columns.query.list, columns.key.list);
  const sheet = createHeadSheet(views, box, columns, { canvas, marks });
  let hovered = null;
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

  function draw(shown) {
    swatches.draw(shown);
    columns.query.renew(shown.units);
    columns.key.renew(shown.keys);
    const pair = pairOf(shown);
    for (const side of ["query", "key"])
      columns[side].mark(pair ? [pair[side]] : (shown.side || "query") === side ? shown.queries : []);
    if (pointed) views.leave();
    pointed = null;
    box.classList.remove("on-line");
    if (hovered && hovered.units[0] >= columns[hovered.side].units.length) hovered = null;
    paint();
    if (hovered) describeHovered();
  }

  function paint() {
    cancelAnimationFrame(waiting);
    waiting = 0;
    const lines = sheet.paint(only());
    sheet.mark([pairOf(views.shown), pointed]);
    views.host.dataset.lines = lines.total;
    views.remark(remarkOn(lines, views.shown), longestRemark(views.shown));
  }

  const schedule = () => (waiting ||= requestAnimationFrame(paint));

  // -- hover and focus --------------------------------------------------------------------------

  function hover(side, unit) {
    if (unit < 0 || (hovered?.side === side && hovered.units[0] === unit)) return;
    hovered = { side, units: [unit] };
    paint();
    describeHovered();
  }

  function leave() {
    if (!hovered) return;
    hovered = null;
    views.leave();
    schedule();
  }

  /** Marks the line under the pointer, and says its weights. */
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

  function click(event) {
    const pair = columns.query.unitOf(event) < 0 && pairUnder(event);
    if (pair) views.choosePair(pair.query, pair.key);
  }

  function pairUnder(event) {
    const rectangle = box.getBoundingClientRect();
    return sheet.pairAt([event.clientX - rectangle.left, event.clientY - rectangle.top]);
  }

  function describeHovered() {
    const [unit] = hovered.units;
    const { content, text } = headTip(views, hovered.side, unit, columns);
    const element = columns[hovered.side].list.children[unit];
    views.pointer.place(content, element.getBoundingClientRect(), hovered.side === "query" ? "left" : "right");
    views.announce(text);
  }

  // -- what a reader does -----------------------------------------------------------------------

  function select(side, unit, more) {
    const { queries, side: before } = views.shown;
    const units = selectToken((before || "query") === side ? queries : [], unit, more);
    views.choose({ side, queries: units, toward: null }, { selected: { side, units } });
  }

  function hide(column, unit) {
    if (unit < 0) return;
    leave();
    views.send({ hidden: { positions: column.units[unit].positions } });
  }

  function escape() {
    leave();
    views.clearSelection();
  }

  /** Enter on a key with one query selected selects the pair. */
  function enter(column, unit, more) {
    const { side, queries } = views.shown;
    if (!more && column.side === "key" && (side || "query") === "query" && queries.length === 1)
      return views.choosePair(queries[0], unit);
    return select(column.side, unit, more);
  }

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
    const [to, at] = go || across;
    to.focus(at);
  }

  function listen(column) {
    const on = (name, act) => column.list.addEventListener(name, act, { signal });
    on("pointerover", (event) => hover(column.side, column.unitOf(event)));
    on("pointerleave", leave);
    on("focusin", (event) => {
      column.stand(column.unitOf(event));
      if (event.target.matches(":focus-visible")) hover(column.side, column.unitOf(event));
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

const whole = (number) => number.toLocaleString("en");
const noWeight = (least) => `No weight is ${least} or more here. Lower the minimum weight, or choose more heads.`;
const strongestLines = (count, total) =>
  `The strongest ${whole(count)} of ${whole(total)} lines are drawn. Raise the minimum weight to see fewer.`;

/** Why there are no lines, or not all of them. */
function remarkOn({ total, count }, { chosen, least, units, keys }) {
  if (!units.length || !keys.length) return "No token is left to draw. Show hidden or special tokens again.";
  if (!chosen.length) return "No head is chosen. Click a head's colour above to see its lines.";
  if (!total) return noWeight(least);
  return count < total ? strongestLines(count, total) : "";
}

/** The longest remark that a hover or a click brings: that on all lines where they are many. */
function longestRemark({ least, units, keys, data }) {
  const most = data.heads * units.length * keys.length;
  return most > MOST_LINES ? strongestLines(MOST_LINES, most) : noWeight(least);
}

function largestWeight(layer, head, side, unit) {
  const values = weightSums(layer, [head], side, [unit]).map(([value]) => value);
  const at = values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
  return { at, value: values[at] };
}

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

const spoken = (views, head) => views.nameOf(head).replace(/^H(?=\d)/, "head ");
const tokenOf = (unit) => make("bdi", { textContent: unit.name });

function titled(title, rows, last) {
  const content = [make("p", { className: "what" }, ...title), make("table", {}, ...rows)];
  return last ? [...content, make("p", { className: "sum", textContent: last })] : content;
}

/** The token and what is selected in the other column. */
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
  const weights = chosen.map((head, i) => `${spoken(views, head)} ${exactWeight(values[i])}`);
  const text = `${names.map((part) => part.textContent ?? part).join("")}: ${weights.join(", ")}, ${mean}`;
  return {
    content: titled(
      names,
      chosen.map((head, i) => weightRow(views, head, "", values[i])),
      chosen.length > 1 && mean,
    ),
    text,
  };
}

/** A query and a key, the weight of each chosen head. */
function pairTip(views, { query, key }, columns) {
  const { data, chosen } = views.shown;
  const names = [tokenOf(columns.query.units[query]), " → ", tokenOf(columns.key.units[key])];
  const rows = chosen.map((head) => weightRow(views, head, "", weightAt(data, head, query, key)));
  return { content: titled(names, rows) };
}

/** The token alone. */
function alone(views, side, unit, columns) {
  const { data, chosen } = views.shown;
  const strongest = chosen.map((head) => largestWeight(data, head, side, unit));
  const others = columns[side === "query" ? "key" : "query"].units;
  const direction = side === "query" ? "attends most to" : "gets most from";
  const { name } = columns[side].units[unit];
  const spokenOf = (head, { at, value }) => `${spoken(views, head)}: ${others[at].name} ${exactWeight(value)}`;
  const text = `${name} ${direction} ${chosen.map((head, i) => spokenOf(head, strongest[i])).join(", ")}`;
  return {
    content: titled(
      [tokenOf({ name }), ` ${direction}`],
      chosen.map((head, i) => weightRow(views, head, others[strongest[i].at].name, strongest[i].value)),
    ),
    text,
  };
}

function headTip(views, side, unit, columns) {
  const { queries, chosen } = views.shown;
  const isAcross = queries.length > 0 && (views.shown.side || "query") !== side;
  if (!chosen.length || !columns.query.units.length || !columns.key.units.length)
    return { content: [tokenOf(columns[side].units[unit])], text: columns[side].units[unit].name };
  return (isAcross ? together : alone)(views, side, unit, columns);
}

const without = (chosen, head) => chosen.filter((other) => other !== head);
const isLast = (chosen, head) => chosen.length === 1 && chosen[0] === head;
/** The last head stays on: a link without heads means all of them. */
export const toggledHeads = (chosen, head) => {
  if (isLast(chosen, head)) return chosen;
  return chosen.includes(head) ? without(chosen, head) : [...chosen, head].sort((a, b) => a - b);
};
export const headAlone = (chosen, head, heads) =>
  isLast(chosen, head) ? Array.from({ length: heads }, (_, i) => i) : [head];

const spokenName = (name) => name.replace(/^H(?=\d)/, "Head ");

/** The heads as a row of coloured boxes. */
function createSwatches(views, signal) {
  const row = make("div", {
    className: "swatches",
    role: "group",
    "aria-label": "Heads. Shift and Enter shows one head alone.",
  });
  let before = [];

  const headOf = (event) => Number(event.target.closest("button")?.dataset.head ?? -1);
  function send(heads) {
    if (heads === views.shown.chosen) return views.announce("The last head stays on.");
    views.choose({ chosen: heads }, { headed: { heads } });
  }

  /** The first click of a double click has already changed the choice, so the choice before it counts. */
  function click(event) {
    const head = headOf(event);
    if (head < 0 || event.detail > 1) return;
    before = views.shown.chosen;
    send(toggledHeads(before, head));
  }

  function press(event) {
    if (event.key !== "Enter" || headOf(event) < 0) return;
    event.preventDefault();
    const { chosen } = views.shown;
    send(event.shiftKey ? headAlone(chosen, headOf(event), count()) : toggledHeads(chosen, headOf(event)));
  }

  const count = () => views.shown.data.heads;

  function swatch(head) {
    const button = make("button", {
      type: "button",
      className: "head",
      role: "checkbox",
      "data-head": head,
      title: "Click: on or off, one stays on. Double click: this head alone, and again: all.",
    });
    button.append(make("span", { className: "colour" }), make("span", { className: "head-name" }));
    return button;
  }

  function draw(shown) {
    if (row.children.length !== count())
      row.replaceChildren(...Array.from({ length: count() }, (_, head) => swatch(head)));
    [...row.children].forEach((swatchOfHead, head) => {
      swatchOfHead.setAttribute("aria-checked", String(shown.chosen.includes(head)));
      swatchOfHead.style.setProperty("--colour", views.colour(head));
      swatchOfHead.querySelector(".head-name").textContent = views.nameOf(head);
      swatchOfHead.setAttribute("aria-label", spokenName(views.nameOf(head)));
    });
  }

  row.addEventListener("click", click, { signal });
  row.addEventListener("dblclick", (event) => headOf(event) >= 0 && send(headAlone(before, headOf(event), count())), {
    signal,
  });
  row.addEventListener("keydown", press, { signal });
  return { row, draw };
}
