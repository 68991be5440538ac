// Where a card stands beside its point: where it covers neither the point nor the lines that are drawn, as far as there is room.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  /** Pixels between the card and its point, and between the card and the border of its room. */
  const APART = 14;
  const MARGIN = 6;
  /** More than all the lines together. */
  const POINT = 1e6;

  /** Upper left corners, the best first where they cover as much: below, above and beside the point, then the corners of the room. */
  function candidates([x, y], [width, height], { left, top, right, bottom }) {
    const [near, far] = [left + MARGIN, right - width - MARGIN];
    const [high, low] = [top + MARGIN, bottom - height - MARGIN];
    const corners = [[far, high], [near, high], [far, low], [near, low]];
    return [[x, y + APART], [x - width, y + APART], [x, y - height - APART], [x - width, y - height - APART], [x + APART, y - height / 2], [x - width - APART, y - height / 2], ...corners];
  }

  /** Whether a line from [x0, y0] to [x1, y1] meets a rectangle (Liang and Barsky 1984: the part of it within each border). */
  function meets([x0, y0, x1, y1], left, top, right, bottom) {
    let [from, to] = [0, 1];
    for (const [step, room] of [[x0 - x1, x0 - left], [x1 - x0, right - x0], [y0 - y1, y0 - top], [y1 - y0, bottom - y0]]) {
      if (step === 0 && room < 0) return false;
      if (step < 0) from = Math.max(from, room / step);
      if (step > 0) to = Math.min(to, room / step);
    }
    return from <= to;
  }

  /** How much of what is drawn a card would cover: `lines` are [x0, y0, x1, y1, importance]. */
  function covered([left, top], [width, height], [x, y], lines) {
    const borders = [left - MARGIN, top - MARGIN, left + width + MARGIN, top + height + MARGIN];
    const point = meets([x, y, x, y], ...borders) ? POINT : 0;
    return lines.reduce((sum, line) => sum + (meets(line, ...borders) ? line[4] : 0), point);
  }

  /** The upper left corner of a card of a point, within its room. */
  function cardPlace(point, size, room, lines) {
    const within = ([left, top]) => [Math.max(room.left, Math.min(left, room.right - size[0])), Math.max(room.top, Math.min(top, room.bottom - size[1]))];
    const every = candidates(point, size, room).map(within);
    const costs = every.map((one) => covered(one, size, point, lines));
    return every[costs.indexOf(Math.min(...costs))];
  }

  headscape.cardPlace = cardPlace;
  if (typeof module !== "undefined") module.exports = headscape.cardPlace;
})(typeof window === "undefined" ? globalThis : window);
