import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import * as address from "../../dashboard/assets/web/address.mjs";

const START = "/head?layer=1&head=2&view=pca-raw-2d&where=kind%3Aword&at=0.5,0.5,2,0,0";
const FIELDS = START.slice("/head".length);

/** Puts a link into the address bar. */
const stand = (link) => {
  const [pathname, search = ""] = link.split(/(?=\?)/);
  window.location = { pathname, search, origin: "http://headscape.test" };
};
/** Sets the trigger of the callback. */
const trigger = (prop_id, value) => (window.dash_clientside.callback_context.triggered = [{ prop_id, value }]);

/** The table of the fields of a link, which the server writes into the page: tests/test_javascript.py hands it on. */
const TABLE = process.env.LINK_TABLE;
assert.ok(TABLE, "This file needs the table of the fields of a link. Run it by pytest tests/test_javascript.py.");

beforeEach(() => {
  globalThis.document = { getElementById: () => ({ textContent: TABLE }) };
  globalThis.window = { dash_clientside: { no_update: "stay", callback_context: { triggered: [] } } };
  stand(START);
});

const CHOICES = [
  [["colour", "kind", {}], `${FIELDS}&colour=kind`],
  [["layer", "3", { layer: 1 }], "?layer=3&head=2&view=pca-raw-2d&where=kind%3Aword"],
  [["view", "tsne", { view: "pca-raw-2d", defaults: { view: "tsne" } }], "?layer=1&head=2&where=kind%3Aword"],
  [["where", "", { where: "kind:word" }], "?layer=1&head=2&view=pca-raw-2d&at=0.5,0.5,2,0,0"],
  [["where", null, { where: "kind:word" }], "?layer=1&head=2&view=pca-raw-2d&at=0.5,0.5,2,0,0"],
  [["layer", "1", { layer: 1 }], "stay"],
  [["colour", null, {}], "stay"],
  [["layer", "1", null], "stay"],
];
for (const [choice, search] of CHOICES)
  test(`the choice ${JSON.stringify(choice)} changes its field and no other`, () =>
    assert.equal(address.choose(...choice), search));

const BEFORE = { q: "", where: "", defaults: { q: null }, link: "?layer=1" };
const WAITING = {
  "an empty search": [() => address.choose("q", "", BEFORE), "?layer=1&where=kind%3Aword"],
  "the search of the link": [() => address.choose("q", "film", BEFORE), "stay"],
  "another filter": [() => address.filtered(BEFORE), "?layer=1&where=kind%3Aword%3Blabel%3A&q=film"],
};
for (const [name, [choose, search]] of Object.entries(WAITING))
  test(`${name} is chosen before the page has followed the choice before it`, () => {
    stand("/?layer=1&where=kind%3Aword&q=film");
    trigger('{"add":"condition"}.value', "label");
    assert.equal(choose(), search);
  });

for (const [where, ends, wanted] of [
  ["entropy:", [0.5, 2.84], "entropy:0.5.."],
  ["entropy:", [0, 2.5], "entropy:..2.5"],
  ["entropy:0.5..", [0.5, 2.5], "entropy:0.5..2.5"],
  ["entropy:0.5..2.5", [0.5, 2.84], "entropy:0.5.."],
  ["entropy:0.5..", [0, 2.84], "entropy:"],
  ["entropy:..4", [0.5, 2.84], "entropy:0.5..4"],
])
  test(`the thumbs of a range at ${ends} make ${wanted} of ${where}`, () => {
    stand(`/head?where=${where}`);
    trigger('{"condition":"entropy","kind":"number"}.value', ends);
    const ids = [{ condition: "position" }, { condition: "entropy" }];
    const search = address.filtered({ where, link: `?where=${where}` }, ids, [0, 0], [40, 2.84]);
    assert.equal(new URLSearchParams(search).get("where"), wanted);
  });

for (const [page, selecting] of [
  ["head", "where=kind%3Aword&q=film&within=prefix&lasso=a&only=word"],
  ["features", "where=kind%3Aword&q=film&within=prefix&flasso=a&fonly=word"],
])
  test(`“Clear all” leaves nothing that selects points on page ${page}`, () => {
    stand(`/${page}?view=pca-raw-2d&${selecting}`);
    trigger('{"remove":"all"}.n_clicks', 1);
    assert.equal(address.filtered(BEFORE), "?view=pca-raw-2d");
  });

/** The link after a control of the search has this value. */
function searchFor(value, shown) {
  trigger('{"choose":"q","by":"picture"}.value', value);
  return address.chosen(shown);
}

test("a control that its page has set chooses nothing, though the reader has gone on", () => {
  stand("/?layer=1&q=film");
  assert.equal(searchFor("actor", { q: "actor", link: "?layer=1&q=actor" }), "stay");
});

test("a reader may choose again what the page still shows", () => {
  stand("/?layer=1");
  assert.equal(searchFor("film", BEFORE), "?layer=1&q=film");
  stand("/?layer=1&q=film");
  assert.equal(searchFor("", BEFORE), "?layer=1");
});

test("what the page corrected in a link is no choice", () => {
  stand("/?view=bogus");
  assert.equal(address.choose("view", "pca-raw-2d", { view: "pca-raw-2d", link: "?view=bogus" }), "stay");
});

for (const [pathname, search] of [
  ["/sentence", "?layer=0&show=matrix"],
  ["/statistics", "?show=matrix"],
])
  test(`layer 0 ${search.includes("layer") ? "is" : "is not"} in a link to ${pathname}`, () => {
    stand(`${pathname}?layer=1&show=matrix`);
    assert.equal(address.choose("layer", "0", { layer: 1, link: "?layer=1&show=matrix" }), search);
  });

const SENTENCE = {
  layers: 3,
  layer: 1,
  heads: 3,
  head_names: ["H0", "H1", "H2"],
  first: { query: 0, key: 0 },
};

for (const [sent, event, search] of [
  ["stepped", { layer: -1 }, "?layer=0&heads=0"],
  ["headed", { heads: [2] }, "?layer=1&heads=2&head=2"],
  ["headed", { heads: [0] }, "stay"],
  ["paired", { query: 2, toward: 0 }, "?layer=1&heads=0&queries=2&toward=0"],
  ["paired", { query: null, toward: null }, "stay"],
  ["selected", { side: "key", units: [3] }, "?layer=1&heads=0&queries=3&role=key"],
  [
    "marked",
    {
      pairs: [
        [4, 9],
        [4, 10],
      ],
    },
    "?layer=1&heads=0&marks=4-9.4-10",
  ],
  ["marked", { pairs: [] }, "stay"],
])
  test(`${JSON.stringify(event)} in the views of a sentence leads to ${search}`, () => {
    stand("/sentence?layer=1&heads=0");
    assert.equal(address.inSentence(sent, event, SENTENCE), search);
  });

for (const [sent, event, show, before, search] of [
  [
    "opened",
    { layer: 1, head: 0 },
    "model",
    "?layer=2&head=1&show=model&rollout=globenc",
    "?layer=1&head=1&rollout=globenc",
  ],
  ["headed", { heads: [1] }, "head", "?layer=2&head=0&rollout=globenc&difference=1", "stay"],
])
  test(`what is drawn in place of heads chooses no head of the model where it is ${sent}`, () => {
    stand(`/sentence${before}`);
    const sentence = { ...SENTENCE, show, head_names: ["attention rollout"] };
    assert.equal(address.inSentence(sent, event, sentence), search);
  });

for (const [search, step, wanted] of [
  ["?layer=2", 1, "?layer=3"],
  ["?layer=3", 1, "stay"],
  ["?layer=0", 1, "?layer=1"],
  ["", 1, "?layer=2"],
  ["?layer=9", -1, "?layer=0"],
])
  test(`a step of ${step} from “${search}” leads to ${wanted}, though layer 1 is still drawn`, () => {
    stand(`/sentence${search}`);
    assert.equal(address.inSentence("stepped", { layer: step }, { ...SENTENCE, layers: 4 }), wanted);
  });

test("a thumbnail that is opened is the head of the link, drawn alone", () => {
  stand("/sentence?layer=1&show=model");
  const opened = address.inSentence("opened", { layer: 0, head: 2 }, { ...SENTENCE, show: "model" });
  assert.equal(opened, "?layer=0&head=2&heads=2");
});

test("tokens of a window are counted from the first of the sentence in a link", () => {
  stand("/sentence?layer=1&window=256");
  const sentence = { layers: 2, layer: 1, heads: 3, first: { query: 256, key: 0 } };
  const paired = address.inSentence("paired", { query: 2, toward: 7 }, sentence);
  assert.equal(paired, "?layer=1&window=256&queries=258&toward=7");
  const selected = address.inSentence("selected", { side: "query", units: [0, 1] }, sentence);
  assert.equal(selected, "?layer=1&window=256&queries=256.257");
});

test("hidden tokens are a list in a link, in their order", () => {
  stand("/sentence?layer=1&hide=2&queries=1&toward=3");
  trigger('{"by":"control","choose":"hide"}.value', ["10", "2"]);
  const shown = { hide: "2", link: "?layer=1&hide=2&queries=1&toward=3" };
  assert.equal(address.chosen(shown), "?layer=1&hide=2.10");
});

for (const [written, search] of [
  ["0.", "?layer=1&least=0"],
  [0.3, "?layer=1&least=0.3"],
  ["0.30", "?layer=1&least=0.3"],
  ["-", "stay"],
  ["", "?layer=1"],
])
  test(`“${written}” in a control of numbers leads to ${search}`, () => {
    stand("/sentence?layer=1&least=0.2");
    trigger('{"by":"number","choose":"least"}.value', written);
    assert.equal(address.chosen({ least: 0.2, link: "?layer=1&least=0.2", defaults: { least: 0.05 } }), search);
  });

test("another sentence clears what was selected in the one before", () => {
  stand("/compare?sentence=3&queries=4&toward=2&hide=6&least=0.2");
  assert.equal(address.choose("sentence", "7", { sentence: 3 }), "?sentence=7&least=0.2");
});

for (const [name, field, text, search] of [
  ["a corrected first sentence keeps the second", "text", "c", "?text=c&second=b&pair=ab&words=1"],
  ["an emptied first sentence takes the second with it", "text", "", ""],
  ["without the second sentence there is no direction", "second", "", "?text=a&words=1"],
])
  test(name, () => {
    stand("/sentence?text=a&second=b&pair=ab&words=1&marks=1-2&queries=2");
    assert.equal(address.choose(field, text, { text: "a", second: "b" }), search);
  });

for (const [name, link, text, search] of [
  ["a first typed text is shown in whole words", "?layer=1&queries=2&marks=1-2", "a b", "?layer=1&text=a+b&words=1"],
  ["another one as the one before it", "?layer=1&text=a", "a b", "?layer=1&text=a+b"],
  ["a sentence of the corpus in wordpieces again", "?layer=1&text=a&words=1", "", "?layer=1"],
])
  test(name, () => {
    stand(`/sentence${link}`);
    assert.equal(address.choose("text", text, { text: new URLSearchParams(link).get("text"), link }), search);
  });

for (const [sent, link] of [
  ["opened", "/head?layer=4&head=5&view=pca-raw-2d&where=kind%3Aword"],
  ["left", "/heads?view=pca-raw-2d&where=kind%3Aword"],
])
  test(`a picture that was ${sent} leads to ${link}`, () => {
    trigger(`points.${sent}`);
    const picture = { panels: [{ name: "L4 H5" }], shape: [6, 12] };
    assert.equal(address.go({ panel: 0 }, { panel: 0 }, picture), link);
  });

const NEIGHBOURS = [
  ["?layer=1&head=2", { rows: 1, columns: 0 }, "/head?layer=2&head=2"],
  ["?layer=1", { rows: 0, columns: 1 }, "/head?layer=1&head=1"],
  ["?layer=1&head=2", { rows: 0, columns: 1 }, null],
  ["?layer=1&head=7", { rows: -1, columns: 0 }, "/head?layer=0&head=2"],
  ["?layer=x&head=2", { rows: 0, columns: -1 }, "/head?layer=1&head=1"],
  ["", { rows: -1, columns: 0 }, null],
];
// The picture may still be of the head before: arrow keys are faster than it.
for (const [search, step, link] of NEIGHBOURS)
  test(`from "${search}" a step of ${JSON.stringify(step)} leads to ${link}`, () => {
    stand(`/head${search}`);
    assert.equal(address.neighbour({ panels: [{ name: "L1 H2" }], shape: [4, 3] }, step), link);
  });

for (const [sent, link] of [
  ["points.opened", "/features?q=a&point=L01.mixed"],
  ["points.left", "/features?q=a"],
])
  test(`${sent} of a picture with a page of its own leads to ${link}`, () => {
    stand("/features?point=embedding&at=0.5,0.5,2,0,0&q=a");
    trigger(sent);
    const panels = [{ name: "L1 mixed", fields: { point: "L01.mixed" } }];
    const picture = { page: "features", dropped_fields: ["point"], panels };
    assert.equal(address.go({ panel: 0 }, { panel: 0 }, picture), link);
  });

test("the step at which a reader stops is in the link, and the camera stays", () => {
  stand("/features?point=embedding&at=0.5,0.5,2,0,0");
  const sequence = [{ fields: { point: "embedding" } }, { fields: { point: "L01.mixed" } }];
  assert.equal(address.arrived({ panel: 1 }, { sequence }), "?point=L01.mixed&at=0.5,0.5,2,0,0");
});

for (const [point, link] of [
  [{ customdata: "L4 H5", y: 0.5 }, "/head?layer=4&head=5&view=pca-raw-2d&where=kind%3Aword"],
  [{ x: "L0 H1", y: "L4 H5" }, "/head?layer=4&head=5&view=pca-raw-2d&where=kind%3Aword"],
  [
    { customdata: "L4 H5 of other-1a2b", y: 0.5 },
    "/head?layer=4&head=5&view=pca-raw-2d&where=kind%3Aword&model=other-1a2b",
  ],
  [{ x: 3, y: 0.5 }, "stay"],
])
  test(`a click on ${JSON.stringify(point)} of a chart leads to ${link}`, () => {
    trigger('{"opens":"map"}.clickData', { points: [point] });
    assert.equal(address.opened(), link);
  });

for (const [chart, point] of [
  ["head-map", { customdata: "L0 H5" }],
  ["matrix", { x: "L4 H1", y: "L0 H5" }],
])
  test(`a click on ${chart} selects a head of the same page`, () => {
    stand("/map?layer=1&paint=label");
    trigger(`{"opens":"${chart}"}.clickData`, { points: [point] });
    assert.equal(address.opened(), "/map?paint=label&head=5");
  });

for (const [selected, search, wanted] of [
  [{ range: { x: [34.7638, 3.77191], y: [0.000012345, 2] } }, "", "?acrossin=3.772..34.76&upin=0.000012..2"],
  [null, "?across=iou&acrossin=1..2&upin=3..4", "?across=iou"],
  [undefined, "?acrossin=1..2", "stay"],
  [{ points: [] }, "?acrossin=1..2", "stay"],
  [{}, "?acrossin=1..2", "stay"],
  [{ range: { x: [1, 2], y: [3, 4] } }, "?acrossin=1..2&upin=3..4", "stay"],
])
  test(`a box ${JSON.stringify(selected)} on "${search}" leads to ${wanted}`, () => {
    stand(`/statistics${search}`);
    trigger('{"opens":"scatter"}.selectedData', selected);
    assert.equal(address.boxed(), wanted);
  });

test("a chosen point and a region become a link", () => {
  assert.equal(address.pick({ token: 7, role: "key" }), `${FIELDS}&token=7&role=key`);
  assert.equal(address.pick({ token: -1, role: "key" }), FIELDS);
  assert.equal(address.lasso({ lasso: "v,1,2" }), `${FIELDS}&lasso=v,1,2`);
});

test("a point that is chosen leaves the pairs that were marked in the sentence of the point before it", () => {
  stand("/head?layer=1&token=3&marks=4-7");
  assert.equal(address.pick({ token: 40, role: "query" }), "?layer=1&token=40&role=query");
});

test("the texts of a step are written as the page has written them, so that their data is not translated", () => {
  const picture = { sequence: [{ texts: { name: "L2 head outputs" } }] };
  const written = { namespace: "headscape", type: "Markup", props: { tree: ["L2 head outputs"] } };
  assert.deepEqual(address.stepTexts({ panel: 0 }, [{ caption: "name" }], picture), [written]);
  assert.deepEqual(address.stepTexts({ panel: 9 }, [{ caption: "name" }], picture), ["stay"]);
});

test("a chosen token and a region of other pictures have fields of their own", () => {
  const picture = { link_fields: { token: "ftoken", lasso: "flasso" } };
  assert.equal(address.pick({ token: 7, role: "token" }, picture), `${FIELDS}&ftoken=7`);
  assert.equal(address.lasso({ lasso: "v,1" }, picture), `${FIELDS}&flasso=v,1`);
});
