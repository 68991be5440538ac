// Requests about notes and saved views; a refusal of the server is an error whose message is its sentence. How many
// notes there are on what the page shows is asked for after each page, and when the server has other notes.
import { pathOf } from "../web/address.mjs";
import { fetchPart } from "../web/loading.mjs";

/** @param {string} url @param {RequestInit} [options] */
async function ask(url, options) {
  const response = await fetchPart(pathOf(url), { cache: "no-store", ...options });
  const answer = await response.json();
  if (answer.problem) throw new Error(answer.problem);
  return answer;
}

/** @param {string} method @param {string} url @param {unknown} [content] */
const send = (method, url, content) =>
  ask(url, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });

/** What the page on screen shows (`shell.shown`). */
export const shownNow = () => window.dash_component_api.getLayout("shown")?.props.data ?? {};

/**
 * The page on screen, as dashboard/notes/page.py reads it: a link can be too long for an address.
 * @param {string} url @param {Record<string, string>} [more] @param {AbortSignal} [signal]
 */
function ofPage(url, more, signal) {
  const { pathname, search } = window.location;
  const body = new URLSearchParams({ pathname, search, snapshot: shownNow().snapshot ?? "", ...more });
  return ask(url, { method: "POST", body, signal });
}

/**
 * Notes on a target; without one, on the view that is shown.
 * @param {string | undefined} target @param {AbortSignal} [signal]
 */
export const readNotesOn = (target, signal) => ofPage("data/notes/on", target ? { target } : {}, signal);
/** Notes that the filters of page Notes find. @param {AbortSignal} [signal] */
export const readFound = (signal) => ofPage("data/notes/found", {}, signal);
/** @param {AbortSignal} [signal] */
const readMarks = (signal) => ofPage("data/notes/marks", {}, signal);
export const readViews = () => ofPage("data/notes/views");
/** @param {string} id */
export const readHistory = async (id) => (await ask(`data/notes/${id}/history`)).texts;

/** What a note or a view is written on. */
const origin = () => {
  const { snapshot, model } = shownNow();
  return { snapshot, model };
};

/** @param {Record<string, unknown>} note */
export const addNote = (note) => send("POST", "api/notes", { ...note, ...origin() });
/** @param {string} id @param {Record<string, unknown>} reply */
export const addReply = (id, reply) => send("POST", `api/notes/${id}/replies`, reply);
/** @param {string} id @param {Record<string, unknown>} edit */
export const editNote = (id, edit) => send("PUT", `api/notes/${id}`, edit);
/** @param {string} id */
export const deleteNote = (id) => send("DELETE", `api/notes/${id}`);
/** @param {File} file */
export const importNotes = (file) =>
  ask("api/notes/import", { method: "POST", headers: { "Content-Type": "application/json" }, body: file });
/** @param {Record<string, unknown>} view */
export const saveView = (view) => send("POST", "api/views", { ...view, ...origin() });
/** @param {string} id @param {string} name */
export const renameView = (id, name) => send("PUT", `api/views/${id}`, { name });
/** @param {string} id */
export const deleteView = (id) => send("DELETE", `api/views/${id}`);

const NOTHING = { counts: {} };
/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {{ counts: Record<string, number> } | null} */
let marks = null;
/** @type {AbortController | null} */
let reading = null;

/** How many notes a target has; undefined until the counts of the page have come. @param {string | undefined} key */
export const countOf = (key) => (marks && key ? (marks.counts[key] ?? 0) : undefined);

/** Calls each time counts have come; the result ends that. @param {() => void} listener */
export function whenCounted(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

async function read() {
  reading?.abort();
  const mine = (reading = new AbortController());
  const counted = await readMarks(mine.signal).catch((error) => {
    if (error.name === "AbortError") return null;
    return NOTHING; // a page without marks says why where its notes are opened
  });
  if (!counted || reading !== mine) return null;
  marks = counted;
  listeners.forEach((listener) => listener());
  return marks;
}

/**
 * The marks of the picture and of the sentence, for the page that is shown; no update where another page followed.
 * @param {Shown | null} shown
 */
export async function followMarks(shown) {
  const { no_update } = window.dash_clientside;
  const counted = shown ? await read() : null;
  return counted ? [counted, counted] : [no_update, no_update];
}

/** Reads the counts again after a change by this reader. */
export async function recount() {
  const counted = await read();
  for (const id of counted ? ["points", "sentence"] : []) window.dash_clientside.set_props(id, { noted: counted });
}
