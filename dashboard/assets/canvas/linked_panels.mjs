// Two panels with the same tokens: pointing at a token in one also rings it in the other.
import { projectToSquare } from "./camera.mjs";
import { DIAGONAL, buildIndex, flattenPlaces, nearestPoint, nextPoint, shrink } from "./grid_index.mjs";
import { panelAt, panelBox, panelToPixel, pixelSize, pixelToPanel } from "./layout.mjs";

const RADIUS = 14;
/** Importance of the same token in the other panel to the card of a point: more than that of its lines. */
const TWIN = 1e4;

/** The points of one panel. @param {Points} points @param {number} panel */
export function pointsOfPanel(points, panel) {
  const length = points.places.length / points.panels;
  return { ...points, panels: 1, places: points.places.subarray(panel * length, (panel + 1) * length) };
}

/** @param {Panels} panels */
export function createLinkedPanels(panels) {
  const ring = Object.assign(document.createElement("div"), { className: "ring linked" });
  panels.frame.append(ring);
  /** @type {{ points?: Points, yaw?: number, pitch?: number, built?: PointIndex[] }} */
  let known = {};
  let shown = "";
  /** @type {Pixel} */
  let twin = [0, 0];

  /** Indices of the points of each panel as they are seen now. */
  function indices() {
    const { points } = panels.data;
    const { yaw, pitch } = panels.camera;
    if (known.points !== points || known.yaw !== yaw || known.pitch !== pitch)
      known = { points, yaw, pitch, built: [] };
    return known;
  }

  /** @param {number} panel */
  function indexOf(panel) {
    const { points, built } = indices();
    const panelPoints = pointsOfPanel(points, panel);
    built[panel] ??=
      points.components === 3
        ? buildIndex(flattenPlaces(panelPoints, panels.camera), 65535)
        : buildIndex(panelPoints.places, panelPoints.most);
    return built[panel];
  }

  /**
   * The point of a panel within so many pixels of a pixel, or -1.
   * @param {number} panel @param {number} px @param {number} py
   */
  function nearest(panel, px, py, radius = RADIUS) {
    const place = pixelToPanel(panels.layout, panels.camera, panel, px, py);
    const reach = radius * pixelSize(panels.layout, panels.camera);
    if (panels.data.points.components === 2) return nearestPoint(indexOf(panel), ...place, reach);
    return nearestPoint(indexOf(panel), shrink(place[0]), shrink(place[1]), reach / DIAGONAL);
  }

  /** The point nearest to the middle of a panel, however far it is. @param {number} panel */
  function search(panel) {
    const [left, top, side] = panelBox(panels.layout, panels.camera, panel);
    for (let radius = RADIUS; radius < 4 * side; radius *= 2) {
      const point = nearest(panel, left + side / 2, top + side / 2, radius);
      if (point >= 0) return point;
    }
    return -1;
  }

  /** @param {number} panel @param {number} point @param {number} dx @param {number} dy */
  const towards = (panel, point, dx, dy) => nextPoint(indexOf(panel), point, dx, dy);

  /** @param {number} panel @param {number} point @returns {Pixel} */
  function pixelOf(panel, point) {
    const { components, places, most } = pointsOfPanel(panels.data.points, panel);
    const place = Array.from({ length: components }, (_, i) => places[point * components + i] / most);
    return panelToPixel(panels.layout, panels.camera, panel, ...projectToSquare(panels.camera, place));
  }

  /** Whether both panels can be looked at point by point: the picture has two, and both have come. */
  const areThere = () => Boolean(panels.picture.cards) && panels.data.points?.panels === panels.picture.cards.length;

  /** Shows and returns the point under a pixel of the frame, -1 for none. @param {number} px @param {number} py */
  function show(px, py) {
    if (!areThere()) return -1;
    const panel = panelAt(panels.layout, panels.camera, px, py);
    const point = panel < 0 ? -1 : nearest(panel, px, py);
    if (shown !== `${panel} ${point}`) showPoint(panel, point);
    return point;
  }

  /**
   * A point and its card, and the same token's point in the other panel.
   * @param {number} panel @param {number} point
   */
  function showPoint(panel, point) {
    panels.hover.hide();
    if (point < 0) return;
    shown = `${panel} ${point}`;
    const [x, y] = (twin = pixelOf(1 - panel, point));
    Object.assign(ring.style, {
      display: "block",
      left: `${x - 8}px`,
      top: `${y - 8}px`,
      width: "16px",
      height: "16px",
    });
    panels.hover.around(point, ...pixelOf(panel, point), panels.picture.cards[panel]);
  }

  function hide() {
    shown = "";
    ring.style.display = "none";
  }

  /** What a card must not cover, as lines: the ring in the other panel. */
  const lines = () => (shown ? [[...twin, ...twin, TWIN]] : []);

  return { areThere, lines, show, showPoint, search, towards, pixelOf, hide };
}
