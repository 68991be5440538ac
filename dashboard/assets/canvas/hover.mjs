// The ring and the card of what is under the pointer or the keyboard: a head in the grid, a point in a single panel.
import { projectToSquare } from "./camera.mjs";
import { cardPlace, drawCard } from "./card.mjs";
import { DIAGONAL, buildIndex, flattenPlaces, nearestPoint, nextPoint, shrink } from "./grid_index.mjs";
import { panelBox, panelToPixel, pixelSize, pixelToPanel } from "./layout.mjs";

const RADIUS = 14;
const PAUSE = 25;

export function createHover(panels) {
  const { ring, tip, says } = panels;
  const state = {
    focus: 0,
    point: -1,
    pinned: false,
    hide,
    again,
    avoidLines,
    showPanel,
    showPoint,
    nearest,
    towards,
    pixelOf,
    search,
    around,
  };
  let index = null;
  let at = [0, 0];
  let pausing = 0;
  let abort = null;

  // -- which point ------------------------------------------------------------------------------

  /** The index of the points as they are seen now; of a turned cube it is built anew once it is asked for. */
  function indexNow() {
    const { points } = panels.data;
    const { yaw, pitch } = panels.camera;
    if (!points || points.panels !== 1 || !panels.single) return null;
    const deep = points.components === 3;
    if (index?.points !== points || (deep && (index.yaw !== yaw || index.pitch !== pitch))) {
      const built = deep
        ? buildIndex(flattenPlaces(points, panels.camera), 65535)
        : buildIndex(points.places, points.most);
      index = { points, yaw, pitch, deep, built };
    }
    return index;
  }

  /** The point within so many pixels of a pixel, or -1. */
  function nearest(px, py, radius = RADIUS) {
    const match = indexNow();
    if (!match) return -1;
    const place = pixelToPanel(panels.layout, panels.camera, 0, px, py);
    const reach = radius * pixelSize(panels.layout, panels.camera);
    const [x, y, within] = match.deep ? [...place.map(shrink), reach / DIAGONAL] : [...place, reach];
    return nearestPoint(match.built, x, y, within);
  }

  /** The nearest point however far it is. */
  function search(px, py) {
    for (let radius = RADIUS; radius < 4 * panels.layout.side * panels.camera.zoom; radius *= 2) {
      const match = nearest(px, py, radius);
      if (match >= 0) return match;
    }
    return -1;
  }

  function towards(point, dx, dy) {
    return indexNow() ? nextPoint(index.built, point, dx, dy) : -1;
  }

  /** Pixel of a point of the single panel. */
  function pixelOf(point) {
    return panelToPixel(
      panels.layout,
      panels.camera,
      0,
      ...projectToSquare(panels.camera, panels.player.placeOf(point)),
    );
  }

  // -- ring and card ----------------------------------------------------------------------------

  /** The ring round a head, and what it does. */
  function showPanel(panel) {
    state.focus = panel;
    const { name, summary } = panels.picture.panels[panel];
    const [left, top, side] = panelBox(panels.layout, panels.camera, panel);
    const [x0, y0] = [Math.max(0, left), Math.max(0, top)];
    const [x1, y1] = [Math.min(panels.layout.width, left + side), Math.min(panels.layout.height, top + side)];
    if (x1 <= x0 || y1 <= y0) return hide();
    moveRing(x0, y0, x1 - x0, y1 - y0);
    tip.replaceChildren(Object.assign(document.createElement("strong"), { textContent: name }), ` ${summary}`);
    says.textContent = `${name} ${summary}`;
    placeTip((x0 + x1) / 2, y1 + 8, y1 - y0 + 8);
  }

  function showPoint(point) {
    if (point === state.point) return;
    hide();
    state.point = point;
    if (point < 0 || !panels.picture.card) return;
    around(point, ...pixelOf(point), panels.picture.card);
  }

  /** A ring round a point at a pixel, and its card, whose URL begins so. */
  function around(point, px, py, card) {
    state.point = point;
    moveRing(px - 8, py - 8, 16, 16);
    pausing = setTimeout(() => fetchCard(point, px, py, card), PAUSE);
  }

  async function fetchCard(point, px, py, url) {
    abort = new AbortController();
    const { token, role } = panels.named(point);
    try {
      const response = await fetch(`${url}${role}/${token}.json`, { signal: abort.signal });
      if (!response.ok) throw new Error(await response.text());
      const card = await response.json();
      if (state.point !== point) return;
      tip.replaceChildren(drawCard(card));
      says.textContent = `${card.role} ${card.wordpiece}, position ${card.position} in sentence ${card.sentence}`;
      placeCard(px, py);
    } catch (error) {
      if (error.name !== "AbortError") panels.problem.textContent = error.message;
    }
  }

  function moveRing(left, top, width, height) {
    Object.assign(ring.style, {
      display: "block",
      left: `${left}px`,
      top: `${top}px`,
      width: `${width}px`,
      height: `${height}px`,
    });
  }

  /** Below a head, moved left or above where there is no room. */
  function placeTip(px, py, above) {
    tip.style.display = "block";
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const box = panels.frame.getBoundingClientRect();
    const most = Math.min(panels.frame.clientWidth, window.innerWidth - box.left) - width;
    const over = py - height - above - 12;
    const high = box.top + py + height > window.innerHeight && over > -box.top;
    tip.style.left = `${Math.max(0, Math.min(most, px - width / 2))}px`;
    tip.style.top = `${high ? over : py}px`;
  }

  /** A card of a point, in that part of the frame that is to be seen: above it stand the controls. */
  function placeCard(px, py) {
    tip.style.display = "block";
    at = [px, py];
    const box = panels.frame.getBoundingClientRect();
    const room = {
      left: Math.max(0, -box.left),
      top: Math.max(0, -box.top),
      right: Math.min(box.width, window.innerWidth - box.left),
      bottom: Math.min(box.height, window.innerHeight - box.top),
    };
    const [left, top] = cardPlace(at, [tip.offsetWidth, tip.offsetHeight], room, panels.layer.lines());
    Object.assign(tip.style, { left: `${left}px`, top: `${top}px` });
  }

  /** Lines have come since the card was placed. */
  function avoidLines() {
    if (state.point >= 0 && tip.style.display === "block") placeCard(...at);
  }

  /** The picture has another size now: the ring goes round the same head, or point that the keyboard stands on. */
  function again() {
    const { focus, point, pinned } = state;
    if (ring.style.display !== "block") return;
    hide();
    if (point < 0) showPanel(focus);
    else if (pinned && panels.single) showPoint(point);
    else if (pinned) panels.linkedPanels.showPoint(focus, point);
    state.pinned = pinned;
  }

  function hide() {
    clearTimeout(pausing);
    abort?.abort();
    state.point = -1;
    state.pinned = false;
    ring.style.display = tip.style.display = "none";
    panels.linkedPanels?.hide();
  }

  return state;
}
