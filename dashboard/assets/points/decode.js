// Points as the server sends them (dashboard/points.py): HSP1, panels, tokens, bytes a coordinate, then x and y.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const HEADER = 16;

  /** {panels, tokens, width, places}; point i of a panel is token i >> 1, a query if i is even, else a key. */
  function decode(buffer) {
    const view = new DataView(buffer);
    const magic = String.fromCharCode(...new Uint8Array(buffer, 0, 4));
    if (magic !== "HSP1") throw new Error("These are no points");
    const [panels, tokens, width] = [4, 8, 12].map((offset) => view.getUint32(offset, true));
    const count = panels * tokens * 4;
    if (buffer.byteLength !== HEADER + count * width) throw new Error("Points were cut on their way");
    const places = width === 1 ? new Uint8Array(buffer, HEADER, count) : new Uint16Array(buffer, HEADER, count);
    return { panels, tokens, width, places, most: width === 1 ? 255 : 65535 };
  }

  headscape.decode = decode;
  if (typeof module !== "undefined") module.exports = { decode };
})(typeof window === "undefined" ? globalThis : window);
