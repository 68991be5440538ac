// Points in a notebook: the canvas of pages Heads and Head. The parts of its picture are in the widget, which
// answers requests for their URLs; Python computes the points in a region and the lines of a clicked point.
import { panelElements } from "../canvas/frame.mjs";
import { Panels } from "../canvas/panels.mjs";
import { make } from "../web/elements.mjs";
import { answerItself } from "../web/loading.mjs";

/** Beginning of the URLs of a widget's parts. */
export const BASE = "headscape:";
/** Largest height of a picture in pixels: a cell is no page. */
const MOST_HEIGHT = 560;

/**
 * An element from the arguments of React's `createElement`.
 * @param {any} tag @param {any} properties @param {any} [children]
 * @returns {HTMLElement}
 */
export function element(tag, { key: _key, ref: _ref, ...properties }, children = []) {
  return make(tag, properties, .../** @type {any[]} */ ([children]).flat().filter(Boolean));
}

/**
 * The card of a token, from the tokens of its sentence that are drawn.
 * @param {DrawnTokens} tokens @param {string} role @param {number} token
 * @returns {Card}
 */
export function cardOf({ ids, pieces, texts, positions, sentences }, role, token) {
  const first = Math.max(0, token - positions[token]);
  let stop = token + 1;
  while (stop < ids.length && sentences[stop] === sentences[token]) stop++;
  const own = ids.slice(first, stop);
  const place = { position: positions[token], sentence: sentences[token], received: NaN, entropy: NaN };
  const where = `${role}, position ${place.position} in sentence ${place.sentence.toLocaleString("en")}`;
  const names = { wordpieces: own.map((id) => pieces[id]), texts: own.map((id) => texts[id]) };
  return { role, wordpiece: pieces[ids[token]], where, ...place, ...names };
}

/**
 * The part of a widget at a URL: bytes, or an object for JSON; nothing where there is none.
 * @param {WidgetModel} model @param {string} path
 */
export function partAt(model, path) {
  const [what, ...rest] = path.split("/");
  const { tokens } = /** @type {PointsContent} */ (model.get("content"));
  if (what === "points") return model.get("data").points;
  if (what === "mask") return model.get("answer").mask;
  if (what === "focus") return model.get("answer").focus;
  if (what === "labels") return { pieces: tokens?.pieces, ids: tokens?.ids };
  return tokens && cardOf(tokens, rest[0], parseInt(rest[1]));
}

/** Number of drawn widgets: some notebooks share a module between widgets. */
let count = 0;

/** @param {WidgetModel} model @param {string} path */
async function answer(model, path) {
  const part = partAt(model, path);
  return new Response(/** @type {any} */ (part) instanceof DataView ? part : JSON.stringify(part));
}

/**
 * The picture to draw, from the widget's content and the reader's choices; its URLs begin with `base`.
 * @param {PointsContent} content @param {PointsState} state @param {PointsAnswer} given
 * @returns {Picture}
 */
export function pictureOf({ picture }, { lasso, token, role, at }, { of, mask, focus }, base = BASE) {
  const chosen = token === null ? null : { token, role };
  const { points, labels, card } = picture;
  return {
    ...picture,
    points: points.replace(BASE, base),
    labels: labels && labels.replace(BASE, base),
    card: card && card.replace(BASE, base),
    chosen,
    lasso,
    at,
    mask: mask && of.lasso === lasso ? `${base}mask/${lasso}` : null,
    focus: focus && chosen && of.token === token && of.role === role ? `${base}focus/${role}/${token}` : null,
  };
}

/**
 * The state after an event in the picture.
 * @param {PointsState} state @param {PointsContent} content @param {any} event @returns {PointsState}
 */
export function stateAfter(state, { heads }, { lassoed, picked, opened }) {
  if (lassoed) return { ...state, lasso: lassoed.lasso || null };
  if (picked) return { ...state, token: picked.token < 0 ? null : picked.token, role: picked.role };
  if (opened) return { ...state, layer: Math.floor(opened.panel / heads), head: opened.panel % heads };
  return state;
}

/** @param {WidgetModel} model @param {HTMLElement} place @param {AbortSignal} signal */
export function mount(model, place, signal) {
  const content = /** @type {PointsContent} */ (model.get("content"));
  const base = `${BASE}${++count}/`;
  const picture = () => pictureOf(content, model.get("state"), model.get("answer"), base);
  const drawn = picture();
  const host = panelElements(/** @type {any} */ (element), { picture: drawn, noted: null });
  const title = make("p", { className: "caption", textContent: drawn.label });
  place.append(title, /** @type {HTMLElement} */ (host));
  const leave = answerItself(base, (url) => answer(model, url.slice(base.length)));
  const panels = new Panels(/** @type {HTMLElement} */ (host), { most: MOST_HEIGHT, leaves: false });

  function draw() {
    panels.update(picture(), null, (event) => tell(event));
  }

  /** @param {Record<string, unknown>} event */
  function tell(event) {
    const state = model.get("state");
    const next = stateAfter(state, content, event);
    if (next === state) return;
    model.set("state", next);
    model.save_changes();
    draw();
  }

  for (const name of ["state", "answer"]) model.on(`change:${name}`, draw);
  signal.addEventListener("abort", () => {
    for (const name of ["state", "answer"]) model.off(`change:${name}`, draw);
    panels.release();
    leave();
  });
  draw();
}
