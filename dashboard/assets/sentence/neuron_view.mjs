// The neuron view (BertViz): how the weights of one query are computed, channel by channel; a row for each key.
import { createTokens } from "./choice.mjs";
import { measureText, titleShape, titledWidth } from "./picture.mjs";
import { divergingRamp, exactWeight } from "./weights.mjs";
import { contextOf, hexOf } from "../web/drawing.mjs";
import { elementIn, make } from "../web/elements.mjs";
import { arrowOf, hasModifier, stepInGrid } from "../web/keyboard.mjs";

/** @type {("key" | "product")[]} */
const KINDS = ["key", "product"];
/** A key of the blank table, before a query is chosen. */
const BLANK = { key: [0], product: [0], dot: 0, logit: 0, weight: 0 };
const NO_QUERY = "No query is chosen. Click a token below to see how its weights come about.";

/** @param {number[][]} rows */
const largest = (rows) => Math.max(1e-12, ...rows.map((values) => Math.max(...values.map(Math.abs))));
/** A number as text; a key that the query does not see has none. @param {number | null} value */
const number = (value) => (value === null ? "not seen" : written(value));
/** @param {number} value */
const written = (value) =>
  (value === 0 || Math.abs(value) >= 0.001 ? value.toFixed(3) : value.toExponential(1)).replace("-", "−");

/**
 * A canvas with a pixel for each channel; CSS stretches it.
 * @param {number[]} values @param {number} most @param {Colour[]} colours @param {string} kind
 */
function strip(values, most, colours, kind) {
  const canvas = make("canvas", { className: "strip", "aria-hidden": "true", "data-kind": kind });
  Object.assign(canvas, { width: values.length, height: 1 });
  const image = new ImageData(values.length, 1);
  values.forEach((value, i) => image.data.set([...colours[Math.round(127.5 + (127.5 * value) / most)], 255], 4 * i));
  contextOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

/** Titles of the numbers. @param {Neuron} data */
const titlesOf = ({ query, biased }) => ["q · k", biased ? "Score" : `÷ √${query.length}`, "Weight"];

/** @param {Neuron} data */
function heads(data) {
  const names = ["Key", "k", "q × k", ...titlesOf(data)];
  return make(
    "thead",
    {},
    make(
      "tr",
      {},
      ...names.map((name, i) => make("th", { scope: "col", className: i > 2 ? "number" : "", textContent: name })),
    ),
  );
}

/** @param {Views} views @param {HTMLElement} stage @param {AbortSignal} signal */
export function createNeuronView(views, stage, signal) {
  const queries = createTokens("query", "Query");
  const tokens = make(
    "div",
    { className: "neuron-queries" },
    make("p", { className: "name query", textContent: "Query" }),
    queries.list,
  );
  const table = make("table", { className: "neurons" });
  const frame = make("div", { className: "neuron-view", tabIndex: 0, role: "group" }, table);
  /** @type {[number, number, string]} */
  let stood = [0, 0, "product"];

  stage.append(tokens, frame);

  /** @param {number} i */
  const nameOf = (i) => views.shown.data?.keys[i].name ?? views.shown.keys[i]?.name ?? `position ${i}`;

  /** @param {ShownSentence} shown */
  function draw(shown) {
    const focused = queries.renew(shown.units);
    if (focused >= 0) queries.focus(focused);
    const isQuery = (shown.side || "query") === "query" && shown.queries.length > 0;
    queries.mark(isQuery ? shown.queries.slice(0, 1) : []);
    const pressed = queries.list.querySelector('[aria-pressed="true"]');
    if (pressed) queries.list.scrollTop = pressed.offsetTop - queries.list.clientHeight / 2;
    views.remark(shown.data ? "" : NO_QUERY, NO_QUERY);
    frame.classList.toggle("blank", !shown.data);
    paint(shown.data ?? { query: [0], keys: shown.keys.map(() => BLANK) });
  }

  /** The colours, and the value of the strongest colour. @param {Neuron} data */
  function scales(data) {
    const most = {
      query: largest([data.query]),
      key: largest(data.keys.map(({ key }) => key)),
      product: largest(data.keys.map(({ product }) => product)),
    };
    return { most, colours: divergingRamp(views.palette) };
  }

  /** Draws the ends of the colours; without a query in words alone. @param {Record<string, number>} most */
  function drawLegend({ query, key, product }) {
    const [q, k, both] = [query, key, product].map((value) => (views.shown.data ? ` ${number(value)}` : ""));
    const ticks = [
      { at: 0, text: "−largest" },
      { at: 0.5, text: "0" },
      { at: 1, text: "largest" },
    ];
    views.drawLegend({ name: `largest q${q}, k${k}, q × k${both}`, ticks });
  }

  /** Paints the rows; blank ones without a query, so that choosing one moves nothing. @param {Neuron} data */
  function paint(data) {
    const { most, colours } = scales(data);
    drawLegend(most);
    frame.setAttribute("aria-label", `${views.shown.title}. Arrow keys say the numbers of a channel.`);
    const query = make(
      "tr",
      { className: "of-query" },
      make("th", { scope: "row", textContent: "q" }),
      make("td", {}, strip(data.query, most.query, colours, "query")),
      ...Array.from({ length: 4 }, () => make("td")),
    );
    const rows = data.keys.map((entry, i) => rowOf(entry, i, most, colours));
    table.replaceChildren(heads(data), make("tbody", {}, query, ...rows));
  }

  /** @param {NeuronKey} entry @param {number} i @param {Record<string, number>} most @param {Colour[]} colours */
  function rowOf(entry, i, most, colours) {
    const name = make("th", { scope: "row" }, make("bdi", { textContent: nameOf(i) }));
    const strips = KINDS.map((kind) => make("td", {}, strip(entry[kind], most[kind], colours, kind)));
    const numbers = [entry.dot, entry.logit].map((value) =>
      make("td", { className: "number", textContent: number(value) }),
    );
    const weight = make(
      "td",
      { className: "number weight" },
      make("span", { className: "bar" }),
      make("span", { textContent: exactWeight(entry.weight) }),
    );
    weight.style.setProperty("--share", String(entry.weight));
    return make("tr", { "data-key": i }, name, ...strips, ...numbers, weight);
  }

  // -- numbers of a channel ---------------------------------------------------------------------

  /** @param {number} i @param {number} channel @param {string} kind */
  function words(i, channel, kind) {
    const { query, keys } = views.shown.data;
    if (kind === "query") return [`q ${number(query[channel])}`];
    if (kind === "key") return [`k ${number(keys[i].key[channel])}`];
    return [
      `q ${number(query[channel])}`,
      `k ${number(keys[i].key[channel])}`,
      `q × k ${number(keys[i].product[channel])}`,
    ];
  }

  /** @param {HTMLElement} canvas @param {number} i @param {number} channel @param {string} kind */
  function point(canvas, i, channel, kind) {
    const box = canvas.getBoundingClientRect();
    const wide = box.width / views.shown.data.query.length;
    const at = new DOMRect(box.left + channel * wide, box.top, wide, box.height);
    const lines = words(i, channel, kind);
    views.pointer.place(
      [
        make("p", { className: "what", textContent: `channel ${channel}` }),
        ...lines.map((line) => make("p", { className: "sum", textContent: line })),
      ],
      at,
    );
    views.announce(`${kind === "query" ? "query" : nameOf(i)}, channel ${channel}: ${lines.join(", ")}`);
  }

  /** @param {PointerEvent} event */
  function move(event) {
    const canvas = event.target?.closest?.(".strip");
    if (!canvas) return views.leave();
    const channels = views.shown.data.query.length;
    const channel = Math.max(0, Math.min(channels - 1, Math.floor((event.offsetX / canvas.clientWidth) * channels)));
    point(canvas, Number(canvas.closest("tr")?.dataset.key ?? 0), channel, canvas.dataset.kind ?? "");
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    const step = arrowOf(event);
    if (event.key === "Escape") return views.leave();
    if (!step || !views.shown.data) return;
    event.preventDefault();
    const { keys, query } = views.shown.data;
    const [row, channel, kind] = stood;
    stood = [...stepInGrid([row, channel], step, [keys.length, query.length]), kind];
    const canvas = elementIn(table, `tr[data-key="${stood[0]}"] .strip[data-kind="product"]`);
    canvas.scrollIntoView({ block: "nearest" });
    point(canvas, ...stood);
  }

  // -- the query --------------------------------------------------------------------------------

  /** @param {number} unit */
  function select(unit) {
    if (unit >= 0) views.choose({}, { selected: { side: "query", units: [unit] } });
  }

  /** @param {KeyboardEvent} event */
  function pressToken(event) {
    const unit = queries.unitOf(event);
    const to = /** @type {Record<string, number>} */ ({
      ArrowLeft: unit - 1,
      ArrowUp: unit - 1,
      ArrowRight: unit + 1,
      ArrowDown: unit + 1,
      Home: 0,
      End: queries.units.length - 1,
    })[event.key];
    if (to === undefined || unit < 0 || hasModifier(event)) return;
    event.preventDefault();
    queries.focus(to);
  }

  frame.addEventListener("pointermove", move, { signal });
  frame.addEventListener("pointerleave", () => views.leave(), { signal });
  frame.addEventListener("keydown", press, { signal });
  frame.addEventListener("blur", () => views.leave(), { signal });
  queries.list.addEventListener("click", (event) => select(queries.unitOf(event)), { signal });
  queries.list.addEventListener("keydown", pressToken, { signal });
  const picture = () =>
    neuronPicture(
      views.shown,
      /** @type {Neuron} */ (views.shown.data).keys.map((_, i) => nameOf(i)),
      scales(views.shown.data),
      views.palette,
    );
  return { draw, resize: () => {}, picture };
}

const ROW = 20;
const TOP = 64;
const WIDE = 260;
const GAP = 16;
const NUMBERS = [70, 70, 70];
const SIZE = 12;

/** x of each column: names and numbers end there, channels begin there. @param {string[]} names */
function columnsOf(names) {
  const name = 20 + Math.max(40, ...names.map((entry) => measureText(entry, SIZE)));
  const key = name + GAP;
  const product = key + WIDE + GAP;
  const ends = NUMBERS.map((_, i) => product + WIDE + NUMBERS.slice(0, i + 1).reduce((sum, width) => sum + width, 0));
  return { name, key, product, ends, width: ends[ends.length - 1] + 20 };
}

/**
 * @param {number[]} values @param {number} most @param {string[]} colours @param {number} left @param {number} top
 * @returns {Shape[]}
 */
function stripShapes(values, most, colours, left, top) {
  const wide = WIDE / values.length;
  return values.map((value, i) => ({
    box: [left + i * wide, top + 2, wide, ROW - 4],
    colour: colours[Math.round(127.5 + (127.5 * value) / most)],
  }));
}

/** @param {any} place @param {Neuron} data @param {string} colour @returns {Shape[]} */
function headShapes(place, data, colour) {
  /** @param {string} words @param {number} x @param {string} [align] */
  const text = (words, x, align) => ({ text: words, at: [x, TOP - 12], colour, size: SIZE, weight: 600, align });
  const numbers = titlesOf(data).map((words, i) => text(words, place.ends[i], "end"));
  return [text("Key", place.name, "end"), text("k", place.key), text("q × k", place.product), ...numbers];
}

/**
 * The picture of a file; `most`: largest number of each kind.
 * @param {{ data: Neuron, title: string }} given @param {string[]} names
 * @param {{ most: Record<string, number>, colours: Colour[] }} how @param {Palette} palette
 */
function neuronPicture({ data, title }, names, { most, colours }, palette) {
  const place = columnsOf(names);
  const hexes = colours.map(hexOf);
  /** @param {number} i */
  const row = (i) => TOP + i * ROW;
  /** @param {string} words @param {number} x @param {number} i @param {string} [align] */
  const text = (words, x, i, align) => ({
    text: words,
    at: [x, row(i) + ROW / 2],
    colour: palette.ink,
    size: SIZE,
    align,
  });
  /** @param {NeuronKey} entry @param {number} i */
  const ofKey = (entry, i) => [
    text(names[i], place.name, i + 1, "end"),
    ...stripShapes(entry.key, most.key, hexes, place.key, row(i + 1)),
    ...stripShapes(entry.product, most.product, hexes, place.product, row(i + 1)),
    ...[number(entry.dot), number(entry.logit), exactWeight(entry.weight)].map((words, k) =>
      text(words, place.ends[k], i + 1, "end"),
    ),
  ];
  const query = [text("q", place.name, 0, "end"), ...stripShapes(data.query, most.query, hexes, place.key, row(0))];
  const shapes = [
    titleShape(title, palette.ink),
    ...headShapes(place, data, palette.ink),
    ...query,
    ...data.keys.flatMap(ofKey),
  ];
  return {
    width: Math.max(place.width, titledWidth(title)),
    height: row(data.keys.length + 1) + 20,
    ground: palette.background,
    title,
    shapes,
  };
}
