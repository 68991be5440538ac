import assert from "node:assert/strict";
import { test } from "node:test";
import { leastHeight } from "../../dashboard/assets/web/room.mjs";

const at = (top, height) => leastHeight({ top, height, window: 900, below: 16 });

test("the room that is seen below a scrolled page is kept", () => assert.equal(at(-400, 2000), 1284));

test("a page gets no more room than it has", () => assert.equal(at(72, 500), 500));

test("room is given back as the reader scrolls up", () => assert.ok(at(-100, 2000) < at(-400, 2000)));
