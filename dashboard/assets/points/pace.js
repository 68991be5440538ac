// Keeps moving pictures moving: where all points take long to draw, fewer are drawn until the hand rests.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const SLOW = 90;
  const REST = 220;
  /** So many points are drawn in a moment by a processor alone. */
  const FEW = 80_000;

  function create(paint) {
    let [slow, moving, resting] = [false, false, 0];

    function moved() {
      moving = true;
      root.clearTimeout(resting);
      resting = root.setTimeout(() => ((moving = false), slow && paint()), REST);
    }

    /** The most points of a panel to draw now; when it is all of them, how long that took is seen at the frame after the next. */
    function most(points, single) {
      const total = points ? points.tokens * 2 * (single ? 1 : points.panels) : 0;
      if (slow && moving && total > FEW) return 2 * Math.ceil((FEW / total) * points.tokens);
      const begin = root.performance.now();
      const look = () => (slow = total > FEW && root.performance.now() - begin > SLOW);
      if (total > FEW) root.requestAnimationFrame(() => root.requestAnimationFrame(look));
      return Infinity;
    }

    return { moved, most, release: () => root.clearTimeout(resting) };
  }

  headscape.pace = { create };
})(window);
