// A sentence in a notebook: the views of page Sentence below controls of their own. What a reader chooses is the state
// of the widget, which Python reads; all weights are in the widget, the channels of a query come from Python.
//
// The weights are those of all heads, in few levels, deflated. They become what the views draw: a layer, or a thumbnail
// of every head.
import { Views } from "../sentence/views.mjs";
import { make } from "../web/elements.mjs";

/**
 * Weights that `dashboard/notebook/weights.py` packed.
 * @param {DataView} packed @param {PackedShape} shape
 * @returns {Promise<StoredWeights>}
 */
export async function unpackWeights(packed, { layers, first = 0, heads, tokens, levels }) {
  const bytes = new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
  const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = layers * heads * tokens * tokens;
  if (planes.length !== count * (levels > 255 ? 2 : 1))
    throw new Error("The weights in this notebook are damaged. Run the cell again.");
  const codes = new Uint16Array(count);
  for (let i = 0; i < count; i++)
    codes[i] = Math.round((65535 * (levels > 255 ? 256 * planes[i] + planes[count + i] : planes[i])) / levels);
  return { layers, first, heads, tokens, codes };
}

/** @param {Unit[]} units @param {number} first */
const placesOf = (units, first) => units.map(({ positions: [position] }) => position - first);

/**
 * The weights [head, query, key] of a layer between these wordpieces.
 * @param {StoredWeights} stored @param {number} layer @param {Unit[]} units @param {Unit[]} keys
 * @returns {Layer}
 */
export function layerOf({ first, heads, tokens, codes }, layer, units, keys) {
  const [rows, columns] = [placesOf(units, first), placesOf(keys, first)];
  const chosen = new Uint16Array(heads * rows.length * columns.length);
  let to = 0;
  for (let head = layer * heads; head < (layer + 1) * heads; head++)
    for (const row of rows)
      // Weights are stored as [key, query].
      for (const column of columns) chosen[to++] = codes[(head * tokens + column) * tokens + row];
  return { heads, queries: rows.length, keys: columns.length, most: 1, codes: chosen };
}

/** Cells of a thumbnail in each direction. */
const SIDE = 64;
/** @param {number} count */
const cellsOf = (count) => Math.min(count, SIDE);

/**
 * A thumbnail of every head: the largest weight of each cell.
 * @param {StoredWeights} stored @param {Unit[]} units @param {Unit[]} keys
 * @returns {Thumbnails}
 */
export function thumbnailsOf(stored, units, keys) {
  const [rows, columns] = [cellsOf(units.length), cellsOf(keys.length)];
  const { layers, heads } = stored;
  const cells = new Uint8Array(layers * heads * rows * columns);
  for (let layer = 0; layer < layers; layer++) {
    const { codes } = layerOf(stored, layer, units, keys);
    for (let from = 0; from < codes.length; from++) {
      const key = from % keys.length;
      const query = Math.floor(from / keys.length) % units.length;
      const head = layer * heads + Math.floor(from / keys.length / units.length);
      const cell = [head, cellAt(query, units.length, rows), cellAt(key, keys.length, columns)];
      const at = (cell[0] * rows + cell[1]) * columns + cell[2];
      cells[at] = Math.max(cells[at], Math.round(codes[from] / 257));
    }
  }
  return { layers, heads, rows, columns, most: 1, codes: cells };
}

/**
 * The cell of a token: cell `i` begins at the token `floor(i * count / cells)`, as on the server.
 * @param {number} token @param {number} count @param {number} cells
 */
const cellAt = (token, count, cells) => Math.min(cells - 1, Math.floor(((token + 1) * cells - 1) / count));

const VIEWS = { head: "Head view", model: "Model view", matrix: "Matrix", neuron: "Neuron view" };
const PAIRS = { all: "All", aa: "A → A", ab: "A → B", ba: "B → A", bb: "B → B" };
const SCALES = {
  root: "Square root",
  linear: "Linear",
  largest: "Largest of head",
  row: "Each row",
  log: "Logarithmic",
};
/** The selection once other tokens are shown: a selected token may not be among them. */
const NOTHING_SELECTED = { side: /** @type {const} */ ("query"), tokens: [], toward: null };
export const UNANSWERED = "Python has not answered yet. Where no kernel runs, run this cell again.";

/** @param {Unit[]} units @param {SentenceState} state @returns {[Unit[], Unit[]]} */
function shownUnits(units, { hidden, special, pair }) {
  const left = units.filter((unit) => (special || !unit.special) && !unit.positions.some((at) => hidden.includes(at)));
  if (pair === "all" || !units.some(({ segment }) => segment)) return [left, left];
  const [queries, keys] = [...pair].map((letter) => left.filter(({ segment }) => segment === "ab".indexOf(letter)));
  return [queries, keys];
}

/** @param {Unit[]} units @param {number[]} positions */
const indicesOf = (units, positions) =>
  units.flatMap((unit, i) => (unit.positions.some((at) => positions.includes(at)) ? [i] : []));

/**
 * The picture that the views draw, from the widget's content and the reader's choices.
 * @param {SentenceContent} content @param {SentenceState} state
 * @returns {SentencePicture}
 */
export function pictureOf({ name, weights, ...content }, state) {
  const [units, keys] = shownUnits(content.units, state);
  const { show, layer, head, heads, side, tokens, toward, least, scale, pair, special, hidden } = state;
  const queries = indicesOf(side === "key" ? keys : units, tokens);
  const shown = JSON.stringify([pair, special, hidden]);
  const [query] = side === "query" ? queries : [];
  const which = { model: "all layers", head: `layer ${layer}` }[/** @type {string} */ (show)] ?? `L${layer} H${head}`;
  return {
    show,
    layer,
    head,
    least,
    signed: false,
    scale,
    side,
    queries,
    first: { query: 0, key: 0 },
    units,
    keys,
    layers: weights.layers,
    heads: weights.heads,
    chosen: heads,
    csv: null,
    roles: null,
    is_pair: content.units.some(({ segment }) => segment),
    marks: null,
    mark_colours: { light: [], dark: [] },
    colours: content.colours,
    palette: content.palette,
    stem: content.stem,
    head_names: Array.from({ length: weights.heads }, (_, i) => `H${i}`),
    toward: toward === null ? null : (indicesOf(keys, [toward])[0] ?? null),
    layer_url: `/layer/${layer}/${shown}`,
    model_url: `/model/${shown}`,
    neuron_url: query === undefined ? null : `/neuron/${layer}/${head}/${units[query].positions[0]}`,
    title: `Attention of ${which} of ${name}`,
    source: content.source,
  };
}

/**
 * The state after an event in a view.
 * @param {SentenceState} state @param {SentencePicture} picture @param {any} event @returns {SentenceState}
 */
export function stateAfter(state, { units, keys, layers, heads }, event) {
  const { opened, headed, selected, paired, hidden, stepped } = event;
  if (opened) return { ...state, show: "head", layer: opened.layer, head: opened.head, heads: [opened.head] };
  if (headed) return { ...state, heads: headed.heads, head: headed.heads.length === 1 ? headed.heads[0] : state.head };
  if (selected) {
    const column = selected.side === "key" ? keys : units;
    const tokens = selected.units.flatMap((/** @type {number} */ i) => column[i].positions);
    return { ...state, side: tokens.length ? selected.side : "query", tokens, toward: null };
  }
  if (paired) {
    const tokens = paired.query === null ? [] : units[paired.query].positions;
    return { ...state, side: "query", tokens, toward: paired.toward };
  }
  if (hidden) {
    const positions = [...new Set([...state.hidden, ...hidden.positions])].sort((a, b) => a - b);
    return { ...state, ...NOTHING_SELECTED, hidden: positions };
  }
  if (stepped) return { ...state, layer: Math.max(0, Math.min(layers - 1, state.layer + stepped.layer)) };
  return { ...state, heads: state.heads.filter((head) => head < heads) };
}

/**
 * The state after a change by a control.
 * @param {SentenceState} state @param {Partial<SentenceState>} change @returns {SentenceState}
 */
export function stateWith(state, change) {
  const isOfShownTokens = "pair" in change || "special" in change;
  return { ...state, ...(isOfShownTokens ? NOTHING_SELECTED : {}), ...change };
}

/** @param {string} name @param {Record<string, string>} choices */
function select(name, choices) {
  const options = Object.entries(choices).map(([value, textContent]) => make("option", { value, textContent }));
  const box = make("select", {}, ...options);
  return { box, label: make("label", {}, `${name} `, box) };
}

/** @param {number} count */
const numbers = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [String(i), String(i)]));

/**
 * The controls, and a function that shows a state in them.
 * @param {SentenceContent} content @param {(change: Partial<SentenceState>) => void} choose @param {AbortSignal} signal
 */
function createControls({ weights, units }, choose, signal) {
  const isPair = units.some(({ segment }) => segment);
  const [show, scale] = [select("View", VIEWS), select("Colours", SCALES)];
  const [layer, head] = [select("Layer", numbers(weights.layers)), select("Head", numbers(weights.heads))];
  const pair = select("Sentences", PAIRS);
  const least = make("input", { type: "range", min: 0, max: 0.5, step: 0.01 });
  const special = make("input", { type: "checkbox" });
  const unhide = make("button", { type: "button", className: "plain", textContent: "Show hidden tokens" });
  const lowest = make("label", {}, "Minimum weight ", least);
  const boxes = [show, layer, head, scale, ...(isPair ? [pair] : [])].map(({ label }) => label);
  const row = make("div", { className: "notebook-controls" }, ...boxes, lowest);
  row.append(make("label", {}, special, " Special tokens"), unhide);

  /** @param {HTMLElement} element @param {string} name @param {() => Partial<SentenceState>} change */
  const on = (element, name, change) => element.addEventListener(name, () => choose(change()), { signal });
  on(show.box, "change", () => ({ show: /** @type {SentencePicture["show"]} */ (show.box.value) }));
  on(scale.box, "change", () => ({ scale: /** @type {ScaleKind} */ (scale.box.value) }));
  on(layer.box, "change", () => ({ layer: Number(layer.box.value) }));
  on(head.box, "change", () => ({ head: Number(head.box.value) }));
  on(pair.box, "change", () => ({ pair: pair.box.value }));
  on(least, "input", () => ({ least: Number(least.value) }));
  on(special, "change", () => ({ special: special.checked }));
  on(unhide, "click", () => ({ hidden: [] }));

  /** @param {SentenceState} state */
  function renew(state) {
    for (const [control, value] of /** @type {const} */ ([
      [show, state.show],
      [scale, state.scale],
      [layer, state.layer],
      [head, state.head],
      [pair, state.pair],
    ]))
      control.box.value = String(value);
    least.value = String(state.least);
    special.checked = state.special;
    const ofOne = state.show === "matrix" || state.show === "neuron";
    layer.label.hidden = state.show === "model";
    head.label.hidden = !ofOne;
    lowest.hidden = state.show !== "head";
    scale.label.hidden = state.show === "head" || state.show === "neuron";
    unhide.hidden = !state.hidden.length;
  }

  return { row, renew };
}

/**
 * @param {WidgetModel} model @param {HTMLElement} place @param {AbortSignal} signal
 */
export function mount(model, place, signal) {
  const content = /** @type {SentenceContent} */ (model.get("content"));
  const stored = unpackWeights(model.get("data").weights, content.weights);
  const host = make("div", { className: "sentence-views" });
  const waiting = make("p", { className: "caption", hidden: true, textContent: UNANSWERED });
  const controls = createControls(content, choose, signal);
  place.append(controls.row, waiting, host);
  const views = new Views(host, { load, cancel: () => {} }, { offline: true });
  /** @type {SentencePicture} */
  let picture;
  /** @type {{ url: string | null, data: any }} */
  let last = { url: null, data: null };

  /** The data of the view, once for each URL: a choice of tokens draws the same weights. */
  async function load() {
    const { show, units, keys, layer, layer_url, model_url, neuron_url } = picture;
    if (show === "neuron") return { data: answerTo(neuron_url) };
    const url = show === "model" ? model_url : layer_url;
    if (url !== last.url) {
      const weights = await stored;
      const data = show === "model" ? thumbnailsOf(weights, units, keys) : layerOf(weights, layer, units, keys);
      last = { url, data };
    }
    return { data: last.data };
  }

  /** @param {string | null} url */
  function answerTo(url) {
    const { of, neuron } = model.get("answer");
    return url && of === url ? neuron : null;
  }

  /** @param {Partial<SentenceState>} change */
  function choose(change) {
    tell(stateWith(model.get("state"), change));
  }

  /** @param {SentenceState} state */
  function tell(state) {
    model.set("state", state);
    model.save_changes();
    draw();
  }

  function draw() {
    const state = /** @type {SentenceState} */ (model.get("state"));
    controls.renew(state);
    picture = pictureOf(content, state);
    const isUnanswered = picture.show === "neuron" && picture.neuron_url && !answerTo(picture.neuron_url);
    waiting.hidden = !isUnanswered;
    views.text = undefined; // a neuron view may have got its answer since
    views.update(picture, (event) => tell(stateAfter(model.get("state"), picture, event)));
  }

  for (const name of ["state", "answer"]) model.on(`change:${name}`, draw);
  signal.addEventListener("abort", () => {
    for (const name of ["state", "answer"]) model.off(`change:${name}`, draw);
    views.release();
  });
  draw();
}
