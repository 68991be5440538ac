// The weights that a notebook holds: of all heads, in few levels, deflated. Here they become what the views of a
// sentence draw: a layer, or a thumbnail of every head.

/**
 * What `dashboard/notebook/weights.py` has packed.
 * @param {DataView} packed @param {PackedShape} shape
 * @returns {Promise<StoredWeights>}
 */
export async function unpackWeights(packed, { layers, first = 0, heads, tokens, levels }) {
  const bytes = new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
  const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = layers * heads * tokens * tokens;
  if (planes.length !== count * (levels > 255 ? 2 : 1))
    throw new Error("The weights in this notebook are damaged. Run the cell again.");
  const codes = new Uint16Array(count);
  for (let i = 0; i < count; i++)
    codes[i] = Math.round((65535 * (levels > 255 ? 256 * planes[i] + planes[count + i] : planes[i])) / levels);
  return { layers, first, heads, tokens, codes };
}

/** @param {Unit[]} units @param {number} first */
const placesOf = (units, first) => units.map(({ positions: [position] }) => position - first);

/**
 * The weights [head, query, key] of a layer between these wordpieces.
 * @param {StoredWeights} stored @param {number} layer @param {Unit[]} units @param {Unit[]} keys
 * @returns {Layer}
 */
export function layerOf({ first, heads, tokens, codes }, layer, units, keys) {
  const [rows, columns] = [placesOf(units, first), placesOf(keys, first)];
  const chosen = new Uint16Array(heads * rows.length * columns.length);
  let to = 0;
  for (let head = layer * heads; head < (layer + 1) * heads; head++)
    for (const row of rows)
      // As they are stored: keys, and of each its queries.
      for (const column of columns) chosen[to++] = codes[(head * tokens + column) * tokens + row];
  return { heads, queries: rows.length, keys: columns.length, most: 1, codes: chosen };
}

/** Cells of a thumbnail in each direction. */
const SIDE = 64;
/** @param {number} count */
const cellsOf = (count) => Math.min(count, SIDE);

/**
 * A thumbnail of every head: the largest weight of each cell.
 * @param {StoredWeights} stored @param {Unit[]} units @param {Unit[]} keys
 * @returns {Thumbnails}
 */
export function thumbnailsOf(stored, units, keys) {
  const [rows, columns] = [cellsOf(units.length), cellsOf(keys.length)];
  const { layers, heads } = stored;
  const cells = new Uint8Array(layers * heads * rows * columns);
  for (let layer = 0; layer < layers; layer++) {
    const { codes } = layerOf(stored, layer, units, keys);
    for (let from = 0; from < codes.length; from++) {
      const key = from % keys.length;
      const query = Math.floor(from / keys.length) % units.length;
      const head = layer * heads + Math.floor(from / keys.length / units.length);
      const cell = [head, cellAt(query, units.length, rows), cellAt(key, keys.length, columns)];
      const at = (cell[0] * rows + cell[1]) * columns + cell[2];
      cells[at] = Math.max(cells[at], Math.round(codes[from] / 257));
    }
  }
  return { layers, heads, rows, columns, most: 1, codes: cells };
}

/**
 * The cell of a token: cell `i` begins at the token `floor(i * count / cells)`, as on the server.
 * @param {number} token @param {number} count @param {number} cells
 */
const cellAt = (token, count, cells) => Math.min(cells - 1, Math.floor(((token + 1) * cells - 1) / count));
