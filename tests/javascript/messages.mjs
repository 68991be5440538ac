// Messages as the server sends them: letters, numbers of four bytes, then values.

export function message(letters, numbers, values, largest) {
  const body = new Uint8Array(values.buffer || values);
  const start = 4 + 4 * numbers.length + (largest === undefined ? 0 : 4);
  const bytes = new Uint8Array(start + body.length);
  const view = new DataView(bytes.buffer);
  bytes.set([...letters].map((letter) => letter.charCodeAt(0)));
  numbers.forEach((number, i) => view.setUint32(4 + 4 * i, number, true));
  if (largest !== undefined) view.setFloat32(start - 4, largest, true);
  bytes.set(body, start);
  return bytes.buffer;
}
