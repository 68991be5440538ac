import assert from "node:assert/strict";
import { test } from "node:test";
import {
  elementIn,
  printLight,
  required,
  tellDash,
  useOnElement,
  whenPixelRatioChanges,
} from "../../dashboard/assets/web/elements.mjs";

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

/** A page in a colour scheme, without a browser. */
function pageIn(scheme) {
  const attributes = { "data-mantine-color-scheme": scheme };
  const root = {
    getAttribute: (name) => attributes[name] ?? null,
    setAttribute: (name, value) => (attributes[name] = value),
  };
  const page = new EventTarget();
  printLight(page, root);
  const after = (...events) => {
    for (const name of events) page.dispatchEvent(new Event(name));
    return attributes["data-mantine-color-scheme"];
  };
  return after;
}

test("a dark page is light on paper, and dark afterwards", () => {
  const after = pageIn("dark");
  assert.equal(after("beforeprint"), "light");
  assert.equal(after("afterprint"), "dark");
});

test("a light page stays light", () => {
  assert.equal(pageIn("light")("beforeprint", "afterprint"), "light");
});

/** A window whose screen can be changed. */
function screen(ratio) {
  const asked = [];
  globalThis.window = {
    devicePixelRatio: ratio,
    matchMedia: (query) => (asked.push(Object.assign(new EventTarget(), { query })), asked.at(-1)),
  };
  const moveTo = (next) => {
    window.devicePixelRatio = next;
    asked.at(-1).dispatchEvent(new Event("change"));
  };
  return { asked, moveTo };
}

test("each move to a screen of another pixel ratio is told, with the ratio that it has", () => {
  const { asked, moveTo } = screen(1);
  const drawn = [];
  whenPixelRatioChanges(() => drawn.push(window.devicePixelRatio), new AbortController().signal);
  moveTo(2);
  moveTo(1.5);
  assert.deepEqual(drawn, [2, 1.5]);
  assert.deepEqual(
    asked.map(({ query }) => query),
    ["(resolution: 1dppx)", "(resolution: 2dppx)", "(resolution: 1.5dppx)"],
  );
});

test("what has left the page is told no more", () => {
  const { moveTo } = screen(1);
  const [drawn, leaving] = [[], new AbortController()];
  whenPixelRatioChanges(() => drawn.push(1), leaving.signal);
  leaving.abort();
  moveTo(2);
  assert.deepEqual(drawn, []);
});
