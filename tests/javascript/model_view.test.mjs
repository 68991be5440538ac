import assert from "node:assert/strict";
import { test } from "node:test";
import { createModelView, headAt, thumbnailLayout } from "../../dashboard/assets/sentence/model_view.mjs";
import { openTree } from "./tree.mjs";

test("the head under a pixel is the head drawn there", () => {
  const shape = { layers: 6, heads: 12 };
  const place = thumbnailLayout(6, 12, 900);
  assert.deepEqual(headAt(place, shape, place.width - 8, place.height - 8), [5, 11]);
  assert.equal(headAt(place, shape, 5, 100), null);
  assert.equal(headAt(place, shape, 100, 5), null);
});

test("an arrow key brings the head that it goes to into the window", () => {
  openTree();
  const stage = document.createElement("div");
  const views = {
    shown: { data: { layers: 12, heads: 12 } },
    spokenNameOf: (head) => `head ${head}`,
    fullNameOf: (head, layer) => `L${layer} H${head}`,
    roleOf: () => "",
    pointer: { place() {} },
    announce() {},
  };
  createModelView(views, stage, new AbortController().signal);
  const [frame] = stage.children;
  const ring = frame.children.at(-1);
  const shown = [];
  Object.assign(ring, { getBoundingClientRect() {}, scrollIntoView: (how) => shown.push([ring.style.top, how]) });
  for (let press = 0; press < 2; press++) frame.dispatch("keydown", { key: "ArrowDown" });
  const nearest = { block: "nearest", inline: "nearest" };
  assert.equal(shown.length, 2);
  assert.deepEqual(
    shown.map(([, how]) => how),
    [nearest, nearest],
  );
  assert.notEqual(shown[0][0], shown[1][0]);
});
