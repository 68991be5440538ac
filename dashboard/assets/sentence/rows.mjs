// Where the tokens of a column stand: one below the other, sentence B a little apart from A.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const HEIGHT = 24;
  const GAP = 14;

  const begins = (units, i) => i > 0 && units[i].segment !== units[i - 1].segment;

  /** The upper edge of every unit, and of what would come after the last: (unit + 1,) pixels. */
  function tops(units) {
    let y = 0;
    const found = units.map((_, i) => (y += (i ? HEIGHT : 0) + (begins(units, i) ? GAP : 0)));
    return [...found, units.length ? y + HEIGHT : 0];
  }

  sentence.rows = { HEIGHT, GAP, tops, begins };
})(window);
