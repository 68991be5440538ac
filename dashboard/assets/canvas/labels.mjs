// Which labels fit: greedy, in the order given, on a raster of small cells of which each belongs to one label at most.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const CELL = 4;

  /** An empty sheet of so many pixels. */
  function sheet(width, height) {
    const [columns, rows] = [Math.ceil(width / CELL), Math.ceil(height / CELL)];
    return { columns, rows, taken: new Uint8Array(columns * rows) };
  }

  /** Takes a box on the sheet if all of it is there and free; says whether it did. */
  function take({ columns, rows, taken }, left, top, width, height) {
    const [x0, y0] = [Math.floor(left / CELL), Math.floor(top / CELL)];
    const [x1, y1] = [Math.ceil((left + width) / CELL), Math.ceil((top + height) / CELL)];
    if (x0 < 0 || y0 < 0 || x1 > columns || y1 > rows) return false;
    for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) if (taken[y * columns + x]) return false;
    for (let y = y0; y < y1; y++) taken.fill(1, y * columns + x0, y * columns + x1);
    return true;
  }

  /**
   * The candidates whose label fits beside their point: right of it, else left.
   * `candidates` yields {px, py, text, ...}; `measure` gives the width of a text. Chosen ones get `left` and `top`.
   */
  function choose(candidates, measure, onSheet, { most, height, beside }) {
    const chosen = [];
    for (const candidate of candidates) {
      if (chosen.length >= most) break;
      const width = measure(candidate.text);
      const top = candidate.py - height / 2;
      const left = [candidate.px + beside, candidate.px - beside - width].find((start) => take(onSheet, start, top, width, height));
      if (left !== undefined) chosen.push({ ...candidate, left, top, width, height });
    }
    return chosen;
  }

  headscape.labels = { sheet, take, choose };
  if (typeof module !== "undefined") module.exports = headscape.labels;
})(typeof window === "undefined" ? globalThis : window);
