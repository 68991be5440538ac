// Draws charts once they are near the window, shows entries of their legends alone by keyboard, and saves charts as
// files: plotly draws them again with a title, the sentences that their numbers are of, and their source; a PNG at
// double size.
//
// A chart takes long to draw. Charts are drawn in turns: one after the other, with a frame between two, so that the
// first is seen while the next is drawn. Charts near the window come first, charts far from it while the browser
// rests.
import { contextOf, widthInFile, breakLines, escapeHtml } from "./drawing.mjs";
import { required } from "./elements.mjs";
import { pause } from "./loading.mjs";

const PIXEL_RATIO = 2;
const DRAWN_CHECK_MS = 100;
/** Pixels of a line of the title, of a line below it, beside them, above and below. */
const [TITLE, SMALL, BESIDE, ROOM] = [15, 11, 12, 18];
/** Pixels by which plotly sets a title of several lines too high. */
const LIFT = 8;
/** Colours of a file, which is on white in either theme. */
const [INK, PAPER] = ["#1a1b1e", "#ffffff"];

/** Characters of markup, by their references in names of traces. @type {Record<string, string>} */
const CHARACTERS = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&#36;": "$" };

/** Milliseconds between two looks whether a chart is drawn, and after which the next has its turn anyway. */
const [LOOK_MS, PATIENCE_MS] = [20, 10_000];
/** Milliseconds to wait for a frame: a window that is not seen has none. */
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

/** A queue of turns. `rest(act)` calls when the browser rests. */
export function createTurns(rest = whenResting) {
  /** @type {Set<Turn>} */
  const waiting = new Set();
  let [isDrawing, isResting] = [false, false];

  /** Takes the first turn near the window, else the first while the browser rests. */
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
   * Calls `draw` once in its turn. Returns {near, withdraw}; `near` says that it is near the window.
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

/** How far beyond the window a chart is near. */
const NEAR = "200px";
const turns = createTurns();

/** Calls `draw` once, in its turn; returns what withdraws it. @param {HTMLElement} element @param {() => void} draw */
function drawLater(element, draw) {
  const place = required(element.parentElement, "what is around a chart");
  const turn = turns.add(draw, () => !place.isConnected || place.querySelector(".main-svg") !== null);
  const observer = new IntersectionObserver(
    ([{ isIntersecting }]) => isIntersecting && (observer.disconnect(), turn.near()),
    { rootMargin: NEAR },
  );
  observer.observe(element);
  return () => (observer.disconnect(), turn.withdraw());
}

/** No box is drawn by touch: there a finger scrolls the page. @param {Record<string, any>} properties */
function withoutBox(properties) {
  const { figure } = properties;
  if (figure?.layout?.dragmode !== "select" || !window.matchMedia("(pointer: coarse)").matches) return properties;
  return { ...properties, figure: { ...figure, layout: { ...figure.layout, dragmode: false } } };
}

/**
 * The Dash component Chart. Plotly takes long to draw: charts in view come first. It is not translated: an SVG text
 * does not draw what a translator puts into it.
 * @param {Record<string, unknown>} properties
 */
export function Chart(properties) {
  const { createElement, useEffect, useRef, useState } = window.React;
  const [drawn, setDrawn] = useState(false);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!drawn) return drawLater(required(place.current, "the place of a chart"), () => setDrawn(true));
  }, [drawn]);
  const { still, ...ofGraph } = properties;
  const graph = drawn && createElement(window.dash_core_components.Graph, withoutBox(ofGraph));
  const style = drawn ? undefined : properties.style;
  const className = drawn ? "drawing" : "undrawn drawing";
  return createElement("div", { ref: place, style, className, translate: "no" }, stillImage(still), graph);
}

/** What a reader sees of a chart before plotly has come. @param {any} still */
function stillImage(still) {
  if (!still) return null;
  const { src, ...place } = still;
  return window.React.createElement("img", { src, alt: "", className: "still", style: place });
}

/** Saves the chart of a name as a file of a format. @param {string} name @param {string} format */
function saveChart(name, format) {
  const { source, stem } = required(window.dash_component_api.getLayout("shown"), "#shown").props.data;
  whenDrawn(name, (chart, title, of) => {
    const figure = titled(chart, title, of ? [of, source] : [source]);
    const { width, height } = figure.layout;
    window.Plotly.downloadImage(figure, {
      format,
      filename: `${name}-${stem}`,
      width,
      height,
      scale: format === "png" ? PIXEL_RATIO : 1,
    });
  });
}

/**
 * Waits for the chart: its button may be pressed before it is drawn.
 * @param {string} name @param {(chart: PlottedElement, title: string, of: string | undefined) => void} act
 */
function whenDrawn(name, act) {
  const place = document.getElementById(name);
  if (!place) return;
  const chart = /** @type {PlottedElement | null} */ (place.querySelector(".js-plotly-plot"));
  if (chart) act(chart, place.dataset.title || place.getAttribute("aria-label") || "", place.dataset.of);
  else setTimeout(() => whenDrawn(name, act), DRAWN_CHECK_MS);
}

/**
 * The chart at the size of the page, with room for its title.
 * @param {PlottedElement} chart @param {string} title @param {string[]} notes
 */
function titled(chart, title, notes) {
  const [width, high] = [chart.offsetWidth, chart.offsetHeight];
  const large = wrapped(title, `700 ${TITLE}px`, width);
  const small = notes.flatMap((note) => wrapped(note, `400 ${SMALL}px`, width));
  const room = Math.ceil(1.3 * (TITLE * large.length + SMALL * small.length)) + 2 * ROOM;
  const text = `<b>${large.join("<br>")}</b><br><span style="font-size: ${SMALL}px">${small.join("<br>")}</span>`;
  const above = {
    text,
    x: BESIDE / width,
    xanchor: "left",
    xref: "container",
    y: 1 - (ROOM + LIFT) / (high + room),
    yanchor: "top",
    yref: "container",
    font: { size: TITLE, color: INK },
  };
  const { margin, ...layout } = chart.layout;
  return {
    data: chart.data,
    layout: {
      ...layout,
      title: above,
      margin: { ...margin, t: (margin?.t ?? 0) + room },
      width,
      height: high + room,
      paper_bgcolor: PAPER,
    },
  };
}

/**
 * A text in lines that fit the width, in plotly's HTML; `font` is its weight and its size.
 * @param {string} text @param {string} font @param {number} width
 */
export function wrapped(text, font, width) {
  const context = contextOf(document.createElement("canvas"));
  /** @param {Piece} piece */
  const wide = ({ word = "" }) => widthInFile(context, word, font);
  const groups = text.split(" ").map((word) => [{ word }]);
  const lines = breakLines(groups, width - 2 * BESIDE, { wide, apart: widthInFile(context, " ", font) });
  return lines.map((line) => line.map(({ word = "" }) => escapeHtml(word)).join(" "));
}

/**
 * Index of the trace whose entry of the legend has this text; -1 for none. Names of traces are markup.
 * @param {{ name?: string, showlegend?: boolean }[]} traces @param {string} entry
 */
export function placeOf(traces, entry) {
  return traces.findIndex(({ name, showlegend }) => showlegend !== false && plain(name ?? "") === entry);
}

/** @param {string} markup */
function plain(markup) {
  return markup.replace(/&[^;\s]+;/g, (reference) => CHARACTERS[reference] ?? reference);
}

/**
 * Visibility of each trace of a chart after a press on an entry of its legend: the traces of its group alone, or all
 * where these are alone. Traces without an entry stay.
 * @param {{ visible?: boolean | string, showlegend?: boolean, legendgroup?: string }[]} traces @param {number} pressed
 */
export function isolated(traces, pressed) {
  const group = traces[pressed].legendgroup;
  const parts = traces.map(({ showlegend, legendgroup }, place) => {
    if (place === pressed || (group && legendgroup === group)) return "own";
    return showlegend === false && !legendgroup ? "none" : "other";
  });
  const isAlone = traces.every(({ visible }, place) => parts[place] !== "other" || visible === "legendonly");
  const shown = parts.map((part, place) => {
    if (part === "none") return traces[place].visible ?? true;
    return isAlone || part === "own" ? true : "legendonly";
  });
  return { isAlone: !isAlone, shown };
}

/**
 * Follows the buttons below charts. A press on an entry of a legend by the keyboard does what a click on the drawn one
 * does.
 */
export function followCharts() {
  document.addEventListener("click", ({ target }) => {
    const { chart: name, save: format } = target?.closest?.("button[data-save]")?.dataset ?? {};
    if (name && format) saveChart(name, format);
    const key = target?.closest?.(".legend-keys button");
    if (key) whenDrawn(key.dataset.chart ?? "", (chart) => press(key, chart));
    const chip = target?.closest?.("button[data-kind]");
    if (chip) showAlone(chip);
  });
}

/** Fades all but one kind in the bars that follow a legend, or shows all again. @param {HTMLElement} chip */
function showAlone(chip) {
  const legend = required(chip.parentElement, "the legend of a kind");
  const bars = /** @type {HTMLElement} */ (required(legend.nextElementSibling, "bars after their legend"));
  const isAlone = chip.getAttribute("aria-pressed") !== "true";
  for (const other of legend.children) other.setAttribute("aria-pressed", String(isAlone && other === chip));
  if (isAlone) bars.dataset.only = chip.dataset.kind;
  else delete bars.dataset.only;
}

/** Shows a key's trace alone, if the model has it. @param {HTMLElement} key @param {PlottedElement} chart */
function press(key, chart) {
  const traces = /** @type {any[]} */ (chart.data);
  const pressed = placeOf(traces, key.dataset.name ?? "");
  if (pressed < 0) return;
  const { isAlone, shown } = isolated(traces, pressed);
  for (const other of key.parentElement?.children ?? [])
    other.setAttribute("aria-pressed", String(isAlone && other === key));
  window.Plotly.restyle(chart, { visible: shown });
}
