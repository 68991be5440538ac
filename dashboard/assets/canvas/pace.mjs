// Keeps moving pictures moving: where all points take long to draw, fewer are drawn until the hand rests.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const SLOW = 90;
  const REST = 220;
  /** So many points are drawn in a moment by a processor alone. */
  const FEW = 80_000;

  function create(panels) {
    let [slow, moving, resting, measured] = [false, false, 0, 0];

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

    /** The most points of a panel to draw now; when it is all of many, how long that takes tells whether it is slow. */
    function most(points, single) {
      const total = points ? points.tokens * points.roles * (single ? 1 : points.panels) : 0;
      measured = total > FEW && !(slow && moving) ? root.performance.now() : 0;
      return total > FEW && slow && moving ? points.roles * Math.ceil((FEW / total) * points.tokens) : Infinity;
    }

    /** To be called when it was drawn. */
    function drawn() {
      const begin = measured;
      if (begin) panels.painter.whenDone(() => (slow = root.performance.now() - begin > SLOW));
    }

    return { moved, most, drawn, release: () => root.clearTimeout(resting) };
  }

  headscape.pace = { create };
})(window);
