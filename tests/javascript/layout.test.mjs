import assert from "node:assert/strict";
import { test } from "node:test";
import {
  fitPanels,
  panelAt,
  panelBox,
  panelIn,
  panelToPixel,
  pixelToPanel,
} from "../../dashboard/assets/canvas/layout.mjs";
import { narrowing } from "../../dashboard/assets/canvas/frame.mjs";

test("the panel under a pixel is the panel that shows it", () => {
  const layout = fitPanels({ count: 144, columns: 12, dimensions: 2, width: 900, height: 900 });
  const camera = { x: 0.3, y: 0.6, zoom: 2.5, yaw: 0, pitch: 0 };
  for (let panel = 0; panel < 144; panel++) {
    const pixel = panelToPixel(layout, camera, panel, 0.3, 0.8);
    const [x, y] = pixelToPanel(layout, camera, panel, ...pixel);
    assert.equal(panelAt(layout, camera, ...pixel), panel);
    assert.ok(Math.hypot(x - 0.3, y - 0.8) < 1e-9);
  }
});

test("panels with titles and empty slots are under the pixels where they are drawn", () => {
  const slots = [0, 4, 1, 5, 9, 2, 6, 10];
  const layout = fitPanels({ count: 8, columns: 4, slots, titled: true, dimensions: 2, width: 900, height: 500 });
  const camera = { x: 0.4, y: 0.6, zoom: 1.5, yaw: 0, pitch: 0 };
  const under = slots.map((_, panel) => panelAt(layout, camera, ...panelToPixel(layout, camera, panel, 0.2, 0.9)));
  const [left, top, side] = panelBox(layout, camera, 4);
  assert.deepEqual(under, [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.equal(panelAt(layout, camera, left - 0.5 * side, top + 0.5 * side), -1);
});

test("panels that flow fill the room, and the ones left out have no place", () => {
  const slots = [-1, 1, 0, 2];
  const layout = fitPanels({ count: 4, columns: 2, slots, flows: true, titled: true, width: 700, height: 300 });
  assert.equal(layout.columns, 3);
  assert.deepEqual(
    [0, 1, 2, 3].map((slot) => panelIn(layout, slot)),
    [2, 1, 3, -1],
  );
});

test("where titles would be cut, panels that flow take more height", () => {
  const layout = fitPanels({ count: 72, columns: 12, flows: true, titled: true, width: 360, height: 300 });
  assert.ok(layout.side >= 80 && layout.columns === 4 && layout.height > 300);
});

test("two heads stand side by side, and below each other where there is no room", () => {
  const two = { count: 2, columns: 2, narrowest: 260, titled: true, dimensions: 2, height: 500 };
  const [wide, narrow] = [700, 330].map((width) => fitPanels({ ...two, width }));
  assert.deepEqual([wide.columns, wide.side], [2, 348]);
  assert.deepEqual([narrow.columns, narrow.rows, narrow.side], [1, 2, 330]);
});

test("a heading is narrowed to fit, to three quarters at most", () => {
  assert.equal(narrowing(40, 50), 1);
  assert.equal(narrowing(50, 45), 0.9);
  assert.equal(narrowing(100, 10), 0.75);
});
