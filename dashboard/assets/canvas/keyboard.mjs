// The keyboard: it reaches every head of the grid, neighbours of a head, points, zoom, and the way back.
import { panelBox, panelIn, slotOf } from "./layout.mjs";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const FACTOR = 1.5;

export function listenToKeyboard(panels) {
  const { hover } = panels;

  /** Another head of the grid. */
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

  /** Moves the keyboard to a point: its ring and card stay until the next key. */
  function stand(point) {
    if (point < 0) return;
    reveal(...hover.pixelOf(point));
    hover.showPoint(point);
    panels.keyboard = hover.pinned = true;
  }

  /** Pans the picture where a pixel is outside of it. */
  function reveal(px, py) {
    const { width, height } = panels.layout;
    if (px < 0 || py < 0 || px > width || py > height) panels.cameraControl.pan(width / 2 - px, height / 2 - py);
  }

  /** As in one panel; the same token in the other one has a ring too. */
  function standInBoth(point) {
    if (point < 0) return;
    reveal(...panels.linkedPanels.pixelOf(hover.focus, point));
    panels.linkedPanels.showPoint(hover.focus, point);
    panels.keyboard = hover.pinned = true;
  }

  function movePoint(rows, columns) {
    const from = hover.point;
    if (!panels.single)
      return standInBoth(
        panels.keyboard && from >= 0
          ? panels.linkedPanels.towards(hover.focus, from, columns, -rows)
          : panels.linkedPanels.search(hover.focus),
      );
    stand(
      panels.keyboard && from >= 0
        ? hover.towards(from, columns, -rows)
        : hover.search(panels.layout.width / 2, panels.layout.height / 2),
    );
  }

  function escape() {
    panels.keyboard = false;
    if (panels.tool.drawing) panels.tool.cancel();
    else if (hover.point >= 0 || !panels.single) hover.hide();
    else panels.pick(-1);
  }

  function zoomOut() {
    if (panels.single && panels.camera.zoom === 1) panels.leave();
    else panels.cameraControl.zoom(1 / FACTOR);
  }

  const zoomIn = () => panels.cameraControl.zoom(FACTOR);

  function act(key, shift) {
    const step = STEPS[key];
    if (step && !panels.single)
      return () => (shift && panels.linkedPanels.areThere() ? movePoint(...step) : moveFocus(...step));
    if (step) return () => (shift ? panels.painter && movePoint(...step) : panels.step(...step));
    if (key === "Enter")
      return panels.single ? () => hover.point >= 0 && panels.pick(hover.point) : () => panels.open(hover.focus);
    if (key === "Escape") return escape;
    if (key === "Backspace" && panels.single) return () => panels.leave();
    if (!panels.painter) return key === "-" && panels.single ? () => panels.leave() : null;
    if (key === "p" && panels.single)
      return () => stand(hover.search(panels.layout.width / 2, panels.layout.height / 2));
    if (key === "p" && panels.linkedPanels.areThere())
      return () => standInBoth(panels.linkedPanels.search(hover.focus));
    return { "+": zoomIn, "=": zoomIn, "-": zoomOut, 0: () => panels.cameraControl.reset() }[key];
  }

  panels.on(panels.frame, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !panels.picture || !panels.layout) return;
    const does = act(event.key.length === 1 ? event.key.toLowerCase() : event.key, event.shiftKey);
    if (!does) return;
    event.preventDefault();
    panels.cameraControl.finish();
    does();
  });
  panels.on(
    panels.frame,
    "focus",
    () => panels.picture && !panels.single && panels.frame.matches(":focus-visible") && hover.showPanel(hover.focus),
  );
  panels.on(panels.frame, "blur", () => panels.keyboard || hover.pinned || hover.hide());
}
