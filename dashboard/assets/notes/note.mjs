// A note with its replies, and a saved view: requests about them, and a note as elements.
//
// A refusal of the server is an error with the server's sentence as its message. The numbers of notes on the shown page
// are read after each page and after each change of notes. The elements say who wrote a note and when, its text, its
// tags, and what its reader may do.
import { pathOf } from "../web/address.mjs";
import { make } from "../web/elements.mjs";
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
 * Posts the link of the shown page to dashboard/notes/page.py: it can be too long for an address.
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
/** @param {AbortSignal} [signal] */
export const readViews = (signal) => ofPage("data/notes/views", {}, signal);
/** @param {string} id */
export const readHistory = async (id) => (await ask(`data/notes/${id}/history`)).texts;

/** Snapshot and model of a note or a view. */
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

/** Calls `listener` when counts have come; the result ends that. @param {() => void} listener */
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

/** @type {Intl.DateTimeFormatOptions} */
const WHEN = { day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" };

/** A time of the server, such as "12 Nov 2026, 10:03 UTC". @param {string} time */
const momentOf = (time) => `${new Intl.DateTimeFormat("en-GB", WHEN).format(new Date(time))} UTC`;

/** The button of a note or a saved view that does `act`. @param {string} text @param {string} act */
export const actionButton = (text, act, extra = {}) =>
  make("button", { type: "button", className: "action", textContent: text, "data-act": act, ...extra });

/** @param {string} time */
export const moment = (time) => make("time", { datetime: time, textContent: momentOf(time) });

/** A tree of dashboard/ui/markup.py as elements. @param {any} tree @returns {HTMLElement | string} */
function elements(tree) {
  if (!Array.isArray(tree)) return String(tree);
  const [tag, properties, ...children] = tree;
  return make(tag, properties, ...children.map(elements));
}

/** @param {Pick<Note, "tree"> & Partial<Note>} note */
function textOf({ tree, deleted }) {
  if (deleted) return make("p", { className: "caption", textContent: "This note was deleted." });
  return make("div", { className: "note-text", dir: "auto" }, elements(tree));
}

/**
 * Author, time, and for an edited note a button that shows the versions before. Names who has imported a note of
 * somebody else: a file may name anybody as the author.
 * @param {Note} note @param {boolean} placed
 */
function byline({ author, imported_by: by, created, edited, reply }, placed) {
  const name = make("b", { textContent: author, dir: "auto" });
  const imported = by ? [make("span", {}, "imported by ", make("bdi", { textContent: by }))] : [];
  const line = make("p", { className: "note-byline" }, name, ...imported, moment(created));
  if (placed && reply) line.append("a reply");
  if (edited)
    line.append(actionButton(`edited ${momentOf(edited)}`, "history", { className: "link", "aria-expanded": "false" }));
  return line;
}

/** What a note is about: a link, or why the store lacks it. @param {Note} note */
function placeOf({ title, model, href, missing }) {
  const name = href ? make("a", { href, className: "followed", textContent: title }) : (title ?? "");
  const about = make("span", { className: "caption", textContent: missing ?? model });
  return make("p", { className: "note-place", dir: "auto" }, name, " ", about);
}

/** @param {string[]} tags */
const tagsOf = (tags) =>
  make(
    "p",
    { className: "note-tags" },
    ...tags.map((tag) =>
      make("a", {
        className: "note-tag followed",
        href: `${pathOf("notes")}?${new URLSearchParams({ tag })}`,
        textContent: tag,
      }),
    ),
  );

/**
 * Buttons of a note: Reply for every author, Edit and Delete for the note's author.
 * @param {Note} note @param {boolean} isReply
 */
function actions({ mine, deleted }, isReply) {
  return make(
    "p",
    { className: "note-actions" },
    ...(isReply || deleted ? [] : [actionButton("Reply", "reply")]),
    ...(mine ? [actionButton("Edit", "edit"), actionButton("Delete", "delete")] : []),
  );
}

/**
 * A note as a list item. `writes`: the reader is an author; `placed`: the item says what the note is about.
 * @param {Note} note @param {{ writes: boolean, placed?: boolean, isReply?: boolean }} given
 * @returns {HTMLElement}
 */
export function drawNote(note, { writes, placed = false, isReply = note.reply }) {
  const replies = (note.replies ?? []).map((reply) => drawNote(reply, { writes, placed: false }));
  const parts = [
    ...(placed ? [placeOf(note)] : []),
    byline(note, placed),
    textOf(note),
    ...(note.tags.length ? [tagsOf(note.tags)] : []),
    ...(writes ? [actions(note, isReply)] : []),
    make("div", { className: "note-below" }),
    ...(replies.length ? [make("ol", { className: "note-replies" }, ...replies)] : []),
  ];
  return make("li", { className: "note", "data-note": note.id }, ...parts);
}

/**
 * The versions of a note before the shown one, the newest first.
 * @param {{ time: string, tree: any }[]} versions
 */
export const drawHistory = (versions) =>
  make(
    "ol",
    { className: "note-history", "aria-label": "Versions before" },
    ...versions.map(({ time, tree }) =>
      make("li", {}, make("p", { className: "note-byline" }, moment(time)), textOf({ tree })),
    ),
  );

/** Asks before something is deleted, in its place. @param {string} question */
export const drawQuestion = (question) =>
  make(
    "div",
    { className: "note-question", role: "group", "aria-label": question },
    make("span", { textContent: question }),
    actionButton("Delete", "confirm", { className: "action strong" }),
    actionButton("Keep", "keep"),
  );

/** A saved view as a link. @param {Pick<SavedView, "name" | "href">} savedView */
export const linkOf = ({ name, href }) =>
  href
    ? make("a", { href, className: "followed", textContent: name, dir: "auto" })
    : make("span", {}, name, make("span", { className: "caption" }, " (not in this store)"));
