// What the server sends of a sentence: the weights of a layer (HSL1), thumbnails of all heads (HST1). All little-endian.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const RELOAD = "Reload the page.";

  /** The numbers after the four letters, the largest weight, and where the values start. */
  function header(buffer, magic, what, count) {
    const start = 4 + 4 * count + 4;
    const letters = buffer.byteLength < start ? "" : String.fromCharCode(...new Uint8Array(buffer, 0, 4));
    if (letters !== magic) throw new Error(`These are no ${what}. ${RELOAD}`);
    const view = new DataView(buffer);
    const numbers = Array.from({ length: count }, (_, i) => view.getUint32(4 + 4 * i, true));
    return { numbers, most: view.getFloat32(start - 4, true), start };
  }

  function expectBytes(buffer, start, bytes, what) {
    if (buffer.byteLength !== start + bytes) throw new Error(`The ${what} were cut on their way. ${RELOAD}`);
  }

  /** {heads, queries, keys, most, codes}: a weight is its code / 65535 * most; codes are [head, query, key]. */
  function layer(buffer) {
    const { numbers, most, start } = header(buffer, "HSL1", "weights", 3);
    const [heads, queries, keys] = numbers;
    expectBytes(buffer, start, heads * queries * keys * 2, "weights");
    return { heads, queries, keys, most, codes: new Uint16Array(buffer, start) };
  }

  /** {layers, heads, rows, columns, most, codes}: a weight is its code / 255 * most; codes are [layer, head, row, column]. */
  function model(buffer) {
    const { numbers, most, start } = header(buffer, "HST1", "thumbnails", 4);
    const [layers, heads, rows, columns] = numbers;
    expectBytes(buffer, start, layers * heads * rows * columns, "thumbnails");
    return { layers, heads, rows, columns, most, codes: new Uint8Array(buffer, start) };
  }

  sentence.decode = { layer, model };
})(window);
