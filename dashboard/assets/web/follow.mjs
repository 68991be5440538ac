// Follows the address bar: fetches the page of the newest link, cancels earlier requests, and updates what has changed
// on screen: components whose properties changed, or all of a part where its components are others. While the browser
// waits it says how far the server is: what it counts, and the share that is done.
import { neighbour, pageNow, pathOf, visit } from "./address.mjs";
import { elementOf } from "./elements.mjs";
import { UNREACHABLE, pause, prefetch, randomHex } from "./loading.mjs";
import { keepTabsScrolled, showPart } from "./room.mjs";
import { kindOf } from "./session.mjs";

/** A failed request in the form of a page. @param {string} sentence */
const problem = (sentence) => ({ problem: sentence });

/** @param {PageRequest} request @param {string} wait @param {AbortSignal} signal */
async function fetchPage(request, wait, signal) {
  const body = new URLSearchParams({ ...request, wait });
  return pageOf(await fetch(pathOf("data/page"), { method: "POST", body, signal }));
}

/** @param {Response} response */
async function pageOf(response) {
  const text = await response.text();
  if (text.includes('"type":"Chart"')) fetchPlotly();
  return response.ok ? JSON.parse(text) : problem(text);
}

/**
 * The page that `assets/early_page.js` has asked for; asked for anew where something else than the server has answered.
 * @param {FirstPage} asked
 */
async function firstPage({ request, wait, ending, response }) {
  const answer = await response;
  return answer?.ok && kindOf(answer) === "own" ? pageOf(answer) : fetchPage(request, wait, ending.signal);
}

/** Preloads plotly while the page with the first chart is put together. */
function fetchPlotly() {
  const href = window._dashPlotlyJSURL;
  if (!href || window.Plotly || document.querySelector(`link[href="${href}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "preload", as: "script", href }));
}

function createPages() {
  /** @type {Wait | null} */
  let waiting = null;
  /** @type {Wait | null} */
  let ahead = null;

  /** @param {Asked} asked @param {Promise<any>} answer @returns {Wait} */
  function begun(asked, answer) {
    const page = answer.catch((error) => (error.name === "AbortError" ? null : problem(UNREACHABLE)));
    return { ...asked, page, key: JSON.stringify(asked.request) };
  }

  /** @param {PageRequest} request */
  function start(request) {
    const asked = { request, ending: new AbortController(), wait: newWait() };
    return begun(asked, fetchPage(request, asked.wait, asked.ending.signal));
  }

  /** The page of a request, or null where another request followed. @param {PageRequest} request */
  async function newestPage(request) {
    if (!waiting && window.firstPage) ahead = begun(window.firstPage, firstPage(window.firstPage));
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
    mine.page.then((page) => page?.picture && mine === ahead && pointsOf(page.picture, mine.ending.signal));
  }

  return { newestPage, beforehand };
}

/**
 * Resolves when the points of a picture are loaded, or have failed: the picture shows which.
 * @param {Picture} picture @param {AbortSignal} [signal]
 */
const pointsOf = ({ points }, signal) => prefetch(points, signal).catch(() => {});

/** @type {Part[]} */
const PARTS = ["above", "beside", "below", "navigation", "drawer", "header"];
/** Milliseconds that a title waits for its picture at most, and charts for its painting. */
const PICTURE_WAIT_MS = 400;
const PAINTING_WAIT_MS = 1000;
/** Milliseconds until the next head is prefetched, and between two checks whether the picture is painted. */
const PREFETCH_DELAY_MS = 150;
const PAINTED_CHECK_MS = 20;

const dash = () => window.dash_clientside;
/** @param {ComponentId} id */
const standing = (id) => window.dash_component_api.getLayout(id)?.props ?? {};
/** @param {Partial<Page>} page */
const headOf = (page) => (pageNow() === "head" ? page.shown : undefined);

const pages = createPages();
/** The page on screen, and charts that have yet to follow it. */
/** @type {Partial<Page>} */
let shown = {};
/** @type {Change[]} */
let late = [];
let resting = 0;
let newest = null;
/** The link that `dropInvalid` has written for the page on screen. */
/** @type {string | null} */
let dropped = null;

/** @type {Pick<Page, "picture" | "sentence" | "message" | "beside" | "below">} */
const EMPTY = { picture: null, sentence: null, message: null, beside: [], below: [] };

/** A page that shows a sentence. @param {string} sentence @returns {Page} */
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
    title: "",
    above: [alert],
  };
}

/** Draws charts after the picture, since they take long. @param {Partial<Page>} page */
async function drawLate(page) {
  const isPainted = () => !page.picture || document.querySelector(".frame")?.dataset.drawn === page.picture.points;
  for (let waited = 0; waited < PAINTING_WAIT_MS && !isPainted(); waited += PAINTED_CHECK_MS)
    await pause(PAINTED_CHECK_MS);
  await new Promise(requestAnimationFrame);
  await pause(0);
  if (shown === page) late.splice(0).forEach(({ id, props }) => dash().set_props(id, props));
}

/**
 * Changes a component; content that it waits for is asked for by its id, as Dash does when it renders a part.
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
  document.title = [page.title, "Headscape"].filter(Boolean).join(" · "); // tabs and bookmarks tell pages apart
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
  const { picture } = page;
  const [was, is] = [before, page].map(headOf);
  if (!was || !is || !picture) return;
  const [rows, columns] = ["layer", "head"].map((field) => Number(is[field]) - Number(was[field]));
  if (Math.abs(rows) + Math.abs(columns) !== 1) return;
  resting = setTimeout(() => {
    const next = neighbour(picture, { rows, columns });
    if (next) pages.beforehand(requestOf(.../** @type {[string, string]} */ (next.split(/(?=\?)/))));
  }, PREFETCH_DELAY_MS);
}

/** A tab stays at the snapshot that it shows until its reader asks for another one. @param {string} pathname */
const requestOf = (pathname, search = "") => ({ pathname, search, snapshot: shown.shown?.snapshot || "" });

/**
 * Waits for the points of another head, so that title, numbers and picture change together.
 * @param {Partial<Page>} page
 */
async function together(page) {
  const { picture } = page;
  if (!headOf(shown) || !picture || picture.points === shown.picture?.points) return;
  await Promise.race([pointsOf(picture), pause(PICTURE_WAIT_MS)]);
}

/**
 * Whether two links have the same page and values of these fields.
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
    if (!isSameJob(before, after, (job.dataset.fields ?? "").split(" "))) job.querySelector(".cancel")?.click();
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
  const element = elementOf("page");
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
  keepTabsScrolled();
  if (element.dataset.link?.split("?")[0] !== pathname) showPart(window.location.hash);
  lookAhead(before, next);
  element.removeAttribute("aria-busy");
  element.dataset.link = pathname + (search || "");
  return values;
}

/**
 * Shows the result of a job: at the link with its fields, or by fetching this link's page anew.
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
  const isShown = elementOf("page").dataset.link === pathname + search;
  if (written === undefined ? path === pathname || !isShown : written !== search) return;
  window.history.replaceState(window.history.state, "", path + link + hash);
  dropped = path + window.location.search;
  elementOf("page").dataset.link = dropped;
  window.dispatchEvent(new CustomEvent("_dashprivate_pushstate")); // Dash follows the address bar
}

/** Milliseconds before a page's progress is asked for, and between two requests. */
const [FIRST_PROGRESS_MS, NEXT_PROGRESS_MS] = [400, 500];
const NO_PROGRESS = "The server puts this page together.";

/** A name for a wait that nobody guesses, as dashboard/ui/work.py checks it. */
const newWait = () => randomHex(8);

/** The server's present work for the page; a fixed sentence where unknown. @param {string} wait */
async function progressOf(wait) {
  const body = new URLSearchParams({ wait });
  const response = await fetch(pathOf("data/page/progress"), { method: "POST", body }).catch(() => null);
  return (response?.ok && (await response.json()).said) || NO_PROGRESS;
}

/**
 * Renews the words on the page's skeleton, or over the page before, until the page is there.
 * @param {{ page: Promise<unknown>, wait: string }} given
 */
async function sayWhile({ page, wait }) {
  let isThere = false;
  page.finally(() => (isThere = true));
  const { dataset } = elementOf("page");
  dataset.said = NO_PROGRESS;
  for (let next = FIRST_PROGRESS_MS; ; next = NEXT_PROGRESS_MS) {
    await pause(next);
    if (isThere) return;
    const said = await progressOf(wait);
    if (isThere) return;
    dataset.said = said;
  }
}

/** @param {unknown} item @param {unknown} other */
const same = (item, other) => JSON.stringify(item) === JSON.stringify(other);
/**
 * Whether a control of numbers holds a number: a reader who writes 0.05 has first written "0." and "0.0".
 * @param {unknown} present @param {unknown} wanted
 */
const holds = (present, wanted) => typeof present === "string" && present !== "" && Number(present) === wanted;
/** @param {any} node */
const isComponent = (node) => Boolean(node?.props && node.type);
/** @param {unknown} children */
const isText = (children) => typeof children === "string" || typeof children === "number";
/**
 * Properties that a reader or the picture changes: they may differ from those that the page was given last.
 */
const CHANGED_BY_READER = ["value", "checked", "children"];

/**
 * The properties of a component without its children; a text inside a component with an id is a property.
 * @param {Component} component
 */
const ownProperties = ({ props: { children, ...own } }) =>
  own.id !== undefined && isText(children) ? { ...own, children } : own;

/** @param {Component} before @param {Component} after @param {Current} current */
function ofProperties(before, after, current) {
  const [was, is] = [ownProperties(before), ownProperties(after)];
  if (Object.keys(was).some((name) => !(name in is))) return null;
  const present = after.props.id === undefined ? was : { ...was, ...current(after.props.id) };
  const changed = Object.keys(is).filter((name) => {
    const stands = (CHANGED_BY_READER.includes(name) ? present : was)[name];
    return !same(stands, is[name]) && !holds(stands, is[name]);
  });
  if (changed.length && after.props.id === undefined) return null;
  return changed.length
    ? [{ id: after.props.id, type: after.type, props: Object.fromEntries(changed.map((name) => [name, is[name]])) }]
    : [];
}

/**
 * The id of deferred content in a component, as dashboard/ui/deferred.py names it; undefined without any.
 * @param {any} node
 * @returns {any}
 */
export function waitOf(node) {
  if (Array.isArray(node)) return node.map(waitOf).find(Boolean);
  if (!isComponent(node)) return undefined;
  return node.props.id?.is === "content" ? node.props.id : waitOf(node.props.children);
}

/**
 * The change that replaces a deferred part, which was or is missing: the rest of the page stays.
 * @param {Component} component
 */
const refilled = ({ type, props: { id, children } }) => [{ id, type, props: { children } }];

/** @param {unknown[]} before @param {unknown[]} after @param {Current} current @returns {Change[] | null} */
function ofEach(before, after, current) {
  if (before.length !== after.length) return null;
  const every = after.map((item, i) => changes(before[i], item, current));
  return every.some((change) => change === null) ? null : every.flatMap((change) => change ?? []);
}

/**
 * Changes as {id, type, props}; null where components differ. `current(id)` gives the present properties of a
 * component.
 * @param {any} before @param {any} after @param {Current} current
 * @returns {Change[] | null}
 */
export function changes(before, after, current) {
  if (Array.isArray(before) && Array.isArray(after)) return ofEach(before, after, current);
  if (!isComponent(before) || !isComponent(after)) return same(before, after) ? [] : null;
  if (before.type !== after.type || before.namespace !== after.namespace || !same(before.props.id, after.props.id))
    return null;
  if (after.props.id?.place && [before, after].some(waitOf)) return refilled(after);
  const own = ofProperties(before, after, current);
  const inner = "children" in ownProperties(after) ? [] : changes(before.props.children, after.props.children, current);
  return own && inner && [...own, ...inner];
}
