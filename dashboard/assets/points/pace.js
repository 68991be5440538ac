// Keeps moving pictures moving: where all points take long to draw, fewer are drawn until the hand rests.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const SLOW = 90;
  const REST = 220;
  /** So many points are drawn in a moment by a processor alone. */
  const FEW = 80_000;

  function create(panels) {
    let [slow, moving, resting] = [false, false, 0];

    function moved() {
      moving = true;
      root.clearTimeout(resting);
      resting = root.setTimeout(rest, REST);
    }

    function rest() {
      if (panels.dragging) return moved();
      moving = false;
      if (slow) panels.paint();
    }

    /** The graphics card works two frames behind. */
    function afterFrames(count, act) {
      root.requestAnimationFrame(() => (count > 1 ? afterFrames(count - 1, act) : act()));
    }

    /** The most points of a panel to draw now; when it is all of them, how long that took is seen some frames later. */
    function most(points, single) {
      const total = points ? points.tokens * 2 * (single ? 1 : points.panels) : 0;
      if (slow && moving && total > FEW) return 2 * Math.ceil((FEW / total) * points.tokens);
      const begin = root.performance.now();
      if (total > FEW) afterFrames(3, () => (slow = root.performance.now() - begin > SLOW));
      return Infinity;
    }

    return { moved, most, release: () => root.clearTimeout(resting) };
  }

  headscape.pace = { create };
})(window);
