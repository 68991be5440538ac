// Level of detail: where painting all points is slow, fewer are painted while the camera moves; size and opacity of a
// point.

const SLOW = 90;
const REST = 220;
/** So many points are drawn in a moment by a processor alone. */
const FEW = 80_000;

export function createLevelOfDetail(panels) {
  let [slow, moving, resting, measured] = [false, false, 0, 0];

  function moved() {
    moving = true;
    clearTimeout(resting);
    resting = setTimeout(rest, REST);
  }

  function rest() {
    if (panels.dragging) return moved();
    moving = false;
    if (slow) panels.paint();
  }

  /** Most points of a panel to draw now. */
  function most(points, single) {
    const total = points ? points.tokens * points.roles * (single ? 1 : points.panels) : 0;
    measured = total > FEW && !(slow && moving) ? performance.now() : 0;
    return total > FEW && slow && moving ? points.roles * Math.ceil((FEW / total) * points.tokens) : Infinity;
  }

  /** Call it after painting: measures how long that took. */
  function drawn() {
    const begin = measured;
    if (begin) panels.painter.whenDone(() => (slow = performance.now() - begin > SLOW));
  }

  return { moved, most, drawn, release: () => clearTimeout(resting) };
}

const LARGEST = 10;

/** {size in pixels, alpha} for so many points in a panel of so many pixels. */
export function pointStyle(points, side) {
  const perPixel = points / (side * side);
  const crowded = Math.max(0.5, Math.min(1, (0.05 / perPixel) ** 0.25));
  const size = Math.max(1.5, Math.min(LARGEST, 3.6 * (side / 700) ** 0.35 * crowded));
  const alpha = Math.max(0.08, Math.min(0.85, 0.7 / (perPixel * size * size)));
  return { size, alpha };
}
