// What a reader does on the frame. Mouse, pen and wheel: hover, open, choose, pan, turn, zoom, draw a region. The
// keyboard reaches every head of the grid, neighbours of a head, points, zoom, and the way back.
import { panelAt, panelBox, panelIn, slotOf } from "./layout.mjs";
import { ARROWS } from "../web/keyboard.mjs";

const CLICK = 4;
const DEGREES = 0.4;
/** Zooming out ends at the whole head; only turning the wheel on after a rest goes back to all heads. */
const REST = 350;

/** @param {Panels} panels */
export function listenToPointer(panels) {
  /** @type {Pixel | null} */
  let pressed = null;
  /** @type {Pixel | null} */
  let dragged = null;
  let inside = 0;

  /** Pixels from the upper left of the frame. @param {MouseEvent} event @returns {Pixel} */
  function pixel(event) {
    const box = panels.frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** @param {PointerEvent} event */
  function moved(event) {
    if (!panels.pictureNow || !panels.layoutNow) return;
    const [px, py] = pixel(event);
    if (dragged) return drag(event, px, py);
    if (panels.cameraControl.animating || panels.player.moving || panels.tool.drawing) return;
    if (panels.choosesPoints && (panels.hover.pinned || panels.keyboard)) return;
    const cluster = panels.layer.clusterAt(px, py);
    if (cluster) return panels.hover.showCluster(cluster);
    if (panels.single) return panels.hover.showPoint(panels.search.nearest(0, px, py));
    if (panels.picture.cards) return panels.hover.showAt(px, py);
    const panel = panelAt(panels.layout, panels.camera, px, py);
    return panel < 0 ? panels.hover.hide() : panels.hover.showPanel(panel);
  }

  /** @param {PointerEvent} event @param {number} px @param {number} py */
  function drag(event, px, py) {
    if (!dragged || !pressed) return;
    const [dx, dy] = [px - dragged[0], py - dragged[1]];
    if (!panels.dragging && Math.hypot(px - pressed[0], py - pressed[1]) <= CLICK) return;
    panels.dragging = true;
    dragged = [px, py];
    if (panels.tool.drawing) return panels.tool.extend(px, py);
    if (panels.choosesPoints && panels.tool.name !== "move") return;
    if (panels.picture.dimensions === 3 && !event.shiftKey)
      return panels.cameraControl.turn(dx * DEGREES, dy * DEGREES);
    if (panels.single || panels.camera.zoom > 1) panels.cameraControl.pan(dx, dy);
  }

  /** @param {PointerEvent} event */
  function down(event) {
    if (
      !panels.pictureNow ||
      !panels.layoutNow ||
      event.button ||
      event.target?.closest?.(".tip") ||
      panels.cameraControl.animating
    )
      return;
    panels.keyboard = false;
    panels.player.pause();
    pressed = pixel(event);
    if (!panels.painter) return;
    dragged = pressed;
    if (panels.choosesPoints && panels.tool.name !== "move") panels.tool.begin(...pressed);
    panels.frame.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  function up(event) {
    const [place, wasDragging] = [pixel(event), panels.dragging];
    const clicked = pressed && !wasDragging;
    pressed = dragged = null;
    panels.dragging = false;
    if (panels.tool.drawing && !clicked) return panels.tool.end();
    panels.tool.cancel();
    if (wasDragging) panels.cameraControl.settle();
    if (clicked) click(...place);
  }

  /** @param {number} px @param {number} py */
  function click(px, py) {
    const panel = panels.panelAt(px, py);
    if (!panels.choosesPoints) return panels.open(panel);
    if (!panels.painter || panels.player.moving) return;
    if (!panels.arePointsThere) return panels.keep(() => click(px, py));
    panels.hover.pinned = false;
    const point = panels.single ? panels.search.nearest(0, px, py) : panels.hover.showAt(px, py);
    if (panels.single) panels.hover.showPoint(point);
    else panels.hover.focus = Math.max(0, panel);
    panels.hover.pinned = point >= 0;
    panels.pick(point);
  }

  function cancelled() {
    pressed = dragged = null;
    panels.dragging = false;
    panels.tool.cancel();
  }

  /** @param {WheelEvent} event */
  function wheel(event) {
    if (!panels.painter || !panels.layoutNow || event.target?.closest?.(".tip")) return;
    const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
    // All heads are in view: turning on scrolls the page, as it would beside the picture.
    if (!panels.single && pixels > 0 && panels.camera.zoom === 1) return;
    event.preventDefault();
    const now = event.timeStamp;
    if (panels.camera.zoom > 1) inside = now;
    if (panels.single && pixels > 0 && panels.camera.zoom === 1 && now - inside > REST) return panels.leave();
    panels.cameraControl.zoom(Math.exp(-pixels * 0.0015), ...pixel(event));
  }

  /** @param {string} name @param {(event: any) => void} act @param {AddEventListenerOptions} [options] */
  const on = (name, act, options) => panels.on(panels.frame, name, act, options);
  on("pointermove", moved);
  on("pointerdown", down);
  on("pointerup", up);
  on("pointercancel", cancelled);
  on("pointerleave", () => dragged || panels.hover.pinned || panels.keyboard || panels.hover.hide());
  on("wheel", wheel, { passive: false });
  on("dblclick", () => panels.choosesPoints && panels.painter && panels.cameraControl.reset());
}

const FACTOR = 1.5;

/** @param {Panels} panels */
export function listenToKeyboard(panels) {
  const { hover, search } = panels;

  /** Another head of the grid. @param {number} rows @param {number} columns */
  function moveFocus(rows, columns) {
    const { layout } = panels;
    const slot = slotOf(layout, hover.focus);
    const row = Math.max(0, Math.min(layout.rows - 1, Math.floor(slot / layout.columns) + rows));
    const column = Math.max(0, Math.min(layout.columns - 1, (slot % layout.columns) + columns));
    const next = panelIn(layout, row * layout.columns + column);
    const panel = next < 0 ? hover.focus : next;
    hover.hide();
    const [left, top, side] = panelBox(layout, panels.camera, panel);
    reveal(left + side / 2, top + side / 2);
    hover.showPanel(panel);
  }

  /** Moves the keyboard to a point: its ring and card stay until the next key. @param {number} point */
  function stand(point) {
    if (point < 0) return;
    reveal(...search.pixelOf(0, point));
    hover.showPoint(point);
    panels.keyboard = hover.pinned = true;
  }

  /** Pans the picture where a pixel is outside of it. @param {number} px @param {number} py */
  function reveal(px, py) {
    const { width, height } = panels.layout;
    if (px < 0 || py < 0 || px > width || py > height) panels.cameraControl.pan(width / 2 - px, height / 2 - py);
  }

  /** As in one panel; the same token in the other one has a ring too. @param {number} point */
  function standInBoth(point) {
    if (point < 0) return;
    reveal(...search.pixelOf(hover.focus, point));
    hover.showInBoth(hover.focus, point);
    panels.keyboard = hover.pinned = true;
  }

  /** The point nearest to the middle of a panel, or of the frame of a single one. @param {number} panel */
  function nearestToMiddle(panel) {
    const { layout, camera, single } = panels;
    const [left, top, side] = panelBox(layout, camera, panel);
    return search.nearestAnywhere(
      panel,
      single ? [layout.width / 2, layout.height / 2] : [left + side / 2, top + side / 2],
    );
  }

  /** @param {number} rows @param {number} columns */
  function movePoint(rows, columns) {
    const [panel, from] = [panels.single ? 0 : hover.focus, hover.point];
    const isStanding = panels.keyboard && from >= 0;
    const point = isStanding ? search.towards(panel, from, columns, -rows) : nearestToMiddle(panel);
    if (panels.single) stand(point);
    else standInBoth(point);
  }

  function escape() {
    panels.keyboard = false;
    if (panels.tool.drawing) panels.tool.cancel();
    else if (hover.point >= 0 || !panels.choosesPoints) hover.hide();
    else panels.pick(-1);
  }

  function zoomOut() {
    if (panels.choosesPoints && panels.camera.zoom === 1) panels.leave();
    else panels.cameraControl.zoom(1 / FACTOR);
  }

  const zoomIn = () => panels.cameraControl.zoom(FACTOR);

  /** @param {string} key @param {boolean} shift */
  function act(key, shift) {
    const step = ARROWS[key];
    if (step && !panels.choosesPoints)
      return () => (shift && search.areThere() ? movePoint(...step) : moveFocus(...step));
    if (step) return () => (shift ? panels.painter && movePoint(...step) : panels.step(...step));
    if (key === "Enter")
      return panels.choosesPoints ? () => hover.point >= 0 && panels.pick(hover.point) : () => panels.open(hover.focus);
    if (key === "Escape") return escape;
    if (key === "Backspace" && panels.choosesPoints) return () => panels.leave();
    if (!panels.painter) return key === "-" && panels.choosesPoints ? () => panels.leave() : null;
    if (key === "p" && panels.single) return () => stand(nearestToMiddle(0));
    if (key === "p" && search.areThere()) return () => standInBoth(nearestToMiddle(hover.focus));
    return { "+": zoomIn, "=": zoomIn, "-": zoomOut, 0: () => panels.cameraControl.reset() }[key];
  }

  panels.on(panels.frame, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !panels.pictureNow || !panels.layoutNow) return;
    const does = act(event.key.length === 1 ? event.key.toLowerCase() : event.key, event.shiftKey);
    if (!does) return;
    event.preventDefault();
    panels.cameraControl.finish();
    does();
  });
  panels.on(
    panels.frame,
    "focus",
    () =>
      panels.pictureNow &&
      !panels.choosesPoints &&
      panels.frame.matches(":focus-visible") &&
      hover.showPanel(hover.focus),
  );
  panels.on(panels.frame, "blur", () => panels.keyboard || hover.pinned || hover.hide());
}
