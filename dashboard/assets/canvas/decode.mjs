// Bytes from the server as typed arrays: points (HSP3), colours or sizes (HSC2), masks (HSM2). All little-endian.
import { RELOAD, expectBytes, readHeader } from "../web/loading.mjs";

/**
 * {panels, tokens, roles, components, width, places, most}; point i of a panel is token i / roles in its role i %
 * roles.
 * @param {ArrayBuffer} buffer
 */
export function decodePoints(buffer) {
  const { numbers, start } = readHeader(buffer, "HSP3", "points", 5);
  const [panels, tokens, roles, components, width] = numbers;
  if (![1, 2].includes(roles) || ![2, 3].includes(components) || ![1, 2].includes(width))
    throw new Error(`These points are of another version. ${RELOAD}`);
  const count = panels * tokens * roles * components;
  expectBytes(buffer, start, count * width, "points");
  const places = width === 1 ? new Uint8Array(buffer, start, count) : new Uint16Array(buffer, start, count);
  return { panels, tokens, roles, components, width, places, most: width === 1 ? 255 : 65535 };
}

/** {panels, tokens, roles, values}: a code 0..254 per point, 255 where it is missing. @param {ArrayBuffer} buffer */
export function decodeColours(buffer) {
  const { numbers, start } = readHeader(buffer, "HSC2", "colours", 3);
  const [panels, tokens, roles] = numbers;
  expectBytes(buffer, start, panels * tokens * roles, "colours");
  return { panels, tokens, roles, values: new Uint8Array(buffer, start) };
}

/**
 * {panels, tokens, roles, values, selected}: 1 per selected point, else 0, and how many are selected.
 * @param {ArrayBuffer} buffer
 */
export function decodeMask(buffer) {
  const { numbers, start } = readHeader(buffer, "HSM2", "selected points", 3);
  const [panels, tokens, roles] = numbers;
  const count = panels * tokens * roles;
  expectBytes(buffer, start, Math.ceil(count / 8), "selected points");
  const bits = new Uint8Array(buffer, start);
  const values = new Uint8Array(count);
  let selected = 0;
  for (let i = 0; i < count; i++) selected += values[i] = (bits[i >> 3] >> (7 - (i & 7))) & 1;
  return { panels, tokens, roles, values, selected };
}

/**
 * One value per point of all panels: values that are the same in every panel are repeated.
 * @param {Values} decoded @param {number} panels
 */
export function spreadOverPanels(decoded, panels) {
  if (decoded.panels === panels) return decoded.values;
  const all = new Uint8Array(panels * decoded.values.length);
  for (let panel = 0; panel < panels; panel++) all.set(decoded.values, panel * decoded.values.length);
  return all;
}

/**
 * Numbers of the selected points of all panels, ascending; a mask of one panel holds for every one.
 * @param {Mask} mask @param {number} panels
 */
export function selectedPoints(mask, panels) {
  const { values, selected: count } = mask;
  const numbers = new Uint32Array(mask.panels === panels ? count : count * panels);
  let next = 0;
  for (let panel = 0; panel < panels / mask.panels; panel++)
    for (let i = 0; i < values.length; i++) if (values[i]) numbers[next++] = panel * values.length + i;
  return numbers;
}

/** The points of one panel. @param {Points} points @param {number} panel */
export function pointsOfPanel(points, panel) {
  const length = points.places.length / points.panels;
  return { ...points, panels: 1, places: points.places.subarray(panel * length, (panel + 1) * length) };
}
