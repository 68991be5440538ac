import assert from "node:assert/strict";
import { test } from "node:test";
import { changes, isSameJob, waitOf } from "../../dashboard/assets/web/follow.mjs";

/** A component of a page. */
const part = (id, props, type = "Select") => ({ type, namespace: "dmc", props: { id, ...props } });
const changed = (before, after) => changes(before, after, () => ({}));

const SAME = [
  [part("a", { value: "1" }), part("a", { value: "1" }), []],
  [part("a", { value: "1" }), part("a", { value: "2" }), [["a", { value: "2" }]]],
  [part("a", { data: [1] }), part("a", { data: [1, 2] }), [["a", { data: [1, 2] }]]],
  [part("a", { children: "x" }, "P"), part("a", { children: "y" }, "P"), [["a", { children: "y" }]]],
  [
    part("a", { children: [part("b", { value: "1" })] }, "Div"),
    part("a", { children: [part("b", { value: "2" })] }, "Div"),
    [["b", { value: "2" }]],
  ],
];
for (const [i, [before, after, wanted]] of SAME.entries())
  test(`the same components change their properties (${i})`, () =>
    assert.deepEqual(
      changed([before], [after]).map(({ id, props }) => [id, props]),
      wanted,
    ));

const OTHER = [
  [[part("a", {})], [part("b", {})]],
  [[part("a", {})], [part("a", {}), part("b", {})]],
  [[part("a", {}, "Select")], [part("a", {}, "Tabs")]],
  [[part("a", { value: "1" })], [part("a", {})]],
  [[part(undefined, { value: "1" })], [part(undefined, { value: "2" })]],
];
for (const [i, [before, after]] of OTHER.entries())
  test(`other components replace the whole part (${i})`, () => assert.equal(changed(before, after), null));

test("a number that a reader is still writing stays as it is written", () => {
  const controls = [part("a", { value: 0.3 })];
  const answered = (written) => changes(controls, [part("a", { value: 0 })], () => ({ value: written }));
  assert.deepEqual(answered("0.0"), []);
  assert.deepEqual(answered(""), [{ id: "a", type: "Select", props: { value: 0 } }]);
});

test("a control that a reader has changed goes back to what the page says", () => {
  const [{ props }] = changes([part("a", { value: 20 })], [part("a", { value: 20 })], () => ({ value: 99 }));
  assert.deepEqual(props, { value: 20 });
});

const SAME_JOBS = [
  ["/statistics?where=a", "/statistics?where=a&layer=3", true],
  ["/statistics?where=a", "/statistics", false],
  ["/statistics?where=a", "/map?where=a", false],
];
for (const [before, after, same] of SAME_JOBS)
  test(`a job goes on where its page and its fields stay: ${after}`, () =>
    assert.equal(isSameJob(before, after, ["where"]), same));

const wait = (name) => ({ deferred: "x", is: "content", wait: name });
const place = (children) => part({ place: "x" }, { children: [children] }, "Div");

test("a deferred part is replaced alone, before it is there and afterwards", () => {
  const [first, second, there] = [part(wait("1"), {}), part(wait("2"), {}), part("a", {})].map(place);
  for (const [before, after] of [
    [first, second],
    [first, there],
    [there, second],
  ])
    assert.deepEqual(changed([before], [after]), [
      { id: { place: "x" }, type: "Div", props: { children: after.props.children } },
    ]);
  assert.deepEqual(changed([there], [there]), []);
});

test("a page is asked for what it waits for", () => {
  assert.deepEqual(waitOf([place(part(wait("1"), {}))]), wait("1"));
  assert.equal(waitOf([place("text")]), undefined);
});
