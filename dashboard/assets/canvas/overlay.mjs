// The canvas above the points: attention lines, labels and regions. Drawn anew whenever the camera moves.
import { projectToSquare } from "./camera.mjs";
import { chooseLabels, drawLabels } from "./labels.mjs";
import { outlineHere } from "./lasso.mjs";
import { panelToPixel } from "./layout.mjs";
import { createLoader, readJson } from "../web/loading.mjs";

const PAUSE = 120;
const INKS = {
  light: { line: "#5c4a00", near: "#2b8a3e", pair: "#c2255c", lasso: "#1a1b1e" },
  dark: { line: "#ffe066", near: "#69db7c", pair: "#f783ac", lasso: "#f1f3f5" },
};
/** Corners of a diamond. */
const DIAMOND = [
  [0, -1],
  [1, 0],
  [0, 1],
  [-1, 0],
];
const RING = { casing: "#1a1b1e", colour: "#ffc900" };

export function createOverlay(panels) {
  const parts = createLoader();
  const canvas = panels.overlay.getContext("2d");
  const state = { focused: false, lines, load, clear, draw, drawOn, refresh, moved, renew, release };
  let focus = null;
  let pieces = null;
  let labels = [];
  let [waiting, drawing] = [0, 0];

  async function load() {
    const { picture } = panels;
    if (panels.frame.dataset.overlay !== (picture.focus || "")) clear();
    try {
      const loaded = await parts.load({
        focus: { url: picture.focus, read: readJson },
        labels: { url: picture.labels, read: readJson },
      });
      if (!loaded || panels.picture !== picture) return;
      [focus, pieces] = [panels.player.isAway() ? null : loaded.focus, loaded.labels];
      state.focused = Boolean(focus);
      panels.frame.dataset.overlay = picture.focus || "";
      renew();
      refresh();
      if (state.focused) panels.paint();
      panels.hover.avoidLines();
    } catch (error) {
      panels.problem.textContent = error.message;
    }
  }

  /** Removes the lines of the point before. */
  function clear() {
    [focus, state.focused, panels.frame.dataset.overlay] = [null, false, ""];
    renew();
    panels.paint();
  }

  // -- labels: which of them is decided when the camera rests -----------------------------------

  function moved() {
    if (!waiting) waiting = setTimeout(() => ((waiting = 0), renew(), refresh()), PAUSE);
  }

  function renew() {
    if (!panels.picture || !panels.layout || !panels.single || panels.player.moving) labels = [];
    else labels = chooseLabels(panels, canvas, { focus, pieces, toPixel });
  }

  // -- drawing ----------------------------------------------------------------------------------

  const toPixel = (place) => panelToPixel(panels.layout, panels.camera, 0, ...projectToSquare(panels.camera, place));

  /** Draws the overlay soon, without painting the points. */
  function refresh() {
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(() => panels.picture && panels.layout && draw());
  }

  function draw() {
    const { layout, scale } = panels;
    canvas.setTransform(scale, 0, 0, scale, 0, 0);
    canvas.clearRect(0, 0, layout.width, layout.height);
    drawOn(canvas);
  }

  /** In pixels of the page: on the canvas above the points, or on a file. */
  function drawOn(context) {
    if (!panels.single || panels.data.points?.panels !== 1) return;
    const inks = INKS[panels.scheme] || INKS.light;
    drawLasso(context, inks);
    if (focus) drawFocus(context, inks);
    drawRing(context);
    drawLabels(context, labels, panels, toPixel);
  }

  function drawLasso(context, { lasso }) {
    const { tool, picture, camera } = panels;
    const outline = tool.drawing ? tool.outline : outlineHere(picture.lasso, picture.region, camera);
    if (!outline || outline.length < 2) return;
    context.beginPath();
    outline.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](...panelToPixel(panels.layout, camera, 0, x, y)));
    if (!tool.drawing || tool.name === "box") context.closePath();
    stroke(context, lasso, 1.5, 0.8, [5, 4]);
  }

  function stroke(context, colour, width, alpha, dashes = []) {
    Object.assign(context, { strokeStyle: colour, lineWidth: width, globalAlpha: alpha });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  function line(context, from, to, ...how) {
    context.beginPath();
    context.moveTo(...toPixel(from));
    context.lineTo(...toPixel(to));
    stroke(context, ...how);
  }

  function drawFocus(context, inks) {
    const { places } = focus;
    const role = panels.roles.indexOf(panels.picture.chosen?.role);
    const isOwn = (edge) => edge[role] === focus.position;
    const known = focus.lines.filter(([query, key]) => places[query] && places[key]);
    for (const strong of [false, true])
      for (const edge of known.filter((candidate) => isOwn(candidate) === strong)) {
        const weight = Math.max(0, Math.min(1, edge[2]));
        line(
          context,
          places[edge[0]][0],
          places[edge[1]][1],
          inks.line,
          strong ? 1.5 + 2.5 * weight : 1,
          strong ? 0.35 + 0.65 * weight : 0.06 + 0.5 * weight,
        );
      }
    for (const { place } of focus.near || [])
      if (places[focus.position] && role >= 0)
        line(context, places[focus.position][role], place, inks.near, 1.5, 0.8, [5, 4]);
    for (const [query, key] of panels.picture.marks || [])
      if (places[query] && places[key]) line(context, places[query][0], places[key][1], inks.pair, 3.5, 0.95);
    places.forEach((pair) => pair.forEach((place, side) => mark(context, place, side, 4.5)));
    (focus.near || []).forEach(({ place }) => mark(context, place, panels.roles.length - 1 - Math.max(0, role), 4));
  }

  /** The drawn lines as [x0, y0, x1, y1, importance] in pixels; those of the chosen point matter most. */
  function lines() {
    if (!focus || !panels.single) return [];
    const role = panels.roles.indexOf(panels.picture.chosen?.role);
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

  /** A point drawn larger: a disc for the first role, a diamond for the second. */
  function mark(context, place, role, radius) {
    const [px, py] = toPixel(place);
    context.beginPath();
    if (role === 0) context.arc(px, py, radius, 0, 2 * Math.PI);
    else
      DIAMOND.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](px + 1.25 * radius * x, py + 1.25 * radius * y));
    context.closePath();
    stroke(context, panels.palette.background, 2.5, 1);
    context.fillStyle = panels.palette[panels.roles[role]];
    context.fill();
  }

  /** Pixel of the chosen point, from the overlay or else from the drawn points. */
  function chosenPixel() {
    const { chosen } = panels.picture;
    const role = panels.roles.indexOf(chosen?.role);
    if (!chosen || chosen.token < 0 || role < 0) return null;
    const place = focus?.places[focus.position]?.[role];
    if (place) return toPixel(place);
    return chosen.token < panels.data.points.tokens
      ? panels.hover.pixelOf(panels.roles.length * chosen.token + role)
      : null;
  }

  function drawRing(context) {
    const pixel = chosenPixel();
    if (!pixel) return;
    context.beginPath();
    context.arc(...pixel, 9, 0, 2 * Math.PI);
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
