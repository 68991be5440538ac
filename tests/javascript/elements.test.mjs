import assert from "node:assert/strict";
import { test } from "node:test";
import { elementIn, required, tellDash, useOnElement } from "../../dashboard/assets/web/elements.mjs";

for (const found of [0, "", false, []])
  test(`what is there is given back: ${JSON.stringify(found)}`, () => assert.equal(required(found, "it"), found));

for (const missing of [null, undefined])
  test(`what is missing is named: ${missing}`, () =>
    assert.throws(() => required(missing, "a picture"), { message: "The page lacks a picture. Reload the page." }));

test("an element that is missing is named by its selector", () =>
  assert.throws(() => elementIn({ querySelector: () => null }, ".frame"), { message: /lacks \.frame\./ }));

test("an object lives on the element of a component: it is made once, updated each time, and released", () => {
  const [effects, done] = [[], []];
  globalThis.window = { React: { useEffect: (act) => effects.push(act), useRef: (current) => ({ current }) } };
  const create = (host) => (done.push(`made on ${host}`), { release: () => done.push("released") });
  const host = useOnElement(create, () => done.push("updated"));
  host.current = "div";
  const [release] = effects.map((act) => act());
  release();
  assert.deepEqual(done, ["made on div", "updated", "released"]);
});

test("what a reader does twice is news twice", () => {
  const told = [];
  const component = { count: 0, setProps: (props) => told.push(props) };
  for (let i = 0; i < 2; i++) tellDash(component, { opened: { panel: 3 } });
  assert.deepEqual(told, [{ opened: { panel: 3, count: 1 } }, { opened: { panel: 3, count: 2 } }]);
});
