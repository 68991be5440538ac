// The elements of a picture, and the frame round its panels: names beside or above them, tags in their corners, the
// size of the canvases, and a still picture where there is no WebGL2.
import { fitPanels, panelBox, sameLayout, slotBox, slotOf } from "./layout.mjs";
import { notesOfPanel } from "../notes/marks.mjs";
import { FAMILY } from "../web/drawing.mjs";
import { elementIn, required, schemeNow } from "../web/elements.mjs";

const FONT = `11px ${FAMILY}`;
/** Pixels between the frame and the names beside it. */
const NAMES_APART = 7;

/** @param {Panels} panels @param {string} className */
const elements = (panels, className) => /** @type {HTMLElement[]} */ ([...elementIn(panels.host, className).children]);

/**
 * Names along one axis (0 across, 1 down), each at the middle of its panel; hidden outside the frame.
 * @param {Panels} panels @param {string} className @param {0 | 1} axis @param {(i: number) => number} panelOf
 * @param {number} long
 * @returns {Named[]}
 */
function along(panels, className, axis, panelOf, long) {
  return elements(panels, className).map((element, i) => {
    const box = panelBox(panels.layout, panels.camera, panelOf(i));
    const middle = box[axis] + box[2] / 2;
    return {
      element,
      axis,
      at: axis ? [-NAMES_APART, middle] : [middle, -NAMES_APART],
      seen: middle >= 0 && middle <= long,
    };
  });
}

/** Names of panels, each on the line above its panel. @param {Panels} panels @returns {Named[]} */
function above(panels) {
  const { layout, camera } = panels;
  return elements(panels, ".panel-names").map((element, panel) => {
    const [left, top, side] = panelBox(layout, camera, panel);
    const inside = left >= -1 && left + 20 <= layout.width && top >= layout.title - 1 && top <= layout.height;
    return { element, at: [left, top], most: side, seen: inside && slotOf(layout, panel) >= 0 };
  });
}

/** Pixels between a tag and the border of its panel; largest share of the panel's width that a tag covers. */
const [TAG_APART, TAG_SHARE] = [3, 0.9];
const TAG_FONT = `600 10px ${FAMILY}`;

/**
 * Tags of panels with their places: labels in the upper left corner, counts of notes in the lower right.
 * @param {Panels} panels
 * @returns {Named[]}
 */
const tagged = (panels) => [...inCorner(panels, ".panel-tags"), ...inCorner(panels, ".panel-notes", true)];

/** @param {Panels} panels @param {string} className @returns {Named[]} */
function inCorner(panels, className, isLast = false) {
  const { layout, camera } = panels;
  return elements(panels, className).map((element, panel) => {
    if (!element.textContent) return { element, at: [0, 0], seen: false };
    const box = panelBox(layout, camera, panel);
    /** @type {Pair} */
    const size = [element.offsetWidth, element.offsetHeight];
    const at = /** @type {Pair} */ (
      [0, 1].map((axis) => box[axis] + (isLast ? box[2] - size[axis] - TAG_APART : TAG_APART))
    );
    const inside = [layout.width, layout.height].every((most, i) => at[i] >= 0 && at[i] + size[i] <= most);
    return { element, at, size, seen: inside && size[0] <= TAG_SHARE * box[2] && slotOf(layout, panel) >= 0 };
  });
}

/** Least width of a heading, in pixels. */
const LEAST_HEADING = 14;

/**
 * @param {HTMLElement} element @param {{ start: number, end: number, top: number, seen: boolean }} given
 * @returns {Named & { most: number }}
 */
const heading = (element, { start, end, top, seen }) => ({
  element,
  at: [start, top],
  most: end - start,
  seen: seen && end - start >= LEAST_HEADING,
});

/** Smallest factor by which a heading is narrowed before its end is cut. */
const NARROWEST = 0.75;
/**
 * The factor by which a heading is narrowed to fit, as in a saved picture.
 * @param {number} width @param {number} most
 */
export const narrowing = (width, most) => (width > most ? Math.max(NARROWEST, most / width) : 1);

const widths = new WeakMap();

/** Pixels between a heading and the next one. */
const HEADING_APART = 5;

/** Width of a heading in pixels, measured once for each text. @param {HTMLElement} element */
function widthOf(element) {
  const known = widths.get(element);
  if (known?.text === element.textContent) return known.width;
  element.style.maxWidth = "";
  const width = element.scrollWidth + HEADING_APART;
  widths.set(element, { text: element.textContent, width });
  return width;
}

/**
 * Names of columns above the frame, each as wide as the visible part of its column, with an arrow to the next.
 * @param {Panels} panels
 * @returns {Named[]}
 */
function aboveColumns(panels) {
  const { layout, camera } = panels;
  const columns = elements(panels, ".column-names");
  return columns.map((element, column) => {
    const [left, , side] = slotBox(layout, camera, column);
    const [start, end] = [Math.max(0, left), Math.min(layout.width, left + side)];
    const isLast = column + 1 === columns.length;
    return { ...heading(element, { start, end, top: 0, seen: true }), arrow: !isLast };
  });
}

/** Headings of rows, each from its place to the next heading of its row. @param {Panels} panels @returns {Named[]} */
function aboveRows(panels) {
  const { layout, camera } = panels;
  const { rows } = required(panels.picture.headings, "the headings of a picture");
  /** @param {number} slot */
  const rowOf = (slot) => Math.floor(slot / layout.columns);
  return elements(panels, ".row-names").map((element, i) => {
    const [left, top] = slotBox(layout, camera, rows[i].slot);
    const next = rows[i + 1];
    const isShared = next && rowOf(next.slot) === rowOf(rows[i].slot);
    const limit = isShared ? slotBox(layout, camera, next.slot)[0] : layout.width;
    const seen = top >= layout.title - 1 && top <= layout.height;
    const own = heading(element, { start: Math.max(0, left), end: Math.min(layout.width, limit), top, seen });
    return { ...own, narrowed: narrowing(widthOf(element), own.most) };
  });
}

/** All names, with their places `at` in the frame for the present camera. @param {Panels} panels @returns {Named[]} */
function named(panels) {
  if (panels.single) return [];
  if (panels.picture.headings) return [...aboveColumns(panels), ...aboveRows(panels)];
  if (panels.layout.title) return above(panels);
  const { columns, width, height } = panels.layout;
  return [
    ...along(panels, ".column-names", 0, (i) => i, width),
    ...along(panels, ".row-names", 1, (i) => i * columns, height),
  ];
}

/** @param {Panels} panels */
export function placeNames(panels) {
  for (const {
    element,
    axis = 0,
    at: [left, top],
    most,
    seen,
    narrowed = 1,
  } of named(panels)) {
    const ways = [`translateX(${left}px) translateX(-50%)`, `translateY(${top}px) translateY(-50%)`];
    const placed = `translate(${left}px, ${top}px) translateY(-100%) scaleX(${narrowed})`;
    element.style.transform = most === undefined ? ways[axis] : placed;
    element.style.maxWidth = most === undefined ? "" : `${most / narrowed}px`;
    element.style.visibility = seen ? "visible" : "hidden";
  }
  const tags = tagged(panels);
  for (const { element, at, seen } of tags) {
    element.style.transform = `translate(${at[0]}px, ${at[1]}px)`;
    element.style.visibility = seen ? "visible" : "hidden";
  }
}

/**
 * Draws the names on a canvas; the frame begins at `left` and `top`.
 * @param {Context} context @param {Panels} panels @param {number} left @param {number} top
 */
export function drawNames(context, panels, left, top) {
  const middle = -panels.layout.title / 2;
  for (const { element, axis, at, most, seen, arrow } of named(panels)) {
    if (!seen) continue;
    const align = most !== undefined ? "left" : axis ? "right" : "center";
    const baseline = most === undefined && !axis ? "bottom" : "middle";
    Object.assign(context, {
      font: FONT,
      textAlign: align,
      textBaseline: baseline,
      fillStyle: getComputedStyle(element).color,
    });
    const [x, y] = [left + at[0], top + at[1] + (most === undefined ? 0 : middle)];
    if (element.children.length) drawTitle(context, element, x, y, most);
    else context.fillText(element.textContent, x, y, most);
    if (arrow && most !== undefined)
      drawArrow(context, x + context.measureText(element.textContent).width + ARROW_APART, x + most, y);
  }
  drawTags(context, panels, left, top);
}

/**
 * Draws a name, and the number after it.
 * @param {Context} context @param {HTMLElement} element @param {number} x @param {number} y
 * @param {number | undefined} most
 */
function drawTitle(context, element, x, y, most) {
  const [name, value] = [...element.children].map(({ textContent }) => textContent);
  context.fillText(value ? `${name}  ${value}` : name, x, y, most);
}

/** @param {Context} context @param {Panels} panels @param {number} left @param {number} top */
function drawTags(context, panels, left, top) {
  for (const { element, at, size, seen } of tagged(panels)) {
    if (!seen || !size) continue;
    const { color, backgroundColor } = getComputedStyle(element);
    const [x, y] = [left + at[0], top + at[1]];
    context.fillStyle = backgroundColor;
    context.fillRect(x, y, ...size);
    Object.assign(context, { font: TAG_FONT, textAlign: "center", textBaseline: "middle", fillStyle: color });
    context.fillText(element.textContent, x + size[0] / 2, y + size[1] / 2);
  }
}

/** Pixels between a name and its arrow, and of the arrow's head; the style sheet draws the same. */
const [ARROW_APART, ARROW_HEAD] = [6, 3];

/** @param {Context} context @param {number} from @param {number} to @param {number} y */
function drawArrow(context, from, to, y) {
  if (to - from < 2 * ARROW_HEAD) return;
  Object.assign(context, { strokeStyle: context.fillStyle, lineWidth: 1, globalAlpha: 0.5 });
  context.beginPath();
  context.moveTo(from, y);
  context.lineTo(to, y);
  context.moveTo(to - ARROW_HEAD, y - ARROW_HEAD);
  context.lineTo(to, y);
  context.lineTo(to - ARROW_HEAD, y + ARROW_HEAD);
  context.stroke();
  context.globalAlpha = 1;
}

/** Pixels beside the frame for names and tools; `single`: for tools alone. `BELOW`: pixels below the frame. */
const BESIDE = { grid: 74, titled: 44, single: 42 };
/** Windows with the tools of a grid below it (window.css). */
const TOOLS_BELOW = "(max-width: 36em)";
const BELOW = 24;

/** @param {Panels} panels */
function layoutOf({ picture, host, frame, single, mostHeight }) {
  const { panels, columns, slots, flows, narrowest, titled, min_side, dimensions } = picture;
  const isBelow = !single && matchMedia(TOOLS_BELOW).matches;
  const beside = BESIDE[single ? "single" : titled ? "titled" : "grid"] - (isBelow ? BESIDE.single : 0);
  const { paddingLeft, paddingRight } = getComputedStyle(host);
  const width = host.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - beside;
  const height = mostHeight ?? window.innerHeight - frame.getBoundingClientRect().top - window.scrollY - BELOW;
  const room = { width, height };
  const wanted = { columns, slots, flows, narrowest, titled, least: min_side, dimensions };
  return fitPanels({ count: panels.length, ...wanted, ...room });
}

/** Sets the size of all canvases; returns whether that emptied one. @param {Panels} panels */
function spread({ layout, scale, host, canvas, image, overlay }) {
  for (const shown of [canvas, image, overlay])
    Object.assign(shown.style, { width: `${layout.width}px`, height: `${layout.height}px` });
  const pixels = [layout.width, layout.height].map((length) => Math.round(length * scale));
  const sized = [canvas, overlay].filter((sheet) => sheet.width !== pixels[0] || sheet.height !== pixels[1]);
  for (const sheet of sized) [sheet.width, sheet.height] = pixels;
  host.style.setProperty("--side", `${layout.side}px`);
  return sized.length > 0;
}

/**
 * Moves the frame to a whole pixel, where points are sharp: the content above may end between pixels.
 * @param {Panels} panels
 */
function snap({ host, frame }) {
  host.style.marginTop = "";
  const top = frame.getBoundingClientRect().top + window.scrollY;
  host.style.marginTop = `${Math.ceil(top) - top}px`;
}

/** Fits the picture into the window. @param {Panels} panels */
export function resize(panels) {
  if (!panels.pictureNow || !panels.host.clientWidth) return;
  snap(panels);
  const [layout, scale] = [layoutOf(panels), window.devicePixelRatio || 1];
  if (panels.scale === scale && sameLayout(panels.layoutNow, layout)) return;
  Object.assign(panels, { layoutNow: layout, scale });
  const emptied = spread(panels);
  panels.hover.again();
  placeNames(panels);
  // Another size empties a canvas at once: it is painted again before the next frame.
  if (emptied && panels.painter) panels.paintNow();
  else panels.repaint();
}

const NO_SPACE = "This browser has no WebGL2, which 3D pictures need. Choose a 2D picture.";
const STILL = "This browser has no WebGL2: this is a still picture, without colours, search, lasso and zoom.";

/** Without WebGL2: shows a picture from the server, and a line that says what it lacks. @param {Panels} panels */
export function showStillPicture(panels) {
  const { picture, image, note, layoutNow: layout, scale } = panels;
  const deep = picture.dimensions === 3 || !picture.raster;
  note.textContent = deep ? NO_SPACE : STILL;
  note.hidden = false;
  image.hidden = deep;
  image.onload = () => panels.finish("", true);
  image.onerror = () => panels.finish("The picture could not be loaded. Reload the page.");
  if (deep || !layout) return panels.finish("", true);
  /** @param {number} length */
  const pixels = (length) => Math.round(length * scale);
  const [side, gap, title] = [layout.side, layout.gap, layout.title].map(pixels);
  const columns = picture.flows || picture.narrowest ? `&columns=${layout.columns}` : "";
  image.src = `${picture.raster}&side=${side}&gap=${gap}&title=${title}&scheme=${schemeNow()}${columns}`;
}

const STAND = "then Shift with an arrow key to the nearest one that way";
/** What the keys do, for a screen reader. */
const KEYS = {
  grid: "Arrow keys move between panels, Enter opens one. Plus and minus zoom, 0 shows all.",
  linked:
    "Arrow keys move between the two models, Enter opens one. P goes to the token nearest to the middle of a panel, " +
    `${STAND}; the other model's has a ring too. Escape leaves it. Plus and minus zoom, 0 shows both.`,
  pair:
    "Arrow keys go to the neighbouring heads. P goes to the point nearest to the middle of the first head, " +
    `${STAND}; the same token has a ring in the pinned head. Enter chooses it, Escape leaves it. ` +
    "Plus and minus zoom, 0 resets, Backspace goes back to all heads.",
  sequence:
    "Arrow keys go to the point of the model before or after. P goes to the token nearest to the middle, " +
    `${STAND}; Enter chooses it, Escape leaves it. Plus and minus zoom, 0 resets, Backspace goes back to all points.`,
  single:
    "Arrow keys go to the neighbouring heads. P goes to the point nearest to the middle, " +
    `${STAND}; Enter chooses it, Escape leaves it. Plus and minus zoom, 0 resets, Backspace goes back to all heads.`,
};

/** @param {typeof window.React.createElement} make @param {string} className @param {string[]} texts */
const names = (make, className, texts) =>
  make(
    "div",
    { key: className, className, "aria-hidden": true, translate: "no" },
    texts.map((text, i) => make("span", { key: i }, text)),
  );

/** @param {typeof window.React.createElement} make @param {Panel[]} panels */
const titles = (make, panels) =>
  make(
    "div",
    { key: "panel-names", className: "panel-names", "aria-hidden": true, translate: "no" },
    panels.map(({ name, value }) =>
      make("div", { key: name }, [make("span", { key: "name" }, name), make("b", { key: "value" }, value)]),
    ),
  );

/** @param {typeof window.React.createElement} make @param {Panel[]} panels */
const tags = (make, panels) =>
  make(
    "div",
    { key: "panel-tags", className: "panel-tags", "aria-hidden": true, translate: "no" },
    panels.map(({ name, tag }) => make("span", { key: name }, tag)),
  );

/**
 * How many notes each head has; nothing where it has none.
 * @param {typeof window.React.createElement} make @param {Panel[]} panels @param {Marks | null} noted
 * @param {Picture | null} picture
 */
const notes = (make, panels, noted, picture) =>
  make(
    "div",
    { key: "panel-notes", className: "panel-notes", "aria-hidden": true, translate: "no" },
    panels.map(({ name }) => make("span", { key: name }, notesOfPanel(noted, picture, name) || "")),
  );

/** @param {string} letter @param {number} count */
const numbered = (letter, count) => Array.from({ length: count }, (_, i) => letter + i);

/** Names of the panels: none, one for each, headings, or numbered layers and heads. @param {Picture | null} picture */
function namesOf(picture) {
  const none = {
    kind: "single",
    columns: /** @type {string[]} */ ([]),
    rows: /** @type {string[]} */ ([]),
    each: /** @type {Panel[]} */ ([]),
  };
  if (!picture || picture.panels.length === 1) return none;
  const { panels, columns, titled, headings } = picture;
  if (headings) {
    const rows = headings.rows.map(({ name }) => name);
    return { ...none, kind: "grid titled headed", columns: headings.above, rows };
  }
  if (titled) return { ...none, kind: `grid titled ${picture.second ? "two-heads" : ""}`, each: panels };
  const rows = numbered("L", Math.ceil(panels.length / columns));
  return { ...none, kind: "grid", columns: numbered("H", columns), rows };
}

/** @param {typeof window.React.createElement} make @param {Picture | null} picture */
function frameOf(make, picture) {
  const about = { role: "application", "aria-label": picture?.label || "", "aria-describedby": "points-keys" };
  return make("div", { key: "frame", className: "frame", tabIndex: 0, ...about }, [
    make("canvas", { key: "canvas", "aria-hidden": true }),
    make("img", { key: "image", alt: "" }),
    make("div", { key: "ring", className: "ring" }),
    make("div", { key: "tip", className: "tip" }),
  ]);
}

/** What the keys do in a picture. @param {Picture | null} picture */
function keysOf(picture) {
  if (picture?.panels.length === 1) return picture.sequence ? "sequence" : "single";
  if (picture?.second) return "pair";
  return picture?.cards ? "linked" : "grid";
}

/**
 * The elements of a picture; `make` is React's `createElement` or that of a notebook.
 * @param {typeof window.React.createElement} make
 * @param {{ picture: Picture | null, noted: Marks | null, id?: string, ref?: unknown }} given
 */
export function panelElements(make, { picture, noted, ...own }) {
  const { kind, columns, rows, each } = namesOf(picture);
  return make("div", { ...own, hidden: !picture, className: `points ${kind}` }, [
    names(make, "column-names", columns),
    names(make, "row-names", rows),
    titles(make, each),
    tags(make, kind === "single" ? [] : (picture?.panels ?? [])),
    notes(make, kind === "single" ? [] : (picture?.panels ?? []), noted, picture),
    make("div", { key: "player", className: "player", role: "group", "aria-label": "Points of the model in order" }),
    frameOf(make, picture),
    make("canvas", { key: "paper", className: "paper", "aria-hidden": true }),
    make("canvas", { key: "overlay", className: "overlay", "aria-hidden": true }),
    make("div", {
      key: "tools",
      className: "tools",
      role: "toolbar",
      "aria-label": "Picture",
      "aria-orientation": "vertical",
    }),
    make("p", { key: "note", className: "note", hidden: true }),
    make("p", { key: "problem", className: "problem", role: "alert" }),
    make("div", { key: "announcement", className: "announcement", "aria-live": "polite" }),
    make("div", { key: "keys", className: "announcement", id: "points-keys" }, KEYS[keysOf(picture)]),
  ]);
}
