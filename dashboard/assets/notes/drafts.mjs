// Drafts: what an author has typed stays in the tab until it is saved, through other pages, a reload and a failed save.

const named = (name) => `headscape-draft-${name}`;
/** The drafts of a tab that stores nothing last as long as its page. */
const unstored = new Map();

export function recallDraft(name) {
  try {
    return JSON.parse(window.sessionStorage.getItem(named(name))) ?? unstored.get(name) ?? null;
  } catch {
    return unstored.get(name) ?? null;
  }
}

export function keepDraft(name, draft) {
  unstored.set(name, draft);
  try {
    window.sessionStorage.setItem(named(name), JSON.stringify(draft));
  } catch {
    // Private windows may refuse.
  }
}

export function dropDraft(name) {
  unstored.delete(name);
  try {
    window.sessionStorage.removeItem(named(name));
  } catch {
    // As above.
  }
}

/**
 * An id that nothing else has (a UUID of version 4): the server saves what has the same id once. Without https there is
 * no `crypto.randomUUID`.
 */
export function newId() {
  const bytes = window.crypto.getRandomValues(new Uint8Array(16));
  [bytes[6], bytes[8]] = [(bytes[6] & 0x0f) | 0x40, (bytes[8] & 0x3f) | 0x80];
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
