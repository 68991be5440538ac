import assert from "node:assert/strict";
import { test } from "node:test";
import { svgText } from "../../dashboard/assets/sentence/picture.mjs";

test("an SVG file is XML whatever a token contains", () => {
  const shapes = [
    { text: '<b>&"\u0000\u0007', at: [1, 2], colour: "#000000" },
    { line: [0, 1, 2, 3], colour: "#0072b2", opacity: 0.5 },
  ];
  const text = svgText({ width: 10, height: 20, ground: "#ffffff", title: "a < b", source: "m on c", shapes });
  assert.match(text, />&lt;b&gt;&amp;&quot;\ufffd\ufffd<\/text>/);
  assert.match(text, /stroke-opacity="0.500"/);
  assert.match(text, /<title>a &lt; b<\/title>/);
});
