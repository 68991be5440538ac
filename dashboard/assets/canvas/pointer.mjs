// Mouse, pen and wheel on the frame: hover, open, choose, pan, turn, zoom, draw a region.
import { panelAt } from "./layout.mjs";

const CLICK = 4;
const DEGREES = 0.4;
/** Zooming out ends at the whole head; only turning the wheel on after a rest goes back to all heads. */
const REST = 350;

export function listenToPointer(panels) {
  let pressed = null;
  let dragged = null;
  let inside = 0;

  /** Pixels from the upper left of the frame. */
  function pixel(event) {
    const box = panels.frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  function moved(event) {
    if (!panels.picture || !panels.layout) return;
    const [px, py] = pixel(event);
    if (dragged) return drag(event, px, py);
    if (panels.cameraControl.animating || panels.player.moving || panels.tool.drawing) return;
    if (panels.single)
      return panels.hover.pinned || panels.keyboard ? undefined : panels.hover.showPoint(panels.hover.nearest(px, py));
    if (panels.picture.cards) return panels.linkedPanels.show(px, py);
    const panel = panelAt(panels.layout, panels.camera, px, py);
    return panel < 0 ? panels.hover.hide() : panels.hover.showPanel(panel);
  }

  function drag(event, px, py) {
    const [dx, dy] = [px - dragged[0], py - dragged[1]];
    if (!panels.dragging && Math.hypot(px - pressed[0], py - pressed[1]) <= CLICK) return;
    panels.dragging = true;
    dragged = [px, py];
    if (panels.tool.drawing) return panels.tool.extend(px, py);
    if (panels.single && panels.tool.name !== "move") return;
    if (panels.picture.dimensions === 3 && !event.shiftKey)
      return panels.cameraControl.turn(dx * DEGREES, dy * DEGREES);
    if (panels.single || panels.camera.zoom > 1) panels.cameraControl.pan(dx, dy);
  }

  function down(event) {
    if (
      !panels.picture ||
      !panels.layout ||
      event.button ||
      event.target.closest(".tip") ||
      panels.cameraControl.animating
    )
      return;
    panels.keyboard = false;
    panels.player.pause();
    pressed = pixel(event);
    if (!panels.painter) return;
    dragged = pressed;
    if (panels.single && panels.tool.name !== "move") panels.tool.begin(...pressed);
    panels.frame.setPointerCapture(event.pointerId);
  }

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

  function click(px, py) {
    if (!panels.single) return panels.open(panelAt(panels.layout, panels.camera, px, py));
    if (!panels.painter || panels.player.moving) return;
    const point = panels.hover.nearest(px, py);
    panels.hover.pinned = false;
    panels.hover.showPoint(point);
    panels.hover.pinned = point >= 0;
    panels.pick(point);
  }

  function cancelled() {
    pressed = dragged = null;
    panels.dragging = false;
    panels.tool.cancel();
  }

  function wheel(event) {
    if (!panels.painter || !panels.layout || event.target.closest(".tip")) return;
    const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
    // All heads are in view: turning on scrolls the page, as it would beside the picture.
    if (!panels.single && pixels > 0 && panels.camera.zoom === 1) return;
    event.preventDefault();
    const now = event.timeStamp;
    if (panels.camera.zoom > 1) inside = now;
    if (panels.single && pixels > 0 && panels.camera.zoom === 1 && now - inside > REST) return panels.leave();
    panels.cameraControl.zoom(Math.exp(-pixels * 0.0015), ...pixel(event));
  }

  const on = (name, act, options) => panels.on(panels.frame, name, act, options);
  on("pointermove", moved);
  on("pointerdown", down);
  on("pointerup", up);
  on("pointercancel", cancelled);
  on("pointerleave", () => dragged || panels.hover.pinned || panels.keyboard || panels.hover.hide());
  on("wheel", wheel, { passive: false });
  on("dblclick", () => panels.single && panels.painter && panels.cameraControl.reset());
}
