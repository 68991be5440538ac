import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeColours,
  decodeMask,
  decodePoints,
  selectedPoints,
  spreadOverPanels,
} from "../../dashboard/assets/canvas/painter.mjs";
import { message } from "./messages.mjs";

for (const roles of [1, 2])
  for (const components of [2, 3])
    for (const Kind of [Uint8Array, Uint16Array])
      test(`points of ${roles} roles in ${components}D as ${Kind.name} are read as they were sent`, () => {
        const sent = Kind.from({ length: 3 * roles * components }, (_, i) => 7 * i);
        const read = decodePoints(message("HSP3", [1, 3, roles, components, sent.BYTES_PER_ELEMENT], sent));
        const { places, most, ...shape } = read;
        assert.deepEqual(shape, { panels: 1, tokens: 3, roles, components, width: sent.BYTES_PER_ELEMENT });
        assert.equal(most, 256 ** sent.BYTES_PER_ELEMENT - 1);
        assert.deepEqual([...places], [...sent]);
      });

const REFUSED = [
  [() => decodePoints(message("HSP3", [1, 9, 2, 2, 2], [1, 2, 3])), "The download of points is incomplete."],
  [() => decodePoints(message("HSP2", [1, 9, 2, 2, 2], [])), "The server sent invalid points."],
  [() => decodePoints(new ArrayBuffer(2)), "The server sent invalid points."],
  [() => decodePoints(message("HSP3", [1, 1, 2, 4, 2], [])), "These points are of another version."],
  [() => decodeColours(message("HSC2", [1, 2, 2], [0])), "The download of colours is incomplete."],
  [() => decodeMask(message("HSM2", [1, 5, 2], [0])), "The download of selected points is incomplete."],
];
for (const [read, problem] of REFUSED)
  test(`a message that is not whole is refused: ${problem}`, () =>
    assert.throws(read, { message: `${problem} Reload the page.` }));

test("the bits of a mask are in their order", () => {
  const { values, selected } = decodeMask(message("HSM2", [1, 5, 2], [0b10100000, 0b01000000]));
  assert.deepEqual([...values], [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
  assert.equal(selected, 3);
});

test("a mask of one panel selects the same points in every panel", () => {
  const mask = decodeMask(message("HSM2", [1, 2, 2], [0b10010000]));
  assert.deepEqual([...selectedPoints(mask, 2)], [0, 3, 4, 7]);
});

test("colours that are the same in every panel are repeated", () => {
  const read = decodeColours(message("HSC2", [1, 2, 2], [1, 2, 3, 255]));
  assert.deepEqual([...spreadOverPanels(read, 2)], [1, 2, 3, 255, 1, 2, 3, 255]);
});
