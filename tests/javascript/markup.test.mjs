import assert from "node:assert/strict";
import { test } from "node:test";
import { Markup } from "../../dashboard/assets/web/markup.mjs";
import { isData } from "../../dashboard/assets/web/elements.mjs";

globalThis.window = {
  React: {
    Fragment: "page",
    createElement: (tag, properties, ...children) => ({ tag, properties: properties ?? {}, children }),
  },
};

globalThis.document = { documentElement: { hasAttribute: (name) => name === "data-controls-open" } };

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

test("the button that opens controls says that they are open where the tab has them open", () => {
  const [button] = drawn(["button", { "data-opens": "controls", "aria-expanded": "false" }, "More"]);
  assert.equal(button.properties["aria-expanded"], "true");
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

const textsOf = ({ properties, children }) =>
  children.flatMap((child) => (isText(child) ? [[child, properties.translate ?? "yes"]] : textsOf(child)));

const SENTENCES = [
  ["Sentences with “movie”: 50", ["“movie”", "50"]],
  ["L2 H9: attention to [CLS] is 12.5% instead of −0.77.", ["L2 H9", "[CLS]", "12.5%", "−0.77"]],
  ["all-MiniLM-L6-v2 read by en_core_web_sm: 4,000 sentences", ["all-MiniLM-L6-v2", "en_core_web_sm", "4,000"]],
  ["(−1 is perfect), recall@3 0.65;", ["−1", "recall@3 0.65"]],
];
for (const [sentence, data] of SENTENCES)
  test(`the data of a sentence stays as it is: ${sentence}`, () => {
    const texts = textsOf(drawn(["p", {}, sentence])[0]);
    assert.equal(texts.map(([text]) => text).join(""), sentence);
    assert.deepEqual(
      texts.filter(([text, translate]) => translate === "no" && /[\p{L}\d]/u.test(text)).map(([text]) => text),
      data,
    );
    assert.ok(texts.some(([text, translate]) => translate === "yes" && /\p{L}{2}/u.test(text)));
  });

test("the data of a sentence is one element in a row of elements, which would set it apart", () =>
  assert.equal(drawn(["p", {}, "25 of 72 heads"])[0].children.length, 1));

test("what stands in data is not parted once more", () =>
  assert.deepEqual(drawn(["bdi", {}, "a film of 1999"])[0].children, ["a film of 1999"]));

test("a number beside words stays as it is", () => {
  const [number, words] = drawn(["p", {}, "0.43", ["b", {}, "of all attention"]])[0].children;
  assert.equal(number.properties.translate, "no");
  assert.equal(words.properties.translate, undefined);
});
