// A note with its replies, as elements: who wrote it and when, its text, its tags, and what its reader may do.
import { pathOf } from "../web/address.mjs";
import { make } from "../web/elements.mjs";

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
 * Who, when, and whether it was edited: the button shows the versions before. Whoever imports a note of somebody else
 * is named: a file may say that anybody wrote it.
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

/** What it is about: a link, or why this store cannot show it. @param {Note} note */
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
 * The buttons: to reply for every author, to edit and delete for the note's own.
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
 * A list item; `writes`: its reader is an author; `placed`: it says what it is about.
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
