// The buttons beside the picture, drawing a region with two of them, and the menu that saves a file.
//
// The outline of a region: simplified, its area, and its form in a link. Places are 0..1 of the square, y upwards.
import { resize } from "./frame.mjs";
import { pixelToPanel } from "./layout.mjs";
import { savePicture, sheetOf } from "./save.mjs";
import { squaredDistance } from "../web/drawing.mjs";
import { make, makeSvg } from "../web/elements.mjs";
import { leftInWindow, toggleMenu } from "../web/popover.mjs";

/** Least `outlineArea` of a region, twice its area in the unit square: less is a slip of the hand. */
const SMALLEST = 2e-6;
/** Buttons of a single panel. */
/** @type {("move" | "lasso" | "box" | "clear")[]} */
const OF_HEAD = ["move", "lasso", "box", "clear"];
const ICONS = {
  move: "M8 1.5v13M1.5 8h13M8 1.5 6 3.5M8 1.5l2 2M8 14.5l-2-2M8 14.5l2-2M1.5 8l2-2M1.5 8l2 2M14.5 8l-2-2M14.5 8l-2 2",
  lasso: "M8 2.5c3.6 0 6.3 1.7 6.3 4s-2.7 4-6.3 4-6.3-1.7-6.3-4 2.7-4 6.3-4M4.5 9.8c-1.5 1-.8 2.4.4 2.4s1.8 1.6.4 2.6",
  box: "M2.5 3.5h11v9h-11z",
  clear: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  in: "M8 3v10M3 8h10",
  out: "M3 8h10",
  reset: "M3.4 9.5a5 5 0 1 0 .7-4.6M3.2 2.4v3h3",
  full: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  save: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
};

/** @param {keyof typeof ICONS} name */
function icon(name) {
  const svg = makeSvg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" });
  svg.append(makeSvg("path", { d: ICONS[name] }));
  return svg;
}

/** @param {Panels} panels */
export function createToolbar(panels) {
  const state = {
    name: "move",
    drawing: false,
    panel: 0,
    outline: /** @type {Pair[]} */ ([]),
    begin,
    extend,
    end,
    cancel,
    renew,
  };
  const clear = () => panels.send({ lassoed: { lasso: "" } });
  const buttons = {
    move: button("move", "Move", () => choose("move")),
    lasso: button("lasso", "Lasso", () => choose("lasso")),
    box: button("box", "Box", () => choose("box")),
    clear: button("clear", "Clear selection", clear),
    in: button("in", "Zoom in", () => panels.cameraControl.zoomIn()),
    out: button("out", "Zoom out", () => panels.cameraControl.zoomOut()),
    reset: button("reset", "Reset", () => panels.cameraControl.reset()),
    full: button("full", "Full screen", turnFullScreen),
    save: button("save", "Save"),
  };
  for (const name of OF_HEAD) buttons[name].classList.add("of-head");
  panels.tools.replaceChildren(...Object.values(buttons), createSaveMenu(panels, buttons.save));
  buttons.full.hidden = !document.fullscreenEnabled;
  panels.on(document, "fullscreenchange", showFullScreen);
  choose("move");

  function turnFullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else panels.host.requestFullscreen();
  }

  function showFullScreen() {
    buttons.full.setAttribute("aria-pressed", String(document.fullscreenElement === panels.host));
    resize(panels);
  }

  /** @param {keyof typeof ICONS} name @param {string} label @param {() => void} [act] */
  function button(name, label, act) {
    const element = Object.assign(document.createElement("button"), { type: "button", title: label });
    element.setAttribute("aria-label", label);
    element.append(icon(name));
    if (act) panels.on(element, "click", act);
    return element;
  }

  /** @param {string} name */
  function choose(name) {
    cancel();
    state.name = name;
    for (const tool of OF_HEAD.slice(0, 3)) buttons[tool].setAttribute("aria-pressed", String(tool === name));
    panels.frame.dataset.tool = name;
  }

  /** Adapts buttons to the picture. */
  function renew() {
    const moves = panels.picture.dimensions === 3 ? "Rotate" : "Move";
    buttons.move.setAttribute("aria-label", moves);
    buttons.move.title = moves === "Rotate" ? "Rotate (with Shift: move)" : "Move";
    buttons.clear.disabled = !panels.picture.lasso;
  }

  // -- the region -------------------------------------------------------------------------------

  /** @param {number} px @param {number} py */
  const place = (px, py) => pixelToPanel(panels.layout, panels.camera, state.panel, px, py);

  /** @param {number} px @param {number} py */
  function begin(px, py) {
    panels.hover.hide();
    panels.cameraControl.settle();
    state.drawing = true;
    state.panel = Math.max(0, panels.panelAt(px, py));
    state.outline = [place(px, py)];
  }

  /** @param {number} px @param {number} py */
  function extend(px, py) {
    if (state.name === "box") state.outline = boxOutline(state.outline[0], place(px, py));
    else state.outline.push(place(px, py));
    panels.layer.refresh();
  }

  /** Sends a finished region; the next picture has it as its `lasso`. */
  function end() {
    const { outline } = state;
    const region = panels.regionOf(state.panel);
    cancel();
    if (!region || outline.length < 3 || outlineArea(outline) < SMALLEST) return;
    panels.send({ lassoed: { lasso: formatLasso(region, panels.camera, outline) } });
  }

  function cancel() {
    if (state.drawing) panels.layer.refresh();
    state.drawing = false;
    state.outline = [];
  }

  return state;
}

/** Widths of a file in pixels, besides that on the page. */
const WIDTHS = [2000, 4000];

/**
 * The menu of a button beside the picture; it closes with Escape and with a click beside it.
 * @param {Panels} panels @param {HTMLButtonElement} button
 */
function createSaveMenu(panels, button) {
  const asOnPage = make("option", { value: "" });
  const width = make(
    "select",
    {},
    asOnPage,
    ...WIDTHS.map((pixels) => make("option", { value: pixels, textContent: `${pixels.toLocaleString("en")} pixels` })),
  );
  const menu = make(
    "div",
    { className: "save-menu", popover: "auto" },
    make("label", {}, "Width ", width),
    kind("png"),
    kind("svg"),
  );
  panels.on(menu, "toggle", ({ newState }) => newState === "open" && width.focus());

  /** @param {string} form */
  function kind(form) {
    const element = make("button", { type: "button", textContent: `Save ${form.toUpperCase()}` });
    panels.on(element, "click", () => act(form));
    return element;
  }

  /** @param {string} form */
  function act(form) {
    menu.hidePopover();
    savePicture(panels, form, Number(width.value));
  }

  /** @param {MouseEvent} event */
  function turn(event) {
    const { width: pixels } = sheetOf(panels);
    asOnPage.textContent = `as here, ${Math.round(pixels * panels.scale).toLocaleString("en")} pixels`;
    if (!toggleMenu(event, button, menu)) return;
    const [{ right, top }, { width: wide, height }] = [button.getBoundingClientRect(), menu.getBoundingClientRect()];
    Object.assign(menu.style, {
      left: `${leftInWindow(right - wide, wide)}px`,
      top: `${Math.max(8, top - height - 8)}px`,
    });
  }

  panels.on(button, "click", turn);
  return menu;
}

const MOST_VERTICES = 60;
/** Least squared distance of a vertex from the outline: a link rounds to thousandths. */
const FINEST = 0.0005 ** 2;

/** Ramer-Douglas-Peucker, farthest place first: the outline with at most `most` vertices. @param {Pair[]} outline */
export function simplify(outline, most = MOST_VERTICES) {
  const vertices = new Set([0, outline.length - 1]);
  /** @param {number} first @param {number} last */
  const farthest = (first, last) => {
    let [best, at] = [0, -1];
    for (let i = first + 1; i < last; i++) {
      const distance = squaredDistance(outline[i], outline[first], outline[last]);
      if (distance > best) [best, at] = [distance, i];
    }
    return { best, at, first, last };
  };
  const open = [farthest(0, outline.length - 1)];
  while (vertices.size < most && open.length) {
    open.sort((a, b) => a.best - b.best);
    const next = open.pop();
    if (!next || next.best < FINEST) continue;
    const { at, first, last } = next;
    vertices.add(at);
    open.push(farthest(first, at), farthest(at, last));
  }
  return outline.filter((_, i) => vertices.has(i));
}

/** Twice the area of an outline, without sign; 0 for a click. @param {Pair[]} outline */
export const outlineArea = (outline) =>
  Math.abs(
    outline.reduce(
      (sum, [x, y], i) => sum + x * outline[(i + 1) % outline.length][1] - y * outline[(i + 1) % outline.length][0],
      0,
    ),
  );

/** @param {Pair} first @param {Pair} second @returns {Pair[]} */
export const boxOutline = ([ax, ay], [bx, by]) => [
  [ax, ay],
  [bx, ay],
  [bx, by],
  [ax, by],
];

/**
 * A region in a link, `where,yaw,pitch,x1,y1,...`: picture, degrees, thousandths of the square.
 * @param {string} where @param {{ yaw: number, pitch: number }} camera @param {Pair[]} outline
 */
export function formatLasso(where, camera, outline) {
  const places = simplify(outline)
    .flat()
    .map((value) => Math.round(1000 * value));
  return [where, Math.round(camera.yaw), Math.round(camera.pitch), ...places].join(",");
}

/**
 * The region that `formatLasso` wrote for this picture; null for none, or of another picture.
 * @param {string | null} text @param {string | null | undefined} where
 */
export function parseLasso(text, where) {
  if (!text || !where || !text.startsWith(`${where},`)) return null;
  const rest = text.slice(where.length + 1).split(",");
  const [yaw, pitch, ...flat] = rest.map(Number);
  if (rest.some((part) => part === "") || rest.map(Number).some(Number.isNaN) || flat.length < 6 || flat.length % 2)
    return null;
  const outline = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] / 1000, flat[2 * i + 1] / 1000]);
  return { yaw, pitch, outline };
}

/**
 * Whether two angles in degrees show the same picture: the server writes −30 as 330.
 * @param {number} written @param {number} seen
 */
const sameAngle = (written, seen) => (written - Math.round(seen)) % 360 === 0;

/**
 * The outline of a link's region where it belongs to this picture as it is seen, else null.
 * @param {string | null} text @param {string | null | undefined} where @param {{ yaw: number, pitch: number }} camera
 */
export function outlineHere(text, where, camera) {
  const region = parseLasso(text, where);
  return region && sameAngle(region.yaw, camera.yaw) && sameAngle(region.pitch, camera.pitch) ? region.outline : null;
}
