// Undo: every change of what a page shows is a step of the link. Ctrl+Z, or Cmd+Z on a Mac, goes a step back, with
// Shift forward, as long as the step is on the same page. A sentence says what was undone. A text field has its own
// undo.
//
// An entry of the browser's history knows its number and the link before it; a reload keeps both.
import { make } from "./elements.mjs";

/** Milliseconds that the sentence stands. */
const SAID_MS = 4000;
/** What a change of a field is called where no control on the page names it. @type {Record<string, string>} */
const NAMES = {
  acrossin: "the box",
  example: "the marked pairs",
  fonly: "the category shown alone",
  flasso: "the lasso",
  ftoken: "the selected token",
  fview: "the picture",
  head: "the head",
  heads: "the shown heads",
  hide: "the hidden tokens",
  lasso: "the lasso",
  layer: "the head",
  only: "the category shown alone",
  point: "the panel",
  q: "the search",
  queries: "the selected tokens",
  role: "the selected point",
  second: "the text",
  sentence: "the sentence",
  show: "the view",
  text: "the text",
  token: "the selected point",
  toward: "the selected tokens",
  upin: "the box",
  view: "the picture",
  where: "the filters",
};
/** The camera follows other changes; a step of it alone has no name. */
const UNNAMED = ["at"];

/** The number and the link of the entry that is shown, and the known links of steps, by their numbers. */
let now = { step: 0, link: "" };
/** @type {string[]} */
const links = [];

/** @param {Pick<Location, "pathname" | "search">} place */
const linkOf = ({ pathname, search }) => pathname + search;
/** @param {string} link */
const pageOf = (link) => link.split("?")[0];
/** @param {string} link */
const fieldsOf = (link) => new URLSearchParams(link.split("?")[1] ?? "");

/**
 * Numbers the entry of the history that is shown now, unless it has a number.
 * @param {Pick<History, "state" | "replaceState">} history @param {Pick<Location, "pathname" | "search">} location
 */
export function noteStep(history = window.history, location = window.location) {
  const link = linkOf(location);
  const known = history.state?.step;
  const isFirst = links.length === 0;
  const step = known ?? (isFirst ? 0 : now.step + 1);
  if (known === undefined) {
    history.replaceState({ ...history.state, step, before: isFirst ? null : now.link }, "");
    links.length = Math.min(links.length, step);
  }
  links[step] = link;
  now = { step, link };
}

/**
 * The link that a step leads to, -1 back or 1 forward; null where that is another page, or not known.
 * @param {number} by @param {Pick<History, "state">} history
 */
export function linkAfter(by, history = window.history) {
  const link = by < 0 ? history.state?.before : links[now.step + by];
  return link && pageOf(link) === pageOf(now.link) ? link : null;
}

/**
 * The fields in which two links differ.
 * @param {string} before @param {string} after
 */
export function changedFields(before, after) {
  const [was, is] = [before, after].map(fieldsOf);
  const every = new Set([...was.keys(), ...is.keys()]);
  return [...every].filter((field) => was.get(field) !== is.get(field) && !UNNAMED.includes(field));
}

/** The label of the control of a field, where the page has one. @param {string} field */
const labelOf = (field) =>
  document.querySelector(`label[for*='"choose":"${field}"'], label[for*='"toggle":"${field}"']`)?.textContent || "";

/**
 * What was undone or done again, in a sentence.
 * @param {number} by @param {string[]} fields
 */
export function sentenceOf(by, fields, nameOf = labelOf) {
  const names = new Set(fields.map((field) => NAMES[field] ?? nameOf(field)).filter(Boolean));
  return `${by < 0 ? "Undone" : "Done again"}: ${[...names].join(", ") || "the last step"}.`;
}

/** @param {number} by */
const nothing = (by) => `There is nothing to ${by < 0 ? "undo" : "redo"} on this page.`;

/** Whether a key belongs to the text in an element: a closed list of choices has nothing to undo. */
export function isWritten(/** @type {EventTarget | null} */ target) {
  const written = target?.closest?.("input, textarea, [contenteditable='true'], [role='textbox']");
  const field = /** @type {HTMLInputElement | null | undefined} */ (written);
  if (!field || ["checkbox", "radio", "range", "button"].includes(field.type) || field.readOnly) return false;
  return field.getAttribute("aria-haspopup") !== "listbox" || field.getAttribute("aria-expanded") === "true";
}

/** The live region that the sentence is said in. */
function region() {
  const said = make("div", { id: "undone", className: "undone" });
  said.setAttribute("role", "status");
  document.body.append(said);
  return said;
}

/** Follows the keys and the history. */
export function followUndo() {
  const said = region();
  let clearing = 0;
  /** @param {string} sentence */
  function say(sentence) {
    said.textContent = sentence;
    clearTimeout(clearing);
    clearing = setTimeout(() => (said.textContent = ""), SAID_MS);
  }
  noteStep();
  for (const event of ["_dashprivate_pushstate", "popstate"]) window.addEventListener(event, () => noteStep());
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || !(event.ctrlKey || event.metaKey)) return;
    if (event.key.toLowerCase() !== "z" || isWritten(event.target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    const by = event.shiftKey ? 1 : -1;
    const link = linkAfter(by);
    say(link ? sentenceOf(by, changedFields(now.link, link)) : nothing(by));
    if (link) window.history.go(by);
  });
}
