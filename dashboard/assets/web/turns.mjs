// What takes long to draw is drawn in turns: one after the other, with a frame between two, so that the first is seen
// while the next is drawn. What is near the window comes first, what is far from it while the browser rests.
import { pause } from "./loading.mjs";

/** Milliseconds between two looks whether what has its turn is drawn, and after which the next has its turn anyway. */
const [LOOK_MS, PATIENCE_MS] = [20, 10_000];
/** Milliseconds that a frame is waited for: a window that is not seen has none. */
const FRAME_MS = 100;

/** @param {() => void} act */
const whenResting = (act) => (window.requestIdleCallback ?? setTimeout)(act);
const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** @typedef {{ draw: () => void, isDrawn: () => boolean, isNear: boolean }} Turn */

/** @param {Turn} turn */
async function taken({ draw, isDrawn }) {
  draw();
  for (let waited = 0; waited < PATIENCE_MS && !isDrawn(); waited += LOOK_MS) await pause(LOOK_MS);
  await Promise.race([frame(), pause(FRAME_MS)]);
}

/** Turns of their own. `rest` calls back when the browser rests. */
export function createTurns(rest = whenResting) {
  /** @type {Set<Turn>} */
  const waiting = new Set();
  let [isDrawing, isResting] = [false, false];

  /** The first that is near, else the first of all while the browser rests. */
  function next() {
    if (isDrawing || !waiting.size) return;
    const near = [...waiting].find(({ isNear }) => isNear);
    if (near) take(near);
    else if (!isResting) {
      isResting = true;
      rest(() => ((isResting = false), isDrawing || takeAny()));
    }
  }

  function takeAny() {
    const [first] = [...waiting].sort((a, b) => Number(b.isNear) - Number(a.isNear));
    if (first) take(first);
  }

  /** @param {Turn} turn */
  async function take(turn) {
    isDrawing = true;
    waiting.delete(turn);
    await taken(turn);
    isDrawing = false;
    next();
  }

  /**
   * Calls `draw` once in its turn. Gives what says that it is near the window, and what withdraws it.
   * @param {() => void} draw @param {() => boolean} isDrawn
   */
  function add(draw, isDrawn) {
    const turn = { draw, isDrawn, isNear: false };
    waiting.add(turn);
    next();
    // Several come near at once, in any order: the first of the page has the first turn.
    const near = () => ((turn.isNear = true), setTimeout(next));
    return { near, withdraw: () => void waiting.delete(turn) };
  }

  return { add };
}
