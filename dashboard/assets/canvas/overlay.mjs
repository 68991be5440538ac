// The canvas above the points: attention lines, density contours, labels and regions. Drawn anew whenever the
// camera moves.
import { projectToSquare } from "./camera.mjs";
import {
  chooseLabels,
  drawLabels,
  drawClusterNames,
  emptySheet,
  nameAt,
  namesOnCanvas,
  roomOf,
  takeBox,
} from "./labels.mjs";
import { outlineHere } from "./toolbar.mjs";
import { panelToPixel } from "./layout.mjs";
import { markedTokens, outlineSquare } from "../notes/marks.mjs";
import { contextOf } from "../web/drawing.mjs";
import { createLoader, readJson } from "../web/loading.mjs";

const LABELS_DELAY_MS = 120;
/** @type {Record<string, Record<string, string>>} */
const INKS = {
  light: { line: "#5c4a00", near: "#2b8a3e", pair: "#c2255c", lasso: "#1a1b1e", note: "#6741d9" },
  dark: { line: "#ffe066", near: "#69db7c", pair: "#f783ac", lasso: "#f1f3f5", note: "#b197fc" },
};
/** Corners of a diamond. */
const DIAMOND = [
  [0, -1],
  [1, 0],
  [0, 1],
  [-1, 0],
];
const RING = { casing: "#1a1b1e", colour: "#ffc900", radius: 9, room: 4 };

/** @param {Panels} panels */
export function createOverlay(panels) {
  const parts = createLoader();
  const canvas = contextOf(panels.overlay);
  const state = { focused: false, lines, clusterAt, load, clear, draw, drawOn, refresh, moved, renew, release };
  /** By panel: places and lines of the clicked point's sentence. */
  let focuses = /** @type {Focus[]} */ ([]);
  let pieces = /** @type {Pieces | null} */ (null);
  /** By panel: contours, clusters, the chosen labels and the chosen names of clusters. */
  let contours = /** @type {Contour[][]} */ ([]);
  let clusters = /** @type {Cluster[][]} */ ([]);
  let labels = /** @type {ReturnType<typeof chooseLabels>[]} */ ([]);
  let names = /** @type {DrawnName[][]} */ ([]);
  let [waiting, drawing] = [0, 0];

  async function load() {
    const picture = panels.picture;
    const urls = [picture.focus, picture.second?.focus];
    if (panels.frame.dataset.overlay !== (picture.focus || "")) clear();
    try {
      const loaded = await parts.load({
        ...Object.fromEntries(urls.map((url, panel) => [panel, { url, read: readJson }])),
        labels: { url: picture.labels, read: readJson },
        contours: { url: picture.contours, read: readJson },
        clusters: { url: picture.clusters, read: readJson },
      });
      if (!loaded || panels.pictureNow !== picture) return;
      focuses = panels.player.isAway() ? [] : urls.map((_, panel) => loaded[panel]);
      pieces = loaded.labels;
      [contours, clusters] = [loaded.contours ?? [], loaded.clusters ?? []];
      Object.assign(panels.frame.dataset, { contours: picture.contours || "", clusters: picture.clusters || "" });
      state.focused = focuses.some(Boolean);
      panels.frame.dataset.overlay = picture.focus || "";
      renew();
      refresh();
      if (state.focused) panels.paint();
      panels.hover.avoidLines();
    } catch (error) {
      panels.problem.textContent = error.message;
    }
  }

  /** Removes the lines of the previous point. */
  function clear() {
    [focuses, state.focused, panels.frame.dataset.overlay] = [[], false, ""];
    renew();
    panels.paint();
  }

  // -- labels: chosen soon after the camera moves -----------------------------------------------

  function moved() {
    if (!waiting) waiting = setTimeout(() => ((waiting = 0), renew(), refresh()), LABELS_DELAY_MS);
  }

  function renew() {
    [labels, names] = [[], []];
    if (!panels.player.moving) panelNumbers().forEach(write);
  }

  /**
   * Chooses the texts over a panel: first names of clusters, then labels where there is room.
   * @param {number} panel
   */
  function write(panel) {
    const [toPixel, sheet] = [toPixelIn(panel), emptySheet(panels.layout.width, panels.layout.height)];
    const ring = chosenPixel(panel);
    if (ring) takeBox(sheet, ring[0] - RING.room, ring[1] - RING.room, 2 * RING.room, 2 * RING.room);
    names[panel] = namesOnCanvas(canvas, clusters[panel] ?? [], sheet, roomOf(panels, panel), toPixel);
    labels[panel] = chooseLabels(panels, canvas, panel, { focus: focuses[panel], pieces, sheet, toPixel });
  }

  /** The cluster whose name is under a pixel. @param {number} px @param {number} py */
  function clusterAt(px, py) {
    return nameAt(names.flat(), px, py);
  }

  // -- drawing ----------------------------------------------------------------------------------

  /** Numbers of the panels with an overlay: none before their points have come. */
  function panelNumbers() {
    const { pictureNow: picture, layoutNow: layout, data } = panels;
    if (!picture || !layout || !panels.choosesPoints || data.points?.panels !== picture.panels.length) return [];
    return picture.panels.map((_, panel) => panel);
  }

  /** @param {number} panel @returns {ToPixel} */
  const toPixelIn = (panel) => (place) =>
    panelToPixel(panels.layout, panels.camera, panel, ...projectToSquare(panels.camera, place));

  /** Draws the overlay soon, without painting the points. */
  function refresh() {
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(() => panels.pictureNow && panels.layoutNow && draw());
  }

  function draw() {
    const { layout, scale } = panels;
    canvas.setTransform(scale, 0, 0, scale, 0, 0);
    canvas.clearRect(0, 0, layout.width, layout.height);
    drawOn(canvas);
    panels.host.toggleAttribute(
      "data-noted",
      panelNumbers().some((panel) => notedPixels(panel).length),
    );
  }

  /** Draws on the canvas above the points, or in a file, in pixels of the page. @param {Context} context */
  function drawOn(context) {
    const inks = INKS[panels.scheme] || INKS.light;
    for (const panel of panelNumbers()) {
      const toPixel = toPixelIn(panel);
      drawContours(context, contours[panel] ?? [], panels, toPixel);
      drawLasso(context, inks, panel);
      if (focuses[panel]) drawFocus(context, inks, focuses[panel], toPixel);
      drawNoted(context, inks, panel);
      drawRing(context, panel);
      drawLabels(context, labels[panel] ?? [], panels, toPixel);
      drawClusterNames(context, names[panel] ?? [], panels, toPixel);
    }
  }

  /** The region that a reader draws in a panel, or the link's region. @param {number} panel */
  function outlineOf(panel) {
    const { tool, picture, camera } = panels;
    if (tool.drawing) return tool.panel === panel ? tool.outline : null;
    return outlineHere(picture.lasso, panels.regionOf(panel), camera);
  }

  /** @param {Context} context @param {Record<string, string>} given @param {number} panel */
  function drawLasso(context, { lasso }, panel) {
    const { tool, layout, camera } = panels;
    const outline = outlineOf(panel);
    if (!outline || outline.length < 2) return;
    context.beginPath();
    outline.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](...panelToPixel(layout, camera, panel, x, y)));
    if (!tool.drawing || tool.name === "box") context.closePath();
    stroke(context, lasso, 1.5, 0.8, [5, 4]);
  }

  /**
   * @param {Context} context @param {string} colour @param {number} width @param {number} alpha
   * @param {number[]} [dashes]
   */
  function stroke(context, colour, width, alpha, dashes = []) {
    Object.assign(context, { strokeStyle: colour, lineWidth: width, globalAlpha: alpha });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /** @param {Context} context @param {Record<string, string>} inks @param {Focus} focus @param {ToPixel} toPixel */
  function drawFocus(context, inks, focus, toPixel) {
    const { places } = focus;
    /** @param {Place} from @param {Place} to @param {[string, number, number, number[]?]} how */
    const line = (from, to, ...how) => {
      context.beginPath();
      context.moveTo(...toPixel(from));
      context.lineTo(...toPixel(to));
      stroke(context, ...how);
    };
    const role = panels.roles.indexOf(panels.picture.chosen?.role ?? "");
    /** @param {number[]} edge */
    const isOwn = (edge) => edge[role] === focus.position;
    const known = focus.lines.filter(([query, key]) => places[query] && places[key]);
    for (const strong of [false, true])
      for (const edge of known.filter((candidate) => isOwn(candidate) === strong)) {
        const weight = Math.max(0, Math.min(1, edge[2]));
        line(
          places[edge[0]][0],
          places[edge[1]][1],
          inks.line,
          strong ? 1.5 + 2.5 * weight : 1,
          strong ? 0.35 + 0.65 * weight : 0.06 + 0.5 * weight,
        );
      }
    for (const { place } of focus.near || [])
      if (places[focus.position] && role >= 0) line(places[focus.position][role], place, inks.near, 1.5, 0.8, [5, 4]);
    for (const [query, key] of panels.picture.marks || [])
      if (places[query] && places[key]) line(places[query][0], places[key][1], inks.pair, 3.5, 0.95);
    places.forEach((pair) => pair.forEach((place, side) => mark(context, toPixel(place), side, 4.5)));
    const other = panels.roles.length - 1 - Math.max(0, role);
    (focus.near || []).forEach(({ place }) => mark(context, toPixel(place), other, 4));
  }

  /** The drawn lines as [x0, y0, x1, y1, importance] in pixels; lines of the chosen point matter most. */
  function lines() {
    return panelNumbers().flatMap((panel) => linesOf(focuses[panel], toPixelIn(panel)));
  }

  /** @param {Focus} focus @param {ToPixel} toPixel */
  function linesOf(focus, toPixel) {
    if (!focus) return [];
    const role = panels.roles.indexOf(panels.picture.chosen?.role ?? "");
    const { places, position } = focus;
    const known = focus.lines.filter(([query, key]) => places[query] && places[key]);
    const chosenPlace = places[position]?.[role];
    return [
      ...known.map((edge) => [
        ...toPixel(places[edge[0]][0]),
        ...toPixel(places[edge[1]][1]),
        edge[role] === position ? 100 : 1,
      ]),
      ...(chosenPlace ? (focus.near || []).map(({ place }) => [...toPixel(chosenPlace), ...toPixel(place), 10]) : []),
    ];
  }

  /**
   * A point drawn larger: a disc for the first role, a diamond for the second.
   * @param {Context} context @param {Pixel} pair @param {number} role @param {number} radius
   */
  function mark(context, [px, py], role, radius) {
    context.beginPath();
    if (role === 0) context.arc(px, py, radius, 0, 2 * Math.PI);
    else
      DIAMOND.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](px + 1.25 * radius * x, py + 1.25 * radius * y));
    context.closePath();
    stroke(context, panels.palette.background, 2.5, 1);
    context.fillStyle = panels.palette[panels.roles[role]];
    context.fill();
  }

  /** Pixel of the chosen point, from the overlay or else from the drawn points. @param {number} panel */
  function chosenPixel(panel) {
    const { chosen } = panels.picture;
    if (!chosen || chosen.token < 0) return null;
    const role = panels.roles.indexOf(chosen.role);
    if (role < 0) return null;
    const focus = focuses[panel];
    const place = focus?.places[focus.position]?.[role];
    return place ? toPixelIn(panel)(place) : drawnPixel(panel, chosen.token, role);
  }

  /**
   * Pixel of a drawn point; null for a token that is not drawn.
   * @param {number} panel @param {number} token @param {number} role
   */
  function drawnPixel(panel, token, role) {
    if (token >= panels.points.tokens) return null;
    const point = panels.roles.length * token + role;
    return panels.search.pixelOf(panel, point);
  }

  /** Pixels of the drawn points whose tokens have notes. @param {number} panel */
  function notedPixels(panel) {
    const roles = [...panels.roles.keys()];
    const pixels = markedTokens(panels).flatMap((token) => roles.map((role) => drawnPixel(panel, token, role)));
    return pixels.filter((pixel) => pixel !== null);
  }

  /** @param {Context} context @param {Record<string, string>} given @param {number} panel */
  function drawNoted(context, { note }, panel) {
    for (const pixel of notedPixels(panel)) {
      outlineSquare(context, pixel);
      stroke(context, panels.palette.background, 4, 0.75);
      stroke(context, note, 2, 1);
    }
  }

  /** @param {Context} context @param {number} panel */
  function drawRing(context, panel) {
    const pixel = chosenPixel(panel);
    if (!pixel) return;
    context.beginPath();
    context.arc(...pixel, RING.radius, 0, 2 * Math.PI);
    stroke(context, RING.casing, 5, 0.75);
    stroke(context, RING.colour, 3, 1);
  }

  function release() {
    clearTimeout(waiting);
    cancelAnimationFrame(drawing);
    parts.cancel();
  }

  return state;
}

/** Widths in pixels of the line round the smallest region, of other lines, and of the casing that sets lines off. */
const [INNER, OUTER, CASING] = [2, 1.25, 1.5];
/** Dashes of the second role, where colours do not show the role. */
const DASHES = [5, 3];
const SMALLEST = 0.25;

/**
 * Style of a contour: a deep shade of its role's colour, or ink, dashed for the second role.
 * @param {{ role: number, share: number }} given @param {{ palette: Palette, roles: string[] }} how
 * @param {boolean} isColoured
 */
export function styleOf({ role, share }, { palette, roles }, isColoured) {
  return {
    colour: isColoured ? palette.ink : palette[`${roles[role]}_contour`],
    dashes: isColoured && role > 0 ? DASHES : [],
    width: share <= SMALLEST ? INNER : OUTER,
  };
}

/** @param {Context} context @param {number[][]} lines @param {ToPixel} toPixel */
function trace(context, lines, toPixel) {
  context.beginPath();
  for (const line of lines)
    for (let i = 0; i < line.length; i += 2) context[i ? "lineTo" : "moveTo"](...toPixel([line[i], line[i + 1]]));
}

/**
 * Draws the contours of one panel.
 * @param {Context} context @param {Contour[]} contours @param {Panels} panels @param {ToPixel} toPixel
 */
function drawContours(context, contours, panels, toPixel) {
  const isColoured = Boolean(panels.picture.colours);
  for (const contour of contours) {
    const { colour, dashes, width } = styleOf(contour, panels, isColoured);
    trace(context, contour.lines, toPixel);
    Object.assign(context, { lineJoin: "round", strokeStyle: panels.palette.panel, lineWidth: width + CASING });
    context.globalAlpha = 0.6;
    context.stroke();
    Object.assign(context, { strokeStyle: colour, lineWidth: width, globalAlpha: 1 });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  }
}
