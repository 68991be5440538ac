// Follows the address bar: fetches the page of the newest link, cancels earlier requests, and updates what has changed
// on screen. While the browser waits it says how far the server is: what it counts, and the share that is done.
import { neighbour, pageNow, pathOf, visit } from "./address.mjs";
import { changes, same, waitOf } from "./changes.mjs";
import { UNREACHABLE, prefetch } from "./loading.mjs";

/** A failed request in the form of a page. @param {string} sentence */
const problem = (sentence) => ({ problem: sentence });

/** @param {PageRequest} request @param {string} wait @param {AbortSignal} signal */
async function fetchPage(request, wait, signal) {
  const body = new URLSearchParams({ ...request, wait });
  const response = await fetch(pathOf("data/page"), { method: "POST", body, signal });
  return response.ok ? response.json() : problem(await response.text());
}

function createPages() {
  /** @type {Wait | null} */
  let waiting = null;
  /** @type {Wait | null} */
  let ahead = null;

  /** @param {PageRequest} request */
  function start(request) {
    const [ending, wait] = [new AbortController(), newWait()];
    const page = fetchPage(request, wait, ending.signal).catch((error) =>
      error.name === "AbortError" ? null : problem(UNREACHABLE),
    );
    return { request, ending, page, wait, key: JSON.stringify(request) };
  }

  /** The page of a request, or null where another request followed. @param {PageRequest} request */
  async function newestPage(request) {
    waiting?.ending.abort();
    const mine = (waiting = ahead?.key === JSON.stringify(request) ? ahead : start(request));
    if (ahead !== mine) ahead?.ending.abort();
    ahead = null;
    sayWhile(mine);
    const page = await mine.page;
    if (waiting !== mine) return null;
    return page;
  }

  /** Prefetches a page and its points. @param {PageRequest} request */
  function beforehand(request) {
    ahead?.ending.abort();
    const mine = (ahead = start(request));
    mine.page.then((page) => page?.picture && mine === ahead && pointsOf(page, mine.ending.signal));
  }

  return { newestPage, beforehand };
}

/**
 * Resolves when the points of a page are loaded, or have failed: the picture shows which.
 * @param {Partial<Page>} page @param {AbortSignal} [signal]
 */
const pointsOf = (page, signal) => prefetch(page.picture.points, signal).catch(() => {});

/** @type {Part[]} */
const PARTS = ["above", "beside", "below", "navigation", "drawer", "header"];
/** Milliseconds that a title waits for its picture at most, and charts for its painting. */
const TOGETHER = 400;
const PAINTED = 1000;
/** Milliseconds until the next head is prefetched, and between two checks whether the picture is painted. */
const REST = 150;
const LOOK = 20;

const dash = () => window.dash_clientside;
/** @param {ComponentId} id */
const standing = (id) => window.dash_component_api.getLayout(id)?.props;
/** @param {Partial<Page>} page */
const isHead = (page) => page?.shown && pageNow() === "head";

const pages = createPages();
/** The page on screen, and charts that have yet to follow it. */
/** @type {Partial<Page>} */
let shown = {};
/** @type {Change[]} */
let late = [];
let resting = 0;
let newest = null;
/** The link that `dropInvalid` has made of the one of the page on screen. */
/** @type {string | null} */
let dropped = null;

/** @type {Pick<Page, "picture" | "sentence" | "message" | "beside" | "below">} */
const EMPTY = { picture: null, sentence: null, message: null, beside: [], below: [] };

/** A sentence instead of a page. @param {string} sentence @returns {Page} */
function refused(sentence) {
  const alert = {
    namespace: "dash_mantine_components",
    type: "Alert",
    props: { children: sentence, color: "red", title: "This cannot be shown", className: "problem" },
  };
  return {
    navigation: [],
    drawer: [],
    header: [],
    ...shown,
    ...EMPTY,
    above: [alert],
  };
}

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Draws charts after the picture, since they take long. @param {Partial<Page>} page */
async function drawLate(page) {
  const isPainted = () => !page.picture || document.querySelector(".frame")?.dataset.drawn === page.picture.points;
  for (let waited = 0; waited < PAINTED && !isPainted(); waited += LOOK) await pause(LOOK);
  await new Promise(requestAnimationFrame);
  await pause(0);
  if (shown === page) late.splice(0).forEach(({ id, props }) => dash().set_props(id, props));
}

/**
 * Changes a component; what it waits for is asked for by its id, as Dash asks where it renders a part of a page.
 * @param {Change} change
 */
function apply({ id, props }) {
  dash().set_props(id, props);
  const wait = waitOf(props.children);
  if (wait) dash().set_props(wait, { id: wait });
}

/**
 * Replaces a part of the page, or changes its components where they are the same.
 * @param {Part} part @param {Partial<Page>} page
 */
function renew(part, page) {
  const changed = shown[part] && changes(shown[part], page[part], standing);
  late = late.filter((change) => change.part !== part || (changed && !changed.some(({ id }) => id === change.id)));
  if (!changed) return page[part];
  for (const change of changed)
    if (change.type === "Chart") late.push({ ...change, part });
    else apply(change);
  return dash().no_update;
}

/** @param {Partial<Page>} page */
function outputs(page) {
  const parts = PARTS.map((part) => renew(part, page));
  shown = structuredClone(page); // plotly writes into the figures that it draws
  if (late.length) drawLate(shown);
  return [page.picture, page.sentence, page.message, ...parts, page.shown || dash().no_update];
}

/**
 * Prefetches the next head in the direction of the last step.
 * @param {Partial<Page>} before @param {Partial<Page>} page
 */
function lookAhead(before, page) {
  clearTimeout(resting);
  if (!isHead(before) || !isHead(page) || !page.picture) return;
  const [rows, columns] = ["layer", "head"].map((field) => Number(page.shown[field]) - Number(before.shown[field]));
  if (Math.abs(rows) + Math.abs(columns) !== 1) return;
  resting = setTimeout(() => {
    const next = neighbour(page.picture, { rows, columns });
    if (next) pages.beforehand(requestOf(.../** @type {[string, string]} */ (next.split(/(?=\?)/))));
  }, REST);
}

/** A tab stays at the snapshot that it shows until its reader asks for another one. @param {string} pathname */
const requestOf = (pathname, search = "") => ({ pathname, search, snapshot: shown.shown?.snapshot || "" });

/**
 * Waits for the points of another head, so that title, numbers and picture change together.
 * @param {Partial<Page>} page
 */
async function together(page) {
  const { picture } = page;
  if (!isHead(shown) || !picture || picture.points === shown.picture?.points) return;
  await Promise.race([pointsOf(page), pause(TOGETHER)]);
}

/**
 * Whether two links are of one page and alike in these fields.
 * @param {string} before @param {string} after @param {string[]} fields
 */
export function isSameJob(before, after, fields) {
  const [was, is] = [before, after].map((link) => new URL(link, "http://localhost"));
  return (
    was.pathname === is.pathname && fields.every((field) => was.searchParams.get(field) === is.searchParams.get(field))
  );
}

/**
 * Cancels the jobs that the page waits for, unless the next page waits for the same (dashboard/ui/work.py).
 * @param {string} before @param {string} after
 */
function endJobs(before, after) {
  for (const job of document.querySelectorAll(".job, .waiting"))
    if (!isSameJob(before, after, job.dataset.fields.split(" "))) job.querySelector(".cancel")?.click();
}

/**
 * The parts of the page at a link; no update where the reader has gone on.
 * @param {string} pathname @param {string} search
 */
export async function followPage(pathname, search) {
  if (dropped === pathname + (search || "")) {
    dropped = null;
    return Array(PARTS.length + 4).fill(dash().no_update);
  }
  const link = requestOf(pathname, search);
  const element = document.getElementById("page");
  element.setAttribute("aria-busy", "true");
  endJobs(element.dataset.link || "", pathname + (search || ""));
  clearTimeout(resting);
  const mine = (newest = {});
  const next = await pages.newestPage(link);
  if (next && !next.problem) await together(next);
  if (!next || newest !== mine) return Array(PARTS.length + 4).fill(dash().no_update);
  const before = shown;
  const values = outputs(next.problem ? refused(next.problem) : next);
  if (next.problem) values[values.length - 1] = dash().no_update; // the link stays that of the page that was refused
  lookAhead(before, next);
  element.removeAttribute("aria-busy");
  element.dataset.link = pathname + (search || "");
  return values;
}

/**
 * Shows what a job has made: at the link with its fields, or by the page of this link anew.
 * @param {(Record<string, string> | null)[]} done
 */
export function showDone(done) {
  const fields = done.at(-1);
  if (!fields) return Array(PARTS.length + 4).fill(dash().no_update);
  const { pathname, search } = window.location;
  const written = new URLSearchParams(search);
  written.delete("at");
  for (const [field, value] of Object.entries(fields)) written.set(field, value);
  if (same([...written], [...new URLSearchParams(search)])) return followPage(pathname, search);
  visit(`${pathname}?${written}`);
  return Array(PARTS.length + 4).fill(dash().no_update);
}

/**
 * Replaces the link of the page on screen by one with the path of the page, as older links have another, and without
 * the invalid values that its notice names: the notice is shown once. Not where the reader or the camera has changed
 * the link meanwhile.
 * @param {Shown} shown
 */
export function dropInvalid({ path, link, written }) {
  const { pathname, search, hash } = window.location;
  const isShown = document.getElementById("page").dataset.link === pathname + search;
  if (written === undefined ? path === pathname || !isShown : written !== search) return;
  window.history.replaceState(window.history.state, "", path + link + hash);
  dropped = path + window.location.search;
  document.getElementById("page").dataset.link = dropped;
  window.dispatchEvent(new CustomEvent("_dashprivate_pushstate")); // Dash follows the address bar
}

/**
 * Whether the navigation of a narrow window is open, for its button and for itself: either changes both, another page
 * closes it.
 * @param {boolean} burger @param {boolean} drawer
 */
export function toggleDrawer(burger, drawer) {
  const [used] = dash().callback_context.triggered.map(({ prop_id }) => prop_id);
  const open = used === "burger.opened" ? burger : used === "drawer.opened" && drawer;
  return [open, open];
}

/** A link that names a part of its page scrolls there: Dash has taken the click and scrolled to the top before. */
export function scrollToParts() {
  window.addEventListener("click", (event) => {
    const link = /** @type {HTMLAnchorElement} */ (event.target.closest?.("a[href]"));
    if (event.defaultPrevented && link?.hash) document.getElementById(link.hash.slice(1))?.scrollIntoView();
  });
}

/** Milliseconds before a page is asked for its progress, and between two times. */
const [FIRST, AGAIN] = [400, 500];
const FIXED = "The server puts this page together.";

/** A name for a wait that nobody guesses, as dashboard/ui/work.py checks it. */
export const newWait = () =>
  [...window.crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** What the server does now for the page; a fixed sentence where it does not say. @param {string} wait */
async function progressOf(wait) {
  const body = new URLSearchParams({ wait });
  const response = await fetch(pathOf("data/page/progress"), { method: "POST", body }).catch(
    () => /** @type {Response} */ (null),
  );
  return (response?.ok && (await response.json()).said) || FIXED;
}

/**
 * Keeps the words of the page's skeleton, or those over the page before, until the page is there.
 * @param {{ page: Promise<unknown>, wait: string }} given
 */
export async function sayWhile({ page, wait }) {
  let isThere = false;
  page.finally(() => (isThere = true));
  const { dataset } = document.getElementById("page");
  dataset.said = FIXED;
  for (let next = FIRST; ; next = AGAIN) {
    await pause(next);
    if (isThere) return;
    const said = await progressOf(wait);
    if (isThere) return;
    dataset.said = said;
  }
}
