// Loads parts of a picture by URL: keeps what is there, cancels what is no longer wanted, drops what comes too
// late. Bytes from the server: the header that every format begins with, and whether a download is complete.

export const UNREACHABLE = "The server cannot be reached. Check the connection, then reload the page.";

/** @param {number} milliseconds */
export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Two hexadecimal digits for each byte. @param {ArrayLike<number>} bytes */
export const hexDigits = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
/** Hexadecimal digits of random bytes, which nobody guesses. @param {number} bytes */
export const randomHex = (bytes) => hexDigits(window.crypto.getRandomValues(new Uint8Array(bytes)));

/** Functions that answer instead of a server, by beginning of URL. */
const answering = new Map();

/**
 * Lets `answer` instead of a server answer for URLs that begin with `base`; returns a function that ends it.
 * @param {string} base @param {(url: string) => Promise<Response>} answer
 */
export function answerItself(base, answer) {
  answering.set(base, answer);
  return () => answering.delete(base);
}

/** @param {string} url @param {RequestInit} [options] @returns {Promise<Response>} */
function asked(url, options) {
  const [, answer] = [...answering].find(([base]) => url.startsWith(base)) ?? [];
  return answer ? answer(url) : fetch(url, options);
}

/** The response to a request; without one, an error that says so. @param {string} url @param {RequestInit} [options] */
export const reach = (url, options) =>
  asked(url, options).catch((error) => {
    throw error.name === "AbortError" ? error : new Error(UNREACHABLE);
  });

/**
 * The server's response; a refusal is an error with the server's sentence.
 * @param {string} url @param {RequestInit} [options]
 */
export async function fetchPart(url, options) {
  const response = await reach(url, options);
  if (!response.ok) throw new Error(await response.text());
  return response;
}

/**
 * Calls `act`; an element of the page says why it failed.
 * @param {HTMLElement} problem @param {() => unknown} act
 */
export async function trying(problem, act) {
  try {
    problem.textContent = "";
    await act();
  } catch (error) {
    problem.textContent = error.message;
  }
}

/** Bytes fetched before a picture asks for them, of the last few URLs only. */
const early = new Map();
const MOST_EARLY = 2;

/** Fetches what a picture will ask for; resolves to its bytes. @param {string} url @param {AbortSignal} [signal] */
export function prefetch(url, signal) {
  const body = early.get(url) || fetchPart(url, { signal }).then((response) => response.arrayBuffer());
  early.delete(url);
  early.set(url, body);
  body.catch(() => early.get(url) === body && early.delete(url));
  for (const other of [...early.keys()].slice(0, -MOST_EARLY)) early.delete(other);
  return body;
}

/** @param {string} url @param {AbortSignal} signal */
function fetched(url, signal) {
  const body = early.get(url);
  early.delete(url);
  return body
    ? body.then((/** @type {ArrayBuffer} */ bytes) => ({ arrayBuffer: () => bytes }))
    : fetchPart(url, { signal });
}

/** `load({name: {url, read}})` resolves to {name: what was read, or null}; to null if it was asked again meanwhile. */
export function createLoader() {
  const parts = new Map();
  let turn = 0;

  /** @param {string} name @param {Wanted} wanted */
  function part(name, { url, read }) {
    const known = parts.get(name);
    if (known && known.url === url) return known.value;
    known?.abort.abort();
    parts.delete(name);
    if (!url) return null;
    const abort = new AbortController();
    const value = fetched(url, abort.signal).then(read);
    parts.set(name, { url, abort, value });
    value.catch(() => parts.get(name)?.value === value && parts.delete(name));
    return value;
  }

  /** @param {Record<string, Wanted>} wanted */
  async function load(wanted) {
    const mine = ++turn;
    try {
      const names = Object.keys(wanted);
      const values = await Promise.all(names.map((name) => part(name, wanted[name])));
      return mine === turn ? Object.fromEntries(names.map((name, i) => [name, values[i]])) : null;
    } catch (error) {
      if (mine !== turn || error.name === "AbortError") return null;
      throw error;
    }
  }

  function cancel() {
    turn++;
    for (const { abort } of parts.values()) abort.abort();
    parts.clear();
  }

  return { load, cancel };
}

/** @param {(buffer: ArrayBuffer) => unknown} read */
export const readBytes = (read) => async (/** @type {Pick<Response, "arrayBuffer">} */ response) =>
  read(await response.arrayBuffer());
/** @param {Response} response */
export const readJson = (response) => response.json();

export const RELOAD = "Reload the page.";

/**
 * The numbers after the four letters, a view of the bytes, and where the values start, after `more` bytes.
 * @param {ArrayBuffer} buffer @param {string} magic @param {string} what @param {number} count
 */
export function readHeader(buffer, magic, what, count, more = 0) {
  const start = 4 + 4 * count + more;
  const letters = buffer.byteLength < start ? "" : String.fromCharCode(...new Uint8Array(buffer, 0, 4));
  if (letters !== magic) throw new Error(`The server sent invalid ${what}. ${RELOAD}`);
  const view = new DataView(buffer);
  return { numbers: Array.from({ length: count }, (_, i) => view.getUint32(4 + 4 * i, true)), view, start };
}

/** @param {ArrayBuffer} buffer @param {number} start @param {number} bytes @param {string} what */
export function expectBytes(buffer, start, bytes, what) {
  if (buffer.byteLength !== start + bytes) throw new Error(`The download of ${what} is incomplete. ${RELOAD}`);
}
