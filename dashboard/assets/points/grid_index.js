// Which point is nearest: points sorted into a grid of cells by counting, a search looks at the cells around a place.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const CELLS = 256;

  /** Index of one panel's points; `places` are x, y pairs from 0 to `most`. */
  function build(places, most) {
    const count = places.length / 2;
    const cellOf = (i) => cell(places[2 * i + 1], most) * CELLS + cell(places[2 * i], most);
    const starts = new Uint32Array(CELLS * CELLS + 1);
    for (let i = 0; i < count; i++) starts[cellOf(i) + 1]++;
    for (let c = 0; c < CELLS * CELLS; c++) starts[c + 1] += starts[c];
    const next = starts.slice(0, -1);
    const order = new Uint32Array(count);
    for (let i = 0; i < count; i++) order[next[cellOf(i)]++] = i;
    return { places, most, starts, order };
  }

  const cell = (coordinate, most) => Math.min(CELLS - 1, Math.floor((coordinate / most) * CELLS));

  /** The point nearest to (x, y) within `radius`, all from 0 to 1; -1 if there is none. */
  function nearest(index, x, y, radius) {
    const { places, most, starts, order } = index;
    const range = (centre) => [centre - radius, centre + radius].map((v) => Math.max(0, Math.min(CELLS - 1, Math.floor(v * CELLS))));
    const [left, right] = range(x);
    const [bottom, top] = range(y);
    let best = radius * radius * most * most;
    let found = -1;
    for (let row = bottom; row <= top; row++) {
      for (let slot = starts[row * CELLS + left]; slot < starts[row * CELLS + right + 1]; slot++) {
        const i = order[slot];
        const distance = (places[2 * i] - x * most) ** 2 + (places[2 * i + 1] - y * most) ** 2;
        if (distance <= best) [best, found] = [distance, i];
      }
    }
    return found;
  }

  headscape.gridIndex = { build, nearest };
  if (typeof module !== "undefined") module.exports = headscape.gridIndex;
})(typeof window === "undefined" ? globalThis : window);
