import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { bundle, svgText } from "../../dashboard/assets/sentence/picture.mjs";

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

const BASE = "http://headscape.test/assets/";

const STARTED = "export const start = () => show('started');\n";

/** The bundle of modules by path, run as a script that starts the entry; `shown` is what it gave to `show`. */
async function run(modules, entry) {
  const reads = [];
  const read = async (url) => {
    reads.push(url);
    const path = url.slice(BASE.length).split("?")[0];
    return path === entry ? modules[path] + STARTED : modules[path];
  };
  const text = await bundle(BASE + entry, read, (url) => `${url}?m=1`);
  const shown = [];
  new Function("show", text)((value) => shown.push(value));
  return { shown, reads, text };
}

test("modules see what they import, and no names meet", async () => {
  const modules = {
    "a.mjs": 'import { SIZE, double as twice } from "./b/b.mjs";\nconst own = 1;\nshow(twice(SIZE) + own);\n',
    "b/b.mjs":
      'import { SIZE as other } from "../c.mjs";\nconst own = 10;\n' +
      "export const SIZE = other * own;\nexport function double(value) {\n  return 2 * value;\n}\n",
    "c.mjs": "export class Unused {}\nexport async function later() {}\nexport const SIZE = 3;\n",
  };
  assert.deepEqual((await run(modules, "a.mjs")).shown, [61, "started"]);
});

test("a module that two import is read once, under its versioned address", async () => {
  const modules = {
    "a.mjs": 'import { b } from "./b.mjs";\nimport { c } from "./c.mjs";\nshow(b + c);\n',
    "b.mjs": 'import { c } from "./c.mjs";\nexport const b = c;\n',
    "c.mjs": "show('once');\nexport const c = 4;\n",
  };
  const { shown, reads } = await run(modules, "a.mjs");
  assert.deepEqual(shown, ["once", 8, "started"]);
  assert.deepEqual(reads, [`${BASE}a.mjs`, `${BASE}b.mjs?m=1`, `${BASE}c.mjs?m=1`]);
});

for (const line of ['import * as all from "./b.mjs";', "export default 1;", 'export { a } from "./b.mjs";'])
  test(`a form that it does not read is refused: ${line}`, async () =>
    await assert.rejects(run({ "a.mjs": `${line}\n`, "b.mjs": "" }, "a.mjs"), /This form cannot be bundled/));

test("a package is refused", async () =>
  await assert.rejects(run({ "a.mjs": 'import { a } from "three";\n' }, "a.mjs"), /not one of our modules/));

test("the modules of a saved sentence can be bundled", async () => {
  const assets = new URL("../../dashboard/assets/", import.meta.url);
  const text = await bundle(
    new URL("sentence/views.mjs", assets).href,
    (url) => readFile(new URL(url), "utf-8"),
    (url) => url,
  );
  assert.match(text, /class Views/);
  assert.doesNotMatch(text, /^(import|export)\b/m);
});
