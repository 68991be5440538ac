import assert from "node:assert/strict";
import { test } from "node:test";
import { Markup } from "../../dashboard/assets/web/markup.mjs";
import { isData } from "../../dashboard/assets/web/translation.mjs";

globalThis.window = {
  React: {
    Fragment: "page",
    createElement: (tag, properties, ...children) => ({ tag, properties: properties ?? {}, children }),
  },
};

const drawn = (...tree) => Markup({ tree }).children;
const isText = (node) => typeof node !== "object" || node === null;

/** Texts that stand beside another node, which React could not find again once a translator has taken them. */
function besideOthers({ children }) {
  const own = children.filter((child) => isText(child) && children.length > 1 && String(child).trim());
  return [...own, ...children.filter((child) => !isText(child)).flatMap(besideOthers)];
}

test("a text that stands beside another node is in an element of its own", () => {
  const page = Markup({
    tree: [
      "Fidelity: ",
      ["p", {}, "Label: ", ["b", {}, "broad"], ["button", { className: "info" }, "i"]],
      ["p", {}, "alone"],
    ],
  });
  assert.deepEqual(besideOthers(page), []);
  const [, label, alone] = page.children;
  assert.deepEqual(label.children[0], { tag: "plain-text", properties: {}, children: ["Label: "] });
  assert.deepEqual(alone.children, ["alone"]);
});

test("a space between elements stays a text", () =>
  assert.deepEqual(drawn(["p", {}, ["b", {}, "one"], " ", ["b", {}, "two"]])[0].children[1], " "));

const DATA = [
  ["bdi", {}, "movie"],
  ["mark", { className: "governor" }, "sat"],
  ["td", { className: "number" }, "12 of 40"],
  ["p", { className: "sentence-text", dir: "auto" }, "the cat sat"],
  ["a", {}, "L3 H7"],
  ["b", {}, "0.43"],
  ["h2", {}, "“the”"],
];
for (const [tag, properties, text] of DATA)
  test(`no translator changes data: ${tag} ${text}`, () => {
    assert.ok(isData(tag, properties, text));
    assert.equal(drawn([tag, properties, text])[0].properties.translate, "no");
  });

const WORDS = [
  ["p", { className: "caption" }, "Attention received by position"],
  ["th", { className: "number" }, "mean entropy"],
  ["p", {}, ""],
];
for (const [tag, properties, text] of WORDS)
  test(`words may be translated: ${tag} ${text}`, () => {
    assert.ok(!isData(tag, properties, text));
    assert.equal(drawn([tag, properties, text])[0].properties.translate, undefined);
  });

test("what a sentence quotes stays as it is", () => {
  const { children } = drawn(["h2", {}, "Sentences with “movie”: 50"])[0];
  assert.deepEqual(
    children.map(({ properties, children: [text] }) => [text, properties.translate]),
    [
      ["Sentences with ", undefined],
      ["“movie”", "no"],
      [": 50", "no"],
    ],
  );
});

test("a number beside words stays as it is", () => {
  const [number, words] = drawn(["p", {}, "0.43", ["b", {}, "of all attention"]])[0].children;
  assert.equal(number.properties.translate, "no");
  assert.equal(words.properties.translate, undefined);
});
