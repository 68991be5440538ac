// Bytes from the server: the header that every format begins with, and whether a download is complete.

export const RELOAD = "Reload the page.";

/** The numbers after the four letters, a view of the bytes, and where the values start, after `more` bytes. */
export function readHeader(buffer, magic, what, count, more = 0) {
  const start = 4 + 4 * count + more;
  const letters = buffer.byteLength < start ? "" : String.fromCharCode(...new Uint8Array(buffer, 0, 4));
  if (letters !== magic) throw new Error(`The server sent invalid ${what}. ${RELOAD}`);
  const view = new DataView(buffer);
  return { numbers: Array.from({ length: count }, (_, i) => view.getUint32(4 + 4 * i, true)), view, start };
}

export function expectBytes(buffer, start, bytes, what) {
  if (buffer.byteLength !== start + bytes) throw new Error(`The download of ${what} is incomplete. ${RELOAD}`);
}
