// Turns choices into links: what is on screen is in the URL. Called by clientside callbacks.
import { elementOf, required } from "./elements.mjs";

const dash = () => window.dash_clientside;
/** The table of the fields of a link (dashboard/web/state.py), which the server writes into the page. */
let table = null;
const linkTable = () => (table ??= JSON.parse(elementOf("link-table").textContent));
/** @param {string} field */
const fieldOf = (field) => linkTable().fields[field] ?? {};
/**
 * The default of a field; for some fields the store decides it, and the page says it.
 * @param {string} field @param {Shown} [shown]
 */
const defaultOf = (field, shown) => shown?.defaults?.[field] ?? fieldOf(field).default;

/** The path of a page, or of anything else that this server answers: it may have a prefix. @param {string} name */
export const pathOf = (name) => `${linkTable().root}/${name}`;
/** The version of the scripts that the page was made of. */
export const versionOfPage = () => linkTable().version;
/** The name of the page in the address bar. */
export const pageNow = () => window.location.pathname.slice(pathOf("").length);

/** The fields of the address bar: a page's own state may be older, the canvas writes the camera there. */
const fieldsNow = () => new URLSearchParams(window.location.search);
/** A comma may stand in a link as it is; regions and cameras are full of them. @param {URLSearchParams} fields */
const link = (fields) => `?${fields}`.replaceAll("%2C", ",").replace(/^\?$/, "");
/** @param {unknown} value */
const isNothing = (value) => value === null || value === undefined || value === "" || value === false;

/** @param {string} text */
const bytes = (text) => String(new URLSearchParams([["", text]])).length;
/** As much of a text as a link may hold. @param {unknown} value */
function short(value, longest = linkTable().longest) {
  let letters = [...String(value)];
  while (bytes(letters.join("")) > longest)
    letters = letters.slice(0, Math.floor((letters.length * longest) / bytes(letters.join(""))));
  return letters.join("");
}

/** Shortens two texts: each has the room that the other leaves, at least half. @param {URLSearchParams} fields */
function shortPair(fields) {
  const text = fields.get("text") ?? "";
  const { longest, longestPair } = linkTable();
  const room = longestPair - Math.min(bytes(text), longestPair / 2);
  fields.set("second", short(fields.get("second"), Math.min(longest, room)));
  fields.set("text", short(text, longestPair - bytes(fields.get("second") ?? "")));
}

/** Whether links to the page on screen hold a field also where it has its default. @param {string} field */
const isAlwaysWritten = (field) => (fieldOf(field).always ?? []).includes(pageNow());

/**
 * The fields with one changed, or removed where it has its default.
 * @param {URLSearchParams} fields @param {string} field @param {unknown} value @param {unknown} [standard]
 */
function withField(fields, field, value, standard) {
  const wasThere = fields.has(field);
  const isDefault = standard !== undefined && String(standard) === String(value) && !isAlwaysWritten(field);
  if (isNothing(value) || isDefault) fields.delete(field);
  else fields.set(field, short(value));
  if (["text", "second"].includes(field) && fields.get("text") && fields.has("second")) shortPair(fields);
  const { clears = [], ends = [] } = fieldOf(field);
  for (const other of [...clears, ...(fields.has(field) ? [] : ends)]) fields.delete(other);
  if (wasThere !== fields.has(field)) bring(fields, fieldOf(field).brings, !wasThere);
  return fields;
}

/**
 * Adds the field that another one brings into a link, and removes it with that one: `words` with a typed text.
 * @param {URLSearchParams} fields @param {string | undefined} brought @param {boolean} comes
 */
function bring(fields, brought, comes) {
  if (!brought) return;
  if (comes) fields.set(brought, fieldOf(brought).on);
  else fields.delete(brought);
}

/** @param {unknown} value @param {unknown} other */
const same = (value, other) => (isNothing(value) ? isNothing(other) : String(value) === String(other));

/**
 * The value of a field: as the page shows it, or as the link says where the page has yet to follow.
 * @param {string} field @param {Shown} shown
 */
function standing(field, shown) {
  const current = fieldsNow().get(field);
  return current === new URLSearchParams(shown.link).get(field) ? shown[field] : (current ?? defaultOf(field, shown));
}

/**
 * The query string with one field changed; no update where it is in the link.
 * @param {string} field @param {any} value @param {Shown} shown
 */
export function choose(field, value, shown) {
  if (!shown || value === undefined || same(standing(field, shown), value)) return dash().no_update;
  return link(withField(fieldsNow(), field, value, defaultOf(field, shown)));
}

/** Fields that a reader has changed by controls since the page on screen came. */
let changed = { link: /** @type {string | null} */ (null), fields: new Set() };

/**
 * The query string after a choice by a control. A value that the page shows was set by the page, maybe for the link
 * before, unless the reader has changed the field since.
 * @param {string} field @param {any} value @param {Shown} shown
 */
function control(field, value, shown) {
  if (shown && changed.link !== shown.link) changed = { link: shown.link, fields: new Set() };
  if (shown && same(shown[field], value) && !changed.fields.has(field)) return dash().no_update;
  const search = choose(field, value, shown);
  if (search !== dash().no_update) changed.fields.add(field);
  return search;
}

/** The identity and value of the control that was used: {"choose": "colour", "by": "control"}. */
export function used() {
  const [trigger] = dash().callback_context.triggered;
  if (!trigger) return [{}, undefined];
  return [JSON.parse(trigger.prop_id.slice(0, trigger.prop_id.lastIndexOf("."))), trigger.value];
}

/** Whole numbers as a link holds them. @param {(string | number)[]} values */
const listed = (values) =>
  values
    .map(Number)
    .sort((a, b) => a - b)
    .join(".");

/** The query string after a choice or a switch. @param {Shown} shown */
export function chosen(shown) {
  const [id, value] = used();
  if (id.toggle)
    return value === undefined ? dash().no_update : control(id.toggle, value ? fieldOf(id.toggle).on : null, shown);
  if (id.by === "number") return control(id.choose, writtenNumber(value), shown);
  return id.choose ? control(id.choose, Array.isArray(value) ? listed(value) : value, shown) : dash().no_update;
}

/**
 * The number in a control, of which a reader may have written only a part: 0 for "0."; undefined for "-".
 * @param {string | number | null | undefined} value
 */
function writtenNumber(value) {
  if (isNothing(value)) return value;
  return Number.isFinite(Number(value)) ? Number(value) : undefined;
}

/** Fields that select points; "Clear all" clears them together. */
const SELECTING = ["where", "q", "within", "lasso", "only", "flasso", "fonly"];

/**
 * A range in a link. A thumb at a bound of its slider is an open end, or the link's end beyond the bound.
 * @param {[number, number]} ends @param {[number, number]} bounds @param {string} before
 */
function range([low, high], [least, most], before) {
  const [from, to] = before.split("..");
  const first = low > least ? low : from && Number(from) <= least ? from : "";
  const last = high < most ? high : to && Number(to) >= most ? to : "";
  return first === "" && last === "" ? "" : `${first}..${last}`;
}

/**
 * The query string after a condition was changed, taken away or added; `where` is "column:a|b;column:1..5". `least` and
 * `most` are the bounds of the sliders with these ids.
 * @param {Shown} shown @param {{ condition: string }[]} [ids] @param {number[]} [least] @param {number[]} [most]
 */
export function filtered(shown, ids = [], least = [], most = []) {
  const [id, value] = used();
  if (!shown || (id.remove && !value) || (id.add && !value)) return dash().no_update;
  if (id.remove === "all")
    return link(SELECTING.reduce((fields, field) => withField(fields, field, null), fieldsNow()));
  const conditions = new Map(
    String(standing("where", shown) || "")
      .split(";")
      .filter(Boolean)
      .map((condition) => [condition.slice(0, condition.indexOf(":")), condition.slice(condition.indexOf(":") + 1)]),
  );
  if (id.remove) conditions.delete(id.remove);
  else if (id.add) conditions.set(value, "");
  else if (id.kind === "number") {
    const at = ids.findIndex(({ condition }) => condition === id.condition);
    conditions.set(id.condition, range(value, [least[at], most[at]], conditions.get(id.condition) ?? ""));
  } else if (id.condition) conditions.set(id.condition, value.map(encodeURIComponent).join("|"));
  else return dash().no_update;
  return control("where", [...conditions].map((pair) => pair.join(":")).join(";"), shown);
}

/** Layer and head of a name. @param {string} name */
const numbersOf = (name) =>
  required(name.match(/^L(\d+) H(\d+)$/), `a head in the name ${name}`)
    .slice(1)
    .map(Number);

/** The page of a head. @param {number[]} pair @param {URLSearchParams} fields */
function headLink([layer, head], fields = fieldsNow()) {
  return pathOf("head") + link(withField(withField(fields, "layer", String(layer)), "head", String(head)));
}

/**
 * The page of a neighbour of the link's head, null where the model ends; the picture may be of the head before.
 * @param {Picture} picture @param {{ rows: number, columns: number }} step
 */
export function neighbour(picture, step) {
  const [fields, shape] = [fieldsNow(), required(picture.shape, "the numbers of layers and heads")];
  /** @param {number} number @param {number} i */
  const within = (number, i) => number >= 0 && number < shape[i];
  const named = numbersOf(picture.panels[0].name);
  const from = ["layer", "head"]
    .map((field) => Number(fields.get(field) ?? defaultOf(field)))
    .map((number, i) => (within(number, i) ? number : named[i]));
  const to = [from[0] + step.rows, from[1] + step.columns];
  return to.every(within) ? headLink(to) : null;
}

/**
 * The link to another picture of a page: one of its panels, or all.
 * @param {Picture} picture @param {Record<string, string> | null | undefined} fields
 */
function pageLink(picture, fields) {
  if (!fields) return dash().no_update;
  const every = fieldsNow();
  for (const field of ["at", ...picture.dropped_fields]) every.delete(field);
  for (const [field, value] of Object.entries(fields)) every.set(field, value);
  return pathOf(required(picture.page, "the page of a picture")) + link(every);
}

/**
 * The query string of the step at which a reader stopped; the camera stays.
 * @param {{ panel: number } | null} arrival @param {Picture | null} picture
 */
export function arrived(arrival, picture) {
  const step = arrival && picture?.sequence?.[arrival.panel];
  if (!step) return dash().no_update;
  const fields = fieldsNow();
  for (const [field, value] of Object.entries(step.fields)) fields.set(field, value);
  return link(fields);
}

/** A text as `features/captions.text_of` writes it: its data is not translated. @param {string} text */
const asMarkup = (text) => ({ namespace: "headscape", type: "Markup", props: { tree: [text] } });

/**
 * The texts of the shown step of a sequence, for each of their places on the page.
 * @param {{ panel: number } | null} step @param {{ caption: string }[]} places @param {Picture} picture
 */
export function stepTexts(step, places, picture) {
  const shown = step && picture?.sequence?.[step.panel];
  return places.map((place) => (shown ? asMarkup(shown.texts[place.caption]) : dash().no_update));
}

/** The page of all heads. */
function headsLink() {
  const fields = fieldsNow();
  for (const field of ["layer", "head", "at"]) fields.delete(field);
  return pathOf("heads") + link(fields);
}

/**
 * The link after a panel was opened or a head was left.
 * @param {{ panel: number } | null} opening @param {unknown} left @param {Picture | null} picture
 */
export function go(opening, left, picture) {
  const triggers = dash().callback_context.triggered.map((trigger) => trigger.prop_id);
  if (!picture) return dash().no_update;
  const panel = opening && picture.panels[opening.panel];
  if (picture.page) return pageLink(picture, triggers.includes("points.left") ? {} : panel?.fields);
  if (triggers.includes("points.left") && left) return headsLink();
  return panel ? headLink(numbersOf(panel.name)) : dash().no_update;
}

/** Charts whose heads are selected on their own page. */
const SELECTS = ["head-map", "matrix"];

/** This page with another head. @param {number[]} pair */
function selectedLink([layer, head]) {
  const fields = withField(fieldsNow(), "layer", String(layer), defaultOf("layer"));
  return window.location.pathname + link(withField(fields, "head", String(head), defaultOf("head")));
}

/** A head in a chart, and its model where the chart shows several: `L3 H7`, `L3 H7 of KEY`. */
const NAMED = /^(L\d+ H\d+)(?: of (\S+))?$/;

/** The link after a head was clicked in a chart: the mark names the head, in a matrix the row does. */
export function opened() {
  const [{ opens: chart }, clicked] = used();
  const point = clicked?.points?.[0];
  const named = [point?.customdata, point?.y].map((text) => NAMED.exec(text)).find(Boolean);
  if (!named) return dash().no_update;
  const [, name, model] = named;
  if (model) return headLink(numbersOf(name), withField(fieldsNow(), "model", model));
  return (SELECTS.includes(chart) ? selectedLink : headLink)(numbersOf(name));
}

/** The end of a box as a link holds it. @param {number} end */
const written = (end) => Number(Number(end.toPrecision(4)).toFixed(6));

/** @param {number[]} ends */
const interval = (ends) =>
  ends
    .map(written)
    .sort((a, b) => a - b)
    .join("..");

/** The query string after a box was drawn in a chart of heads, or taken away. */
export function boxed() {
  const [, selected] = used();
  if (selected === undefined || (selected && !selected.range)) return dash().no_update;
  const { x, y } = selected?.range ?? {};
  const fields = withField(fieldsNow(), "acrossin", x ? interval(x) : null);
  const search = link(withField(fields, "upin", y ? interval(y) : null));
  return search === link(fieldsNow()) ? dash().no_update : search;
}

/**
 * The query string with the clicked point, or none.
 * @param {{ token: number, role: string } | null} picked @param {Picture | null} picture
 */
export function pick(picked, picture) {
  if (!picked) return dash().no_update;
  const fields = withField(
    fieldsNow(),
    picture?.link_fields?.token || "token",
    picked.token < 0 ? null : String(picked.token),
  );
  return link(picture?.link_fields ? fields : withField(fields, "role", picked.token < 0 ? null : picked.role));
}

/** The query string with a region or none. @param {{ lasso: string } | null} lassoed @param {Picture | null} picture */
export function lasso(lassoed, picture) {
  return lassoed
    ? link(withField(fieldsNow(), picture?.link_fields?.lasso || "lasso", lassoed.lasso))
    : dash().no_update;
}

/** Whether heads are drawn: a rollout and a difference have names of their own. @param {SentencePicture} sentence */
const isOfHeads = ({ head_names }) => /^H\d/.test(head_names[0]);

/** Fields of the link by event in the views of a sentence. */
const FIELDS_OF = {
  /**
   * @param {{ layer: number, head: number }} given @param {URLSearchParams} _fields @param {SentencePicture} sentence
   */
  opened: ({ layer, head }, _fields, sentence) => [
    ["layer", layer],
    ...(isOfHeads(sentence) ? ["head", "heads"].map((field) => [field, head]) : []),
    ["show", sentence.show === "model" ? null : sentence.show],
  ],
  /** @param {{ heads: number[] }} given @param {URLSearchParams} _fields @param {SentencePicture} sentence */
  headed: ({ heads }, _fields, sentence) =>
    isOfHeads(sentence)
      ? [
          ["heads", heads.length === sentence.heads ? null : heads.join(".")],
          ...(heads.length === 1 ? [["head", heads[0]]] : []),
        ]
      : [],
  /**
   * @param {{ side: Side, units: number[] }} given @param {URLSearchParams} _fields @param {SentencePicture} sentence
   */
  selected: ({ side, units }, _fields, { first }) => [
    ["queries", units.map((unit) => unit + first[side]).join(".") || null],
    ["role", units.length && side === "key" ? "key" : null],
    ["toward", null],
  ],
  /**
   * @param {{ query: number | null, toward: number | null }} given @param {URLSearchParams} _fields
   * @param {SentencePicture} sentence
   */
  paired: ({ query, toward }, _fields, { first }) => [
    ["queries", query === null ? null : query + first.query],
    ["role", null],
    ["toward", toward],
  ],
  /** @param {{ pairs: Pair[] }} given */
  marked: ({ pairs }) => [["marks", pairs.map((pair) => pair.join("-")).join(".") || null]],
  /** @param {{ positions: number[] }} given @param {URLSearchParams} fields */
  hidden: ({ positions }, fields) => {
    const before = (fields.get("hide") || "").split(".").filter(Boolean).map(Number);
    const hidden = [...new Set([...before, ...positions])].sort((a, b) => a - b);
    return [["hide", hidden.join(".")]];
  },
  /** @param {{ layer: number }} given @param {URLSearchParams} fields @param {SentencePicture} sentence */
  stepped: ({ layer }, fields, sentence) => [
    ["layer", Math.max(0, Math.min(sentence.layers - 1, layerOf(fields, sentence) + layer))],
  ],
};

/**
 * The layer of the link, which the page may not show yet; the page's layer where the link names none that exists.
 * @param {URLSearchParams} fields @param {SentencePicture} sentence
 */
function layerOf(fields, { layer, layers }) {
  const named = Number(fields.get("layer") || layer);
  return Number.isInteger(named) && named >= 0 && named < layers ? named : layer;
}

/**
 * The query string after an event in the views of a sentence; no update where the link stays the same.
 * @param {keyof typeof FIELDS_OF} what @param {any} event @param {SentencePicture | null} sentence
 */
export function inSentence(what, event, sentence) {
  if (!event || !sentence) return dash().no_update;
  const fields = fieldsNow();
  for (const [field, value] of FIELDS_OF[what](event, fields, sentence))
    withField(fields, `${field}`, value === 0 ? "0" : value, defaultOf(`${field}`));
  return link(fields) === link(fieldsNow()) ? dash().no_update : link(fields);
}

/**
 * The link of what is on screen: with model and snapshot it shows the same after the next ingest.
 * @param {Shown} shown
 */
function lasting(shown) {
  const fields = fieldsNow();
  for (const field of ["model", "snapshot"]) if (shown?.[field]) fields.set(field, String(shown[field]));
  return window.location.origin + window.location.pathname + link(fields);
}

/**
 * Copies the link; where a browser refuses (pages without https), it puts the link into the address bar.
 * @param {number} clicks @param {Shown} shown
 */
export function copy(clicks, shown) {
  if (!clicks) return dash().no_update;
  const refused = () => (
    window.history.replaceState(window.history.state, "", lasting(shown)),
    "Copy it from the address bar"
  );
  return navigator.clipboard ? navigator.clipboard.writeText(lasting(shown)).then(() => "Copied", refused) : refused();
}

/** Whether a click on a link asks for another tab, window or file. @param {MouseEvent} event */
export const opensElsewhere = (event) => event.metaKey || event.shiftKey || event.altKey || event.ctrlKey;

/**
 * Goes to another link without leaving the page, as Dash's own link does: at once, so that what follows is of the new
 * link.
 * @param {string} href
 */
export function visit(href) {
  window.history.pushState({}, "", href);
  window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
}
