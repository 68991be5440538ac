// What a reader chooses in a sentence: its tokens as buttons, of which Tab reaches one and arrow keys the others, and
// the rows where they stand; the heads of a layer as a row of coloured boxes that turn their lines on and off; and the
// weights of a token or of a pair, as a tip, and a remark on what is not drawn.
import { exactWeight, meanOf, weightAt, weightSums } from "./weights.mjs";
import { elementIn, make } from "../web/elements.mjs";

export const NO_TOKEN = "No token is left to draw. Show hidden or special tokens again.";

/** @param {Unit} unit @param {number} i @param {Side} side @param {Unit[]} units */
function tokenButton(unit, i, side, units) {
  const classes = [
    "token",
    unit.special && "special",
    unit.segment === 1 && "second",
    beginsSegment(units, i) && "begins",
  ];
  const button = make("button", {
    type: "button",
    className: classes.filter(Boolean).join(" "),
    dir: "auto",
    textContent: unit.name,
  });
  for (const [name, value] of Object.entries({
    "data-unit": i,
    "aria-label": `${unit.name}, ${side} ${i}${unit.segment ? ", sentence B" : ""}`,
  }))
    button.setAttribute(name, String(value));
  return button;
}

/** @param {Side} side @param {string} name */
export function createTokens(side, name) {
  const list = make("div", { className: `tokens ${side}`, role: "group", "aria-label": name, "data-side": side });
  let shownText = "";
  /** @type {Unit[]} */
  let units = [];

  /**
   * Keeps the elements and the focus, and returns -1, where the tokens are the same. Else returns the index of the
   * token that had the focus, for `focus` once all is drawn; -1 for none.
   * @param {Unit[]} tokens
   */
  function renew(tokens) {
    const text = JSON.stringify(tokens);
    if (text === shownText) return -1;
    const focused = [...list.children].findIndex((button) => button === document.activeElement);
    [shownText, units] = [text, tokens];
    list.replaceChildren(...units.map((unit, i) => tokenButton(unit, i, side, units)));
    stand(0);
    return focused;
  }

  /** @param {number[]} selected */
  function mark(selected) {
    [...list.children].forEach((button, i) => button.setAttribute("aria-pressed", String(selected.includes(i))));
  }

  /** Makes this token the one that Tab reaches. @param {number} i */
  function stand(i) {
    list.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    /** @type {HTMLElement[]} */ ([...list.children]).forEach((button, at) => (button.tabIndex = at === i ? 0 : -1));
  }

  /** Focuses the token at a place, or the last one. @param {number} i */
  function focus(i) {
    const at = Math.max(0, Math.min(units.length - 1, i));
    stand(at);
    /** @type {HTMLElement} */ (list.children[at])?.focus();
  }

  /** @param {Event} event */
  const unitOf = (event) => Number(event.target?.closest?.(".token")?.dataset.unit ?? -1);

  return {
    list,
    side,
    renew,
    mark,
    stand,
    focus,
    unitOf,
    get units() {
      return units;
    },
  };
}

/**
 * The selection after a click on a token: that token alone, or with `more` added or removed; [] for none.
 * @param {number[]} selected @param {number} unit @param {boolean} more
 */
export function selectToken(selected, unit, more) {
  if (more)
    return selected.includes(unit)
      ? selected.filter((other) => other !== unit)
      : [...selected, unit].sort((a, b) => a - b);
  return selected.length === 1 && selected[0] === unit ? [] : [unit];
}

/**
 * The selected query and key of what is shown, {query, key}, by index; null without both.
 * @param {Pick<SentencePicture, "side" | "queries" | "toward">} sentence
 */
export function pairOf({ side, queries, toward }) {
  if ((side || "query") !== "query" || queries.length !== 1 || toward === null) return null;
  return Number.isInteger(toward) ? { query: queries[0], key: toward } : null;
}

/**
 * Positions of all wordpieces of the selected tokens.
 * @param {Pick<SentencePicture, "side" | "queries" | "units" | "keys">} sentence
 */
export const selectedPositions = ({ side, queries, units, keys }) =>
  queries.flatMap((i) => (side === "key" ? keys : units)[i].positions);

export const ROW_HEIGHT = 24;
export const ROW_GAP = 16;

/** @param {Unit[]} units @param {number} i */
export const beginsSegment = (units, i) => i > 0 && units[i].segment !== units[i - 1].segment;

/** Upper edges of all units and the lower edge of the last: (unit + 1,) pixels. @param {Unit[]} units */
export function rowTops(units) {
  let y = 0;
  const edges = units.map((_, i) => (y += (i ? ROW_HEIGHT : 0) + (beginsSegment(units, i) ? ROW_GAP : 0)));
  return [...edges, units.length ? y + ROW_HEIGHT : 0];
}

/** @param {number[]} chosen @param {number} head */
const without = (chosen, head) => chosen.filter((other) => other !== head);
/** @param {number[]} chosen @param {number} head */
const isLast = (chosen, head) => chosen.length === 1 && chosen[0] === head;
/** Turns a head on or off, not the last: no heads in a link are all. @param {number[]} chosen @param {number} head */
export const toggledHeads = (chosen, head) => {
  if (isLast(chosen, head)) return chosen;
  return chosen.includes(head) ? without(chosen, head) : [...chosen, head].sort((a, b) => a - b);
};
/** @param {number[]} chosen @param {number} head @param {number} heads */
export const headAlone = (chosen, head, heads) =>
  isLast(chosen, head) ? Array.from({ length: heads }, (_, i) => i) : [head];

/** @param {string} name */
const spokenName = (name) => name.replace(/^H(?=\d)/, "Head ");

const CLICK = "Click: on or off, one stays on. Double click: this head alone, and again: all.";

/** The heads as a row of coloured boxes. @param {Views} views @param {AbortSignal} signal */
export function createSwatches(views, signal) {
  const row = make("div", {
    className: "swatches",
    role: "group",
    "aria-label": "Heads. Shift and Enter shows one head alone.",
  });
  /** @type {number[]} */
  let before = [];

  /** @param {Event} event */
  const headOf = (event) => Number(event.target?.closest?.("button")?.dataset.head ?? -1);
  /** @param {number[]} heads */
  function send(heads) {
    if (heads === views.shown.chosen) return views.announce("The last head stays on.");
    views.choose({ chosen: heads }, { headed: { heads } });
  }

  /**
   * The first click of a double click has already changed the choice, so the choice before it counts.
   * @param {MouseEvent} event
   */
  function click(event) {
    const head = headOf(event);
    if (head < 0 || event.detail > 1) return;
    before = views.shown.chosen;
    send(toggledHeads(before, head));
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    if (event.key !== "Enter" || headOf(event) < 0) return;
    event.preventDefault();
    const { chosen } = views.shown;
    send(event.shiftKey ? headAlone(chosen, headOf(event), count()) : toggledHeads(chosen, headOf(event)));
  }

  const count = () => views.shown.data.heads;

  /** @param {number} head */
  function swatch(head) {
    const button = make("button", {
      type: "button",
      className: "head",
      role: "checkbox",
      "data-head": head,
    });
    button.append(make("span", { className: "colour" }), make("span", { className: "head-name" }));
    return button;
  }

  /** @param {ShownSentence} shown */
  function draw(shown) {
    if (row.children.length !== count())
      row.replaceChildren(...Array.from({ length: count() }, (_, head) => swatch(head)));
    /** @type {HTMLElement[]} */ ([...row.children]).forEach((swatchOfHead, head) => {
      swatchOfHead.setAttribute("aria-checked", String(shown.chosen.includes(head)));
      swatchOfHead.style.setProperty("--colour", views.colour(head));
      elementIn(swatchOfHead, ".head-name").textContent = views.nameOf(head);
      const does = views.roleOf(shown.layer, head);
      swatchOfHead.title = does ? `${does}\n${CLICK}` : CLICK;
      swatchOfHead.setAttribute("aria-label", spokenName(views.nameOf(head)) + (does && `: ${does}`));
    });
  }

  row.addEventListener("click", click, { signal });
  row.addEventListener("dblclick", (event) => headOf(event) >= 0 && send(headAlone(before, headOf(event), count())), {
    signal,
  });
  row.addEventListener("keydown", press, { signal });
  return { row, draw };
}

/** @param {number} number */
const grouped = (number) => number.toLocaleString("en");
/** @param {number} least */
const noWeight = (least) => `No weight is ${least} or more here. Lower the minimum weight, or choose more heads.`;
/** @param {number} count @param {number} total */
const strongestLines = (count, total) =>
  `The strongest ${grouped(count)} of ${grouped(total)} lines are drawn. Raise the minimum weight to see fewer.`;

/** Why no lines are drawn, or not all. @param {Lines} lines @param {ShownSentence} shown */
export function remarkOn({ total, count }, { chosen, least, units, keys }) {
  if (!units.length || !keys.length) return NO_TOKEN;
  if (!chosen.length) return "No head is chosen. Click a head's colour above to see its lines.";
  if (!total) return noWeight(least);
  return count < total ? strongestLines(count, total) : "";
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
    make("td", { textContent: views.fullNameOf(head) }),
    make("td", { className: "to", dir: "auto", textContent: name }),
    make("td", { className: "number", textContent: exactWeight(value, views.shown.data.most) }),
  );
}

/** @param {Pick<Unit, "name">} unit */
const tokenOf = (unit) => make("bdi", { textContent: unit.name });

/** @param {(Node | string)[]} title @param {Node[]} rows @param {string} [last] */
function tipContent(title, rows, last) {
  const content = [make("p", { className: "what" }, ...title), make("table", {}, ...rows)];
  return last ? [...content, make("p", { className: "sum", textContent: last })] : content;
}

/**
 * The tip of a token, with a selection in the other column.
 * @param {Views} views @param {Side} side @param {number} unit @param {Columns} columns
 */
function tipWithSelection(views, side, unit, columns) {
  const { data, chosen, queries } = views.shown;
  const across = side === "query" ? "key" : "query";
  const values = weightSums(data, chosen, across, queries)[unit];
  const selected =
    queries.length === 1
      ? tokenOf(columns[across].units[queries[0]])
      : `${queries.length} ${side === "key" ? "queries" : "keys"}`;
  const token = tokenOf(columns[side].units[unit]);
  const names = side === "key" ? [selected, " → ", token] : [token, " → ", selected];
  const mean = chosen.length > 1 ? `mean ${exactWeight(meanOf(values), data.most)}` : "";
  const weights = chosen.map((head, i) => `${views.spokenNameOf(head)} ${exactWeight(values[i], data.most)}`);
  const spoken = names.map((part) => (typeof part === "string" ? part : part.textContent)).join("");
  const text = `${spoken}: ${[...weights, ...(mean ? [mean] : [])].join(", ")}`;
  return {
    content: tipContent(
      names,
      chosen.map((head, i) => weightRow(views, head, "", values[i])),
      mean,
    ),
    text,
  };
}

/**
 * The tip of a query and a key: the weight in each chosen head.
 * @param {Views} views @param {{ query: number, key: number }} given @param {Columns} columns
 */
export function pairTip(views, { query, key }, columns) {
  const { data, chosen } = views.shown;
  const names = [tokenOf(columns.query.units[query]), " → ", tokenOf(columns.key.units[key])];
  const rows = chosen.map((head) => weightRow(views, head, "", weightAt(data, head, query, key)));
  return { content: tipContent(names, rows) };
}

/** A tip of one token. @param {Views} views @param {Side} side @param {number} unit @param {Columns} columns */
function tipOfToken(views, side, unit, columns) {
  const { data, chosen } = views.shown;
  const strongest = chosen.map((head) => largestWeight(data, head, side, unit));
  const others = columns[side === "query" ? "key" : "query"].units;
  const direction = side === "query" ? "attends most to" : "gets most from";
  const { name } = columns[side].units[unit];
  /** @param {number} head @param {{ at: number, value: number }} given */
  const spokenOf = (head, { at, value }) =>
    `${views.spokenNameOf(head)}: ${others[at].name} ${exactWeight(value, data.most)}`;
  const text = `${name} ${direction} ${chosen.map((head, i) => spokenOf(head, strongest[i])).join(", ")}`;
  return {
    content: tipContent(
      [tokenOf({ name }), ` ${direction}`],
      chosen.map((head, i) => weightRow(views, head, others[strongest[i].at].name, strongest[i].value)),
    ),
    text,
  };
}

/** @param {Views} views @param {Side} side @param {number} unit @param {Columns} columns */
export function headTip(views, side, unit, columns) {
  const { queries, chosen } = views.shown;
  const isAcross = queries.length > 0 && (views.shown.side || "query") !== side;
  if (!chosen.length || !columns.query.units.length || !columns.key.units.length)
    return { content: [tokenOf(columns[side].units[unit])], text: columns[side].units[unit].name };
  return (isAcross ? tipWithSelection : tipOfToken)(views, side, unit, columns);
}
