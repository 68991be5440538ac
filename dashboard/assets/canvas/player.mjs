// From one picture to the next: the panel that stands in for a picture on its way; and the same tokens through a
// sequence of pictures, by a button, a slider, and the animation between two pictures.
import { ease, isReduced } from "./camera.mjs";
import { slotOf } from "./layout.mjs";
import { decodePoints } from "./painter.mjs";
import { elementIn, required, write } from "../web/elements.mjs";
import { fetchPart, pause as wait, readBytes } from "../web/loading.mjs";

/**
 * Milliseconds of an animation in play, of a reader's step, between two animations, and until a rest becomes a link.
 */
const [PLAYED_MS, STEPPED_MS, REST_MS, LINK_DELAY_MS] = [900, 280, 450, 300];
/** @param {Picture | null} picture */
const urls = (picture) => (picture?.sequence || []).map((step) => step.points).join(" ");

/**
 * Whether two pictures show the same tokens in one sequence.
 * @param {Picture | null} before @param {Picture | null} picture
 */
export const shareSequence = (before, picture) =>
  Boolean(before?.sequence && picture?.sequence && urls(before) === urls(picture));

/** URL of a picture's points, without its query string. @param {Picture | null} picture */
export const pointsOf = (picture) => picture?.points.split("?")[0];
/** The panel in the first place of the grid. @param {Picture} picture */
export const firstPanel = ({ slots }) => (slots ? slots.indexOf(0) : 0);
/**
 * Whether two pictures have their panels at the same places.
 * @param {Picture | null} before @param {Picture} picture
 */
export const standAlike = (before, picture) => String(before?.slots || "") === String(picture.slots || "");

/**
 * The panel of a grid that the other picture shows alone; -1 where there is none or it is not drawn.
 * @param {Picture | null} before @param {Picture} picture
 */
export function sharedPanel(before, picture) {
  const isInto = before && before.panels.length > picture.panels.length;
  const [grid, single] = isInto ? [before, picture] : [picture, before];
  if (grid.panels.length < 2 || single?.panels.length !== 1) return -1;
  const panel = grid.panels.findIndex(({ name }) => name === single.panels[0].name);
  return panel < 0 || slotOf(grid, panel) < 0 ? -1 : panel;
}

/**
 * The panel that stands in for a picture on its way: the grid's panel for a head, the head for a grid.
 * @param {Panels} panels @returns {{ only?: number, shift: number }}
 */
export function standIn({ data, picture, layout, gridPanel }) {
  const count = data.points?.panels;
  if (!count || count === picture.panels.length) return { shift: 0 };
  const panel = Math.max(0, gridPanel);
  return count === 1 ? { only: 0, shift: slotOf(layout, panel) } : { only: panel, shift: -panel };
}

/** @param {Picture} picture */
const stepsOf = (picture) => required(picture.sequence, "the sequence of a picture");
/** @param {Picture} picture */
const indexOf = (picture) => stepsOf(picture).findIndex((step) => step.points === picture.points);

/**
 * Places between two pictures, 0 <= part <= 1, rounded.
 * @param {Uint8Array | Uint16Array} from @param {Uint8Array | Uint16Array} to @param {number} part
 */
export const mixPlaces = (from, to, part) => from.map((value, i) => Math.round(value + (to[i] - value) * part));

/** @param {Panels} panels */
export function createPlayer(panels) {
  const state = { moving: false, between: 0, renew, step, pause, leave, placeOf, isAway, label };
  const frame = elementIn(panels.host, ".player");
  const [button, name] = ["button", "output"].map((tag) => document.createElement(tag));
  const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, step: 1 });
  let [at, reported, pending, turn, round, playing, waiting, drawing] = [0, 0, -1, 0, 0, false, 0, 0];
  let fetched = new Map();
  /** @type {Points | null} */
  let onward = null;
  build();

  function build() {
    button.setAttribute("type", "button");
    // Without WebGL2 nothing moves, so there is nothing to play.
    button.hidden = !panels.painter;
    slider.setAttribute("aria-label", "Point of the model");
    frame.replaceChildren(button, slider, name);
    panels.on(button, "click", () => (playing ? pause() : play()));
    panels.on(slider, "input", () => (pause(), go(Number(slider.value), STEPPED_MS)));
  }

  /** Takes another picture: moves on to its step, or starts its sequence. @param {boolean} isElsewhere */
  function renew(isElsewhere) {
    const { picture } = panels;
    frame.hidden = !picture.sequence;
    if (isElsewhere) leave();
    if (!picture.sequence) return;
    slider.max = String(picture.sequence.length - 1);
    const shown = (reported = indexOf(picture));
    if (isElsewhere) [at, fetched] = [shown, new Map()];
    else if (shown === pending) pending = -1;
    else if (pending < 0 && shown !== at && !state.moving && !playing && !waiting) go(shown, STEPPED_MS);
    showStep();
  }

  function showStep() {
    const sequence = stepsOf(panels.picture);
    panels.frame.setAttribute("aria-label", sequence[at].label);
    mark(isAway());
    if (at !== reported) panels.send({ step: { panel: (reported = at) } });
    slider.value = String(at);
    write(name, `${sequence[at].name} (${at + 1} of ${sequence.length})`);
    slider.setAttribute("aria-valuetext", sequence[at].name);
    button.textContent = playing ? "❚❚ Pause" : "▶ Play";
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  /** Label of the shown step; undefined without a sequence. */
  function label() {
    const shown = panels.picture.sequence?.[at];
    return shown && (state.moving ? `${shown.label}, on the way there` : shown.label);
  }

  /** Marks the page while the points are away from the step of the link. @param {boolean} away */
  const mark = (away) => panels.host.closest(".middle")?.toggleAttribute("data-away", away);

  // -- from one step to the next ----------------------------------------------------------------

  /** Points of a step, fetched once. @param {number} index */
  function fetchPoints(index) {
    const url = stepsOf(panels.picture)[index]?.points;
    if (!url) return null;
    if (!fetched.has(url)) {
      const read = readBytes(decodePoints);
      const coming = fetchPart(url).then(read);
      coming.catch(() => fetched.delete(url));
      fetched.set(url, coming);
    }
    return fetched.get(url);
  }

  /**
   * Moves to another step within `milliseconds`; resolves to whether it arrived.
   * @param {number} index @param {number} milliseconds
   */
  async function go(index, milliseconds) {
    const mine = ++turn;
    clearTimeout(waiting);
    at = index;
    if (!panels.painter) return send();
    state.moving = true;
    panels.hover.hide();
    panels.layer.clear();
    showStep();
    try {
      await panels.loaded;
      const points = await fetchPoints(index);
      Promise.resolve(fetchPoints(index + 1)).catch(() => {});
      if (mine === turn) await walk(points, mine, isReduced() ? 0 : milliseconds);
    } catch (error) {
      if (mine !== turn) return false;
      panels.problem.textContent = error.message;
      pause();
    }
    if (mine !== turn) return false;
    state.moving = false;
    panels.layer.renew();
    panels.layer.refresh();
    if (!playing) waiting = setTimeout(rest, LINK_DELAY_MS);
    return true;
  }

  const painterNow = () => required(panels.painter, "WebGL2");

  /** @param {Points} points @param {number} mine @param {number} milliseconds */
  function walk(points, mine, milliseconds) {
    stop();
    if (!milliseconds || panels.data.points?.tokens !== points.tokens || panels.data.points.panels !== 1)
      return arrive(points);
    onward = points;
    painterNow().takeOnward(points);
    const begin = performance.now();
    return new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
      /** @param {number} now */
      const move = (now) => {
        if (mine !== turn) return resolve();
        const part = Math.max(0, Math.min(1, (now - begin) / milliseconds));
        state.between = ease(part);
        if (part === 1) return (arrive(points), resolve());
        panels.paintNow();
        drawing = requestAnimationFrame(move);
      };
      drawing = requestAnimationFrame(move);
    });
  }

  /** Stops the points where they are, so that the next animation starts there. */
  function stop() {
    if (!onward) return;
    const { points } = panels;
    take({ ...points, places: mixPlaces(points.places, onward.places, state.between) });
  }

  /** @param {Points} points */
  function take(points) {
    cancelAnimationFrame(drawing);
    [onward, state.between] = [null, 0];
    panels.data = { ...panels.data, points };
    painterNow().takeOnward(null);
    painterNow().take(panels.data);
    panels.paint();
  }

  /** @param {Points} points */
  function arrive(points) {
    take(points);
    panels.frame.dataset.at = stepsOf(panels.picture)[at].points;
  }

  /** Present place, 0 to 1, of a point counted over all panels. @param {number} point */
  function placeOf(point) {
    const { components, places, most } = panels.points;
    /** @param {Uint8Array | Uint16Array} all @param {number} i */
    const coordinate = (all, i) => all[point * components + i] / most;
    /** @param {number} i */
    const away = (i) => (onward ? (coordinate(onward.places, i) - coordinate(places, i)) * state.between : 0);
    return Array.from({ length: components }, (_, i) => coordinate(places, i) + away(i));
  }

  // -- what the reader does ---------------------------------------------------------------------

  const last = () => stepsOf(panels.picture).length - 1;

  /** @param {number} by */
  function step(by) {
    pause();
    const index = Math.max(0, Math.min(last(), at + by));
    if (index !== at) go(index, STEPPED_MS);
  }

  async function play() {
    const mine = ++round;
    // Pausing and playing on within a rest starts another round, which ends this one.
    const goesOn = () => playing && mine === round;
    playing = true;
    panels.tool.cancel();
    showStep();
    if (at === last()) await go(0, STEPPED_MS);
    while (goesOn() && at < last()) {
      if (!(await go(at + 1, PLAYED_MS))) return;
      await wait(REST_MS);
    }
    if (goesOn()) pause();
  }

  function pause() {
    if (!playing) return;
    playing = false;
    showStep();
    if (!state.moving) rest();
  }

  /** Writes the step at rest into the link. */
  function rest() {
    waiting = 0;
    if (!panels.pictureNow?.sequence) return;
    // The page of a step that was sent may be on its way.
    if ((pending < 0 ? indexOf(panels.picture) : pending) !== at) return send();
    showStep();
    panels.layer.load();
  }

  function send() {
    pending = at;
    panels.cameraLink.forget();
    panels.send({ arrived: { panel: at } });
  }

  /** Whether the points are at another step than the link, or move. */
  function isAway() {
    return Boolean(panels.picture.sequence) && (state.moving || indexOf(panels.picture) !== at);
  }

  function leave() {
    turn++;
    clearTimeout(waiting);
    cancelAnimationFrame(drawing);
    [pending, playing, waiting, state.moving, onward, state.between] = [-1, false, 0, false, null, 0];
    mark(false);
    panels.painter?.takeOnward(null);
  }

  return state;
}
