// Says when the page can no longer go on: its session has ended, or its server was upgraded.
//
// Every request of the page goes through `fetch`, those of Dash too. An answer of a proxy or a provider in place of the
// server lacks the server's header. A download is asked for once the session is known to last.
//
// Where a request for content that a page waits for is lost, the page asks again until it has an answer.
import { pathOf, versionOfPage } from "./address.mjs";
import { make } from "./elements.mjs";
import { UNREACHABLE, pause } from "./loading.mjs";

/** Headers of the server: its page to sign in (dashboard/access/gate.py), and its version (dashboard/web/assets.py). */
const [SIGN_IN, VERSION] = ["Sign-In", "Headscape-Version"];
const ENDED = "Your session has ended. Sign in again.";
const UPGRADED = "Headscape was upgraded. What this page has yet to fetch may be missing.";

/**
 * The page to sign in, which returns to the link in the address bar.
 * @param {string} page @param {{ pathname: string, search: string }} given
 */
export const signInLink = (page, { pathname, search }) => `${page}?next=${encodeURIComponent(pathname + search)}`;

/** @param {Pick<Response, "headers">} response */
const isHtml = ({ headers }) => (headers.get("Content-Type") ?? "").startsWith("text/html");

/**
 * The kind of a response: "own" from the server, "ended" where a session has ended, "lost" from a proxy that does not
 * reach the server. An answer in the browser's cache may lack the header.
 * @param {Response} response
 */
export function kindOf(response) {
  const { status, ok, type, headers } = response;
  if (type === "opaqueredirect" || status === 401 || status === 407) return "ended";
  if (headers.has(VERSION)) return "own";
  if (ok) return isHtml(response) ? "ended" : "own";
  if (status === 403) return "ended";
  return isHtml(response) || status === 502 || status === 504 ? "lost" : "own";
}

/**
 * Whether the server has other scripts than the page: a browser's cache never answers a POST request.
 * @param {Response} response @param {string | undefined} method @param {string} version
 */
export const isUpgraded = (response, method, version) =>
  method === "POST" && (response.headers.get(VERSION) ?? version) !== version;

/** @param {number} status */
const lost = (status) => `The server cannot be reached: the proxy before it answers ${status}. Try again in a moment.`;

/**
 * Shows a notice over the page, one for each id, with a link whose address is set when it is clicked.
 * @param {string} id @param {string} sentence @param {string} text @param {() => string} place
 */
function show(id, sentence, text, place) {
  if (document.getElementById(id)) return;
  const link = make("a", { textContent: text, href: place() });
  link.addEventListener("click", () => (link.href = place()));
  document.body.append(make("div", { id, className: "session-ended", role: "alert" }, `${sentence} `, link, "."));
}

/** Loads the page anew: with a hash a link would not. */
const here = () => window.location.pathname + window.location.search;

/** @param {string | null} page */
const showEnded = (page) =>
  show("session-ended", "Your session has ended.", "Sign in again", () =>
    page ? signInLink(page, window.location) : here(),
  );

/**
 * The response; for a callback of Dash an empty one, which changes nothing: Dash would read a refusal's text twice.
 * @param {string} url @param {Response} response
 */
export const forDash = (url, response) =>
  new URL(url, "http://localhost").pathname.endsWith("/_dash-update-component")
    ? new Response(null, { status: 204 })
    : response;

/**
 * The response in the form that the page reads: one not from the server becomes a refusal with a sentence.
 * @param {Response} response @param {string} url @param {string | undefined} method
 */
function checked(response, url, method) {
  const kind = kindOf(response);
  if (kind === "ended") {
    showEnded(response.headers.get(SIGN_IN));
    return forDash(url, new Response(ENDED, { status: 401 }));
  }
  if (kind === "lost") return forDash(url, new Response(lost(response.status), { status: response.status }));
  if (isUpgraded(response, method, versionOfPage())) show("upgraded", UPGRADED, "Reload the page", here);
  return response;
}

/**
 * Saves the file of a link once the server says that the session lasts: else its page to sign in would be saved.
 * @param {MouseEvent} event
 */
async function download(event) {
  const link = /** @type {HTMLAnchorElement | null} */ (event.target?.closest?.("a[download]"));
  if (!link || link.origin !== window.location.origin || link.protocol === "blob:" || event.defaultPrevented) return;
  event.preventDefault();
  const copy = /** @type {HTMLAnchorElement} */ (link.cloneNode());
  const response = await fetch(pathOf("data/session"), { cache: "no-store" }).catch(() => null);
  if (response?.ok) copy.click();
  else if (response?.status !== 401) show("unsaved", (await response?.text()) ?? UNREACHABLE, "Reload the page", here);
}

/** Watches the responses to all requests of the page, and its downloads. */
export function watchSession() {
  const { fetch } = window;
  window.fetch = async (request, options = {}) => {
    const given = /** @type {Partial<Request>} */ (request);
    const url = given.url ?? String(request);
    if (new URL(url, window.location.href).origin !== window.location.origin) return fetch(request, options);
    const send = () => fetch(request, { ...options, redirect: "manual" });
    const response = await persistent(send, options.body, (answer) => kindOf(answer) === "lost");
    return checked(response, url, options.method ?? given.method);
  };
  document.addEventListener("click", download);
}

/** Milliseconds until a lost request is sent again. */
const RETRY_MS = 2000;
const LOST = "The connection to the server is lost. This page asks again by itself.";
/** Kinds of awaited content: of a part, or of a job (dashboard/ui/deferred.py). */
const WAITING_PARTS = ["content", "job"];

/** @param {string} body */
function bodyOf(body) {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/**
 * The id of the state of a wait, where Dash asks for its content; null for any other request.
 * @param {unknown} body
 */
export function stateOf(body) {
  const wanted = typeof body === "string" ? bodyOf(body)?.inputs?.[0] : null;
  const { deferred, is, wait } = wanted?.property === "id" ? (wanted.id ?? {}) : {};
  return WAITING_PARTS.includes(is) ? { deferred, is: "state", wait } : null;
}

/** Whether the page still waits: Dash writes the keys of an id in their order. @param {Record<string, unknown>} id */
const isThere = (id) =>
  document.getElementById(JSON.stringify(Object.fromEntries(Object.entries(id).toSorted()))) !== null;

/**
 * The answer to a request; awaited content is asked for again as long as it is lost and the page waits for it.
 * @param {() => Promise<Response>} send @param {unknown} body @param {(answer: Response) => boolean} isLost
 */
export async function persistent(send, body, isLost, { waits = isThere, milliseconds = RETRY_MS } = {}) {
  const state = stateOf(body);
  if (!state) return send();
  for (;;) {
    const answer = await send().catch((error) => error);
    const failed = answer instanceof Error;
    if (!(failed ? answer.name !== "AbortError" : isLost(answer)) || !waits(state)) {
      if (failed) throw answer;
      return answer;
    }
    window.dash_clientside.set_props(state, { children: LOST });
    await pause(milliseconds);
  }
}
