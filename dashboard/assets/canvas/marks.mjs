// How large and how opaque a point is drawn: larger where a panel is, thinner where there are many.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const LARGEST = 10;

  /** {size in pixels, alpha} for so many points in a panel of so many pixels. */
  function marks(points, side) {
    const perPixel = points / (side * side);
    const crowded = Math.max(0.5, Math.min(1, (0.05 / perPixel) ** 0.25));
    const size = Math.max(1.5, Math.min(LARGEST, 3.6 * (side / 700) ** 0.35 * crowded));
    const alpha = Math.max(0.08, Math.min(0.85, 0.7 / (perPixel * size * size)));
    return { size, alpha };
  }

  headscape.marks = marks;
  if (typeof module !== "undefined") module.exports = { marks };
})(typeof window === "undefined" ? globalThis : window);
