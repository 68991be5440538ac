import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createTokens,
  headAlone,
  headTip,
  pairOf,
  rowTops,
  selectToken,
  selectedPositions,
  toggledHeads,
} from "../../dashboard/assets/sentence/choice.mjs";
import { openTree } from "./tree.mjs";

test("the second sentence is set apart", () =>
  assert.deepEqual(rowTops([0, 0, 1, 1].map((segment) => ({ segment }))), [0, 24, 64, 88, 112]));

test("a column without tokens has no height", () => assert.deepEqual(rowTops([]), [0]));

for (const [selected, unit, more, after] of [
  [[], 3, false, [3]],
  [[3], 3, false, []],
  [[3], 1, false, [1]],
  [[3], 1, true, [1, 3]],
  [[1, 3], 1, true, [3]],
])
  test(`a click on ${unit}${more ? " with Shift" : ""} makes ${after} of the selection ${selected}`, () =>
    assert.deepEqual(selectToken(selected, unit, more), after));

for (const [shown, wanted] of [
  [
    { side: "query", queries: [2], toward: 0 },
    { query: 2, key: 0 },
  ],
  [{ side: "query", queries: [2], toward: null }, null],
  [{ side: "query", queries: [2, 3], toward: 0 }, null],
  [{ side: "key", queries: [2], toward: 0 }, null],
])
  test(`${JSON.stringify(shown)} is ${wanted ? "a" : "no"} pair`, () => assert.deepEqual(pairOf(shown), wanted));

for (const [side, wanted] of [
  ["query", [4, 5]],
  ["key", [9]],
])
  test(`the ${side} tokens that are hidden are those of their column`, () => {
    const units = [{ positions: [3] }, { positions: [4, 5] }];
    const keys = [{ positions: [8] }, { positions: [9] }];
    assert.deepEqual(selectedPositions({ side, queries: [1], units, keys }), wanted);
  });

test("a head is shown alone, then all heads again", () => {
  assert.deepEqual(headAlone([0, 2], 1, 3), [1]);
  assert.deepEqual(headAlone([1], 1, 3), [0, 1, 2]);
});

test("a head is taken out and comes back in its place", () => {
  assert.deepEqual(toggledHeads([0, 1, 2], 1), [0, 2]);
  assert.deepEqual(toggledHeads([0, 2], 1), [0, 1, 2]);
});

test("the last head cannot be taken out", () => assert.deepEqual(toggledHeads([1], 1), [1]));

const namedUnits = (...names) => names.map((name, i) => ({ name, positions: [i], segment: 0, special: false }));
for (const [hidden, left, wanted] of [
  [1, ["a", "c", "d"], "c"],
  [3, ["a", "b", "c"], "c"],
])
  test(`the keyboard goes from a hidden token to ${wanted} of ${left}`, () => {
    const body = openTree();
    const tokens = createTokens("query", "Queries");
    body.append(tokens.list);
    assert.equal(tokens.renew(namedUnits("a", "b", "c", "d")), -1);
    tokens.focus(hidden);
    tokens.focus(tokens.renew(namedUnits(...left)));
    assert.equal(document.activeElement.textContent, wanted);
  });

test("tokens without the keyboard do not take it", () => {
  openTree();
  const tokens = createTokens("query", "Queries");
  tokens.renew(namedUnits("a", "b"));
  assert.equal(tokens.renew(namedUnits("a")), -1);
});

/** Views of two heads and two tokens, of which the first is the selected query; a weight is its code of 65535. */
function viewsOf(chosen) {
  const data = { heads: 2, queries: 2, keys: 2, most: 1, codes: [0, 786, 0, 0, 0, 6554, 0, 0] };
  const names = {
    nameOf: (head) => `H${head}`,
    fullNameOf: (head) => `L3 H${head}`,
    spokenNameOf: (head) => `head ${head}`,
  };
  return { ...names, colour: () => "red", shown: { data, chosen, queries: [0], side: "query" } };
}

for (const [chosen, rows, spoken] of [
  [[0], ["L3 H0 1.20%"], "a → b: head 0 1.20%"],
  [[0, 1], ["L3 H0 1.20%", "L3 H1 10.00%"], "a → b: head 0 1.20%, head 1 10.00%, mean 5.60%"],
])
  test(`the weights of ${chosen.length} heads are per cents with the names of the heads, and ${spoken}`, () => {
    openTree();
    const units = namedUnits("a", "b");
    const { content, text } = headTip(viewsOf(chosen), "key", 1, { query: { units }, key: { units } });
    const cells = content[1].children.map((row) => row.children.map(({ textContent }) => textContent));
    assert.deepEqual([cells.map(([, head, , weight]) => `${head} ${weight}`), text], [rows, spoken]);
  });
