// How many notes there are on what the page shows: asked for after each page, and when the server has other notes.
import { readMarks } from "./api.mjs";

const NOTHING = { counts: {} };
const listeners = new Set();
let marks = null;
let reading = null;

/** How many notes a target has; undefined until the counts of the page have come. */
export const countOf = (key) => (marks && key ? (marks.counts[key] ?? 0) : undefined);

/** Calls each time counts have come; the result ends that. */
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

/** The marks of the picture and of the sentence, for the page that is shown; no update where another page followed. */
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
