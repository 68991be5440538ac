import assert from "node:assert/strict";
import { test } from "node:test";
import { drawForPaper, savePicture } from "../../dashboard/assets/canvas/save.mjs";

/** A canvas whose calls are noted. */
function notingCanvas() {
  const calls = [];
  const own = { measureText: (text) => ({ width: 7 * text.length }) };
  const context = new Proxy(own, { get: (has, name) => has[name] ?? ((...given) => calls.push([name, ...given])) });
  return { calls, getContext: () => context, toDataURL: () => "data:," };
}

/** A zoomed picture with one line, a cross over the whole frame and beyond it. */
function zoomedPanels() {
  const drawOn = (context) => {
    context.beginPath();
    context.moveTo(-50, -50);
    context.lineTo(900, 700);
    context.stroke();
  };
  return {
    layout: { width: 600, height: 400, single: true, title: 0 },
    picture: { label: "A head", file: { source: "A store", stem: "store", notes: [] }, panels: [{}] },
    player: { label: () => "" },
    palette: { ink: "#000000", background: "#ffffff" },
    painter: { longest: () => 4000 },
    frame: { dataset: { drawn: "points" } },
    host: { querySelectorAll: () => [], querySelector: () => ({ children: [] }) },
    canvas: notingCanvas(),
    hasPoints: true,
    scale: 1,
    enlarged: (_, act) => act(),
    layer: { drawOn },
    say: (problem) => assert.fail(problem),
  };
}

globalThis.document = { createElement: () => ({ ...notingCanvas(), click() {} }), querySelectorAll: () => [] };

test("what a zoom moves out of the frame is cut off in an SVG file, and the caption is not", async () => {
  let blob = null;
  URL.createObjectURL = (given) => ((blob = given), "blob:");
  await savePicture(zoomedPanels(), "svg", 0);
  const file = await blob.text();
  assert.match(file, /<clipPath id="clip-1"><path d="M12,12L612,12L612,412L12,412Z"\/><\/clipPath>/);
  assert.match(file, /<path d="M-38,-38L912,712"[^>]* clip-path="url\(#clip-1\)"\/>/);
  assert.match(file, /<text(?![^>]*clip-path)[^>]*>store<\/text>/);
});

test("what a zoom moves out of the frame is cut off on paper", () => {
  const canvas = notingCanvas();
  drawForPaper(zoomedPanels(), canvas);
  const names = canvas.calls.map(([name]) => name);
  const drawn = names.indexOf("stroke");
  const [clip, restored] = [names.lastIndexOf("clip", drawn), names.indexOf("restore", drawn)];
  assert.deepEqual(canvas.calls[clip - 1], ["rect", 0, 0, 600, 400]);
  assert.ok(clip < drawn && drawn < restored);
});
