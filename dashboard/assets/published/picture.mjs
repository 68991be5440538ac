// A published picture: the canvas of the dashboard on files of the site. Of all heads a click opens the page of one; of
// one head a choice colours the points, and a click draws the lines of a point.
//
// Every address of the dashboard's data is a file of the site, or is answered from files that several pages share.
// dashboard/published/markup.py names the files, drawn.py has the format of the lines.
import { start as startPage } from "./page.mjs";
import { panelElements } from "../canvas/frame.mjs";
import { decodePoints } from "../canvas/painter.mjs";
import { Panels } from "../canvas/panels.mjs";
import { cardOf, element } from "../notebook/points.mjs";
import { elementIn, elementOf } from "../web/elements.mjs";
import { hasModifier } from "../web/keyboard.mjs";
import { answerItself, expectBytes, readHeader } from "../web/loading.mjs";

const LEVELS = 65535;
/** Smallest weight that is drawn as a line. */
const LEAST = 0.05;

/** The file of an address of data, from the folder of the data on. @param {string} address @param {string} base */
export const fileOf = (address, base) => address.slice(base.length + 1).split("?")[0];

/**
 * Received attention and entropy of tokens, and the strongest lines of every point.
 * @param {ArrayBuffer} buffer @returns {PublishedLines}
 */
export function decodeLines(buffer) {
  const { numbers, start: first } = readHeader(buffer, "HSL1", "lines", 3);
  const [tokens, lines, width] = numbers;
  const count = 2 * tokens * lines;
  expectBytes(buffer, first, 8 * tokens + count * (2 + width), "lines");
  const weights = new Uint16Array(buffer, first + 8 * tokens, count);
  const at = first + 8 * tokens + 2 * count;
  return {
    lines,
    received: new Float32Array(buffer, first, tokens),
    entropy: new Float32Array(buffer, first + 4 * tokens, tokens),
    weights,
    partners: width === 1 ? new Uint8Array(buffer, at, count) : new Uint16Array(buffer, at, count),
  };
}

/**
 * The tokens with which a point exchanges most attention: positions in its sentence, with weights.
 * @param {PublishedLines} stored @param {number} token @param {number} role
 */
function partnersOf({ lines, weights, partners }, token, role) {
  const first = (2 * token + role) * lines;
  return Array.from({ length: lines }, (_, i) => ({
    position: partners[first + i],
    weight: weights[first + i] / LEVELS,
  })).filter(({ weight }) => weight > 0);
}

/**
 * The card of a point, as the server makes it.
 * @param {DrawnTokens} tokens @param {PublishedLines} stored @param {string} role @param {number} token
 * @returns {Card}
 */
export function publishedCard(tokens, stored, role, token) {
  const card = cardOf(tokens, role, token);
  const partners = partnersOf(stored, token, role === "query" ? 0 : 1);
  return {
    ...card,
    received: stored.received[token],
    entropy: stored.entropy[token],
    partners: partners.map((partner) => ({ ...partner, wordpiece: card.wordpieces[partner.position] })),
  };
}

/**
 * The overlay of a clicked point: the places of its sentence, and its strongest lines.
 * @param {DrawnTokens} tokens @param {PublishedLines} stored @param {Points} points @param {string} role
 * @param {number} token @returns {Focus}
 */
export function publishedFocus(tokens, stored, points, role, token) {
  const { wordpieces: pieces, position } = cardOf(tokens, role, token);
  const first = token - position;
  const { components, places, most } = points;
  /** @param {number} point */
  const placeOf = (point) =>
    /** @type {Place} */ (Array.from({ length: components }, (_, axis) => places[point * components + axis] / most));
  const own = partnersOf(stored, token, role === "query" ? 0 : 1).filter(({ weight }) => weight >= LEAST);
  return {
    position,
    pieces,
    places: pieces.map((_, at) => [placeOf(2 * (first + at)), placeOf(2 * (first + at) + 1)]),
    lines: own.map(({ position: other, weight }) =>
      role === "query" ? [position, other, weight] : [other, position, weight],
    ),
    near: [],
  };
}

/**
 * The picture with its reader's choices.
 * @param {PublishedPicture} given @param {{ colour: number, chosen: Picture["chosen"] }} state @returns {Picture}
 */
export function pictureOf({ picture, colours, ramps, focus }, { colour, chosen }) {
  const { codes = null, kind = "category" } = colours[colour] ?? {};
  const coloured = {
    colours: codes,
    ramp: codes ? ramps[kind] : null,
    outlined: Boolean(codes) && kind === "category",
  };
  const lines = chosen && focus ? `${focus}${chosen.role}/${chosen.token}.json` : null;
  return { ...picture, ...coloured, chosen, focus: lines };
}

/** @param {string} url */
async function fetchFile(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The site lacks the file ${url}. Publish it again.`);
  return response;
}

/**
 * What a failed request answers: the sentence of an error of ours. An error of the browser has another name than Error
 * and no sentence for a reader.
 * @param {Error} error
 */
function refuse(error) {
  if (error.name !== "Error") throw error;
  return new Response(error.message, { status: 404 });
}

/**
 * The function that answers requests for a page's data.
 * @param {PublishedPicture} given
 */
export function openFiles({ base, data, lines, points }) {
  const kept = /** @type {Map<string, Promise<any>>} */ (new Map());

  /** @template T @param {string} url @param {(response: Response) => Promise<T>} read @returns {Promise<T>} */
  function once(url, read) {
    const known = kept.get(url);
    if (known) return known;
    const coming = fetchFile(url).then(read);
    kept.set(url, coming);
    coming.catch(() => kept.delete(url));
    return coming;
  }

  const tokens = () => once(`${data}drawn.json`, (response) => response.json());
  /** @template T @param {(bytes: ArrayBuffer) => T} decode */
  const decoded = (decode) => async (/** @type {Response} */ response) => decode(await response.arrayBuffer());
  const stored = () => once(`${data}${lines}`, decoded(decodeLines));

  /** @param {string} address */
  async function answer(address) {
    const file = fileOf(address, base);
    const [what, ...rest] = file.split("/");
    if (file === "tokens.json") {
      const { ids, pieces } = await tokens();
      return new Response(JSON.stringify({ ids, pieces }));
    }
    if (what !== "token" && what !== "focus") return fetchFile(data + file);
    const [role, token] = [rest[rest.length - 2], parseInt(rest[rest.length - 1])];
    const known = /** @type {const} */ ([await tokens(), await stored()]);
    if (what === "token") return new Response(JSON.stringify(publishedCard(...known, role, token)));
    const places = await once(data + fileOf(points, base), decoded(decodePoints));
    return new Response(JSON.stringify(publishedFocus(...known, places, role, token)));
  }

  /** @param {string} address */
  return (address) => answer(address).catch(refuse);
}

/** Largest height of a picture in pixels, and pixels that a frame of another page leaves round it. */
const MOST_HEIGHT = 620;
const AROUND = 16;

const isEmbedded = () => document.documentElement.hasAttribute("data-embed");

/**
 * Shows a picture. A published page has no fields in its link: the camera stays out of the address.
 * @param {PublishedPicture} given @param {HTMLElement} place
 */
function show(given, place) {
  const state = { colour: 0, chosen: /** @type {Picture["chosen"]} */ (null) };
  answerItself(given.base, openFiles(given));
  const first = pictureOf(given, state);
  const host = /** @type {HTMLElement} */ (
    /** @type {unknown} */ (panelElements(/** @type {any} */ (element), { picture: first, noted: null }))
  );
  place.replaceChildren(host);
  const most = isEmbedded() ? window.innerHeight - AROUND : MOST_HEIGHT;
  const panels = new Panels(host, { most, leaves: Boolean(given.every) && !isEmbedded() });

  function draw() {
    panels.update(pictureOf(given, state), null, tell);
  }

  /** @param {Record<string, any>} event */
  function tell({ opened, left, picked }) {
    if (opened && given.pages[opened.panel]) window.location.assign(given.pages[opened.panel]);
    if (left && given.every) window.location.assign(given.every);
    if (!picked) return;
    state.chosen = picked.token < 0 ? null : { token: picked.token, role: picked.role };
    draw();
  }

  host.addEventListener("keydown", (event) => {
    const href = event.shiftKey || hasModifier(event) || event.target !== panels.frame ? "" : given.steps[event.key];
    if (href && !isEmbedded()) window.location.assign(href);
  });
  const choice = /** @type {HTMLSelectElement | null} */ (document.getElementById("colour"));
  choice?.addEventListener("change", () => {
    state.colour = choice.selectedIndex;
    for (const legend of document.querySelectorAll("[data-legend]"))
      legend.toggleAttribute("hidden", legend.getAttribute("data-legend") !== choice.value);
    draw();
  });
  draw();
}

/** Starts the page: what every page does, and its picture. */
export function start() {
  startPage();
  show(JSON.parse(elementIn(document, "#published").textContent), elementOf("picture"));
}
