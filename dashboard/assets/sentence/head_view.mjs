// The head view (BertViz): queries left, keys right, a line for every weight that is large enough; weights on hover.
import { createHeadSheet, headPicture } from "./head_drawing.mjs";
import { createSwatches } from "./swatches.mjs";
import { createTokens, selectToken } from "./tokens.mjs";
import { exactWeight, meanOf, weightSums } from "./weights.mjs";
import { make } from "../web/elements.mjs";

export function createHeadView(views, stage, signal) {
  const swatches = createSwatches(views, signal);
  const columns = { query: createTokens("query", "Queries"), key: createTokens("key", "Keys") };
  const other = { query: "key", key: "query" };
  const canvas = make("canvas", { "aria-hidden": "true" });
  const names = ["query", "key"].map((side) =>
    make("p", { className: `name ${side}`, textContent: side === "query" ? "Queries" : "Keys" }),
  );
  const box = make("div", { className: "head-view" }, canvas, ...names, columns.query.list, columns.key.list);
  const sheet = createHeadSheet(views, box, columns, canvas);
  let hovered = null;
  let waiting = 0;

  views.lead.append(swatches.row);
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
    for (const side of ["query", "key"]) columns[side].mark((shown.side || "query") === side ? shown.queries : []);
    if (hovered && hovered.units[0] >= columns[hovered.side].units.length) hovered = null;
    paint();
    if (hovered) say();
  }

  function paint() {
    cancelAnimationFrame(waiting);
    waiting = 0;
    const drawn = sheet.paint(only());
    views.host.dataset.lines = drawn.total;
    views.say(remark(drawn));
  }

  function remark({ total, count }) {
    const { chosen, least, units, keys } = views.shown;
    if (!units.length || !keys.length) return "No token is left to draw. Show hidden or special tokens again.";
    if (!chosen.length) return "No head is chosen. Click a head's colour above to see its lines.";
    if (!total)
      return `No weight is ${least} or more here. Lower the least weight that is drawn, or choose more heads.`;
    if (count >= total) return "";
    const [drawn, every] = [count, total].map((number) => number.toLocaleString("en"));
    return `The strongest ${drawn} of ${every} lines are drawn. Raise the least weight to see fewer.`;
  }

  const later = () => (waiting ||= requestAnimationFrame(paint));

  // -- hover and focus --------------------------------------------------------------------------

  function hover(side, unit) {
    if (unit < 0 || (hovered?.side === side && hovered.units[0] === unit)) return;
    hovered = { side, units: [unit] };
    paint();
    say();
  }

  function leave() {
    if (!hovered) return;
    hovered = null;
    views.leave();
    later();
  }

  function say() {
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
    views.choose({ side, queries: units }, { selected: { side, units } });
  }

  function hide(column, unit) {
    if (unit < 0) return;
    leave();
    views.send({ hidden: { positions: column.units[unit].positions } });
  }

  function escape() {
    leave();
    const { side, queries } = views.shown;
    if (queries.length) views.choose({ queries: [] }, { selected: { side: side || "query", units: [] } });
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
    if (!go && !across) return select(column.side, unit, event.shiftKey || event.ctrlKey || event.metaKey);
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
  stage.addEventListener("keydown", (event) => event.key === "Escape" && escape(), { signal });
  window.addEventListener("scroll", () => sheet.moved() && later(), { signal, passive: true, capture: true });
  signal.addEventListener("abort", () => cancelAnimationFrame(waiting));
  return { draw, resize: later, picture: () => headPicture(views, only()) };
}

function largestWeight(layer, head, side, unit) {
  const values = weightSums(layer, [head], side, [unit]).map(([value]) => value);
  const at = values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
  return { at, value: values[at] };
}

function row(views, head, name, value) {
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
      chosen.map((head, i) => row(views, head, "", values[i])),
      chosen.length > 1 && mean,
    ),
    text,
  };
}

/** The token alone. */
function alone(views, side, unit, columns) {
  const { data, chosen } = views.shown;
  const strongest = chosen.map((head) => largestWeight(data, head, side, unit));
  const others = columns[side === "query" ? "key" : "query"].units;
  const says = side === "query" ? "attends most to" : "gets most from";
  const { name } = columns[side].units[unit];
  const spokenOf = (head, { at, value }) => `${spoken(views, head)}: ${others[at].name} ${exactWeight(value)}`;
  const text = `${name} ${says} ${chosen.map((head, i) => spokenOf(head, strongest[i])).join(", ")}`;
  return {
    content: titled(
      [tokenOf({ name }), ` ${says}`],
      chosen.map((head, i) => row(views, head, others[strongest[i].at].name, strongest[i].value)),
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
