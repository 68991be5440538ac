import assert from "node:assert/strict";
import { test } from "node:test";
import {
  actionOf,
  arrowOf,
  followHelp,
  followShortcuts,
  hasModifier,
  isLetter,
  keepFocus,
  openHelp,
  stepAfter,
  stepInGrid,
} from "../../dashboard/assets/web/keyboard.mjs";
import { makeElement, openTree } from "./tree.mjs";

for (const [key, afterG, action] of [
  ["?", false, { help: true }],
  ["/", false, { search: true }],
  ["c", false, { copy: true }],
  ["c", true, { page: "c" }],
  ["g", false, { wait: true }],
  ["s", true, { page: "s" }],
  ["g", true, { page: "g" }],
  ["s", false, null],
  ["1", true, null],
])
  test(`${afterG ? "after g, " : ""}${key} does ${JSON.stringify(action)}`, () => {
    assert.deepEqual(actionOf(key, afterG), action);
  });

/** Listeners to the keys of a page without any part. */
function listenersOfPage() {
  const listeners = {};
  const addEventListener = (name, act) => (listeners[name] = act);
  globalThis.document = { addEventListener, getElementById: () => null, querySelector: () => null };
  followShortcuts();
  return listeners;
}

for (const [before, after, wanted] of [
  ["g", 100, false],
  ["g", 2000, true],
  ["s", 100, true],
])
  test(`h ${after} ms after ${before} is ${wanted ? "" : "not "}a letter of the views`, () => {
    const pressed = { key: before, timeStamp: 5000, target: null, preventDefault: () => {} };
    listenersOfPage().keydown(pressed);
    assert.equal(isLetter({ key: "h", timeStamp: 5000 + after }, "h"), wanted);
  });

test("a key whose part of the page is not there yet does nothing", () => {
  const listeners = listenersOfPage();
  for (const key of ["c", "?"])
    assert.doesNotThrow(() => listeners.keydown({ key, timeStamp: 0, target: null, preventDefault: () => {} }));
});

for (const [step, wanted] of [
  [
    [0, 1],
    [1, 2],
  ],
  [
    [0, -5],
    [1, 0],
  ],
  [
    [1, 0],
    [1, 1],
  ],
])
  test(`a step of ${step} in a grid of two rows and three columns leads to ${wanted}`, () =>
    assert.deepEqual(stepInGrid([1, 1], step, [2, 3]), wanted));

test("an arrow key moves, and with Alt, Ctrl or Cmd it is the browser's", () => {
  assert.deepEqual(arrowOf({ key: "ArrowLeft" }), [0, -1]);
  assert.equal(arrowOf({ key: "Enter" }), undefined);
  for (const modifier of ["altKey", "ctrlKey", "metaKey"])
    assert.equal(arrowOf({ key: "ArrowLeft", [modifier]: true }), undefined);
});

test("with Alt a letter is none of the views", () => assert.equal(isLetter({ key: "h", altKey: true }, "h"), false));

for (const [step, turn, after] of [
  [0, 1, 1],
  [3, -1, 2],
  [0, -1, 0],
  [4, 1, null],
])
  test(`a turn of ${turn} from step ${step} of five leads to ${after}`, () =>
    assert.equal(stepAfter(step, turn, 5), after));

for (const [modifier, step] of [
  ["none", "1"],
  ["altKey", "0"],
  ["ctrlKey", "0"],
  ["metaKey", "0"],
])
  test(`an arrow key with the modifier ${modifier} leaves the tour at step ${step}`, () => {
    const tour = { open: true, dataset: { step: "0", steps: "5" }, querySelector: () => null };
    const listeners = {};
    const addEventListener = (name, act) => (listeners[name] = act);
    globalThis.document = { addEventListener, getElementById: (id) => (id === "tour" ? tour : null) };
    followHelp();
    listeners.keydown({ key: "ArrowRight", [modifier]: true, preventDefault: () => {} });
    assert.equal(tour.dataset.step, step);
  });

test("nothing opens before the page has its dialogs", () => {
  globalThis.document = { getElementById: () => null };
  assert.doesNotThrow(() => openHelp("tour"));
});

const CONTROL = '{"field":"layer"}';

/** A page with a control that has the keyboard; `replace` draws the control anew. */
function openControl() {
  const body = openTree();
  let changed = null;
  window.addEventListener = () => {};
  globalThis.MutationObserver = class {
    constructor(act) {
      changed = act;
    }
    observe() {}
  };
  globalThis.HTMLInputElement = class {};
  keepFocus();
  const above = makeElement("div", { id: "above" });
  body.append(above);
  const replace = () => (above.replaceChildren(makeElement("button", { id: CONTROL })), changed());
  replace();
  above.firstChild.focus();
  above.firstChild.dispatch("focusin");
  return { above, replace, changed: () => changed() };
}

test("a control that the page replaces has the keyboard again", () => {
  const { above, replace } = openControl();
  replace();
  assert.equal(document.activeElement, above.firstChild);
});

test("a control that its reader has left stays without the keyboard when the page changes", () => {
  const { changed } = openControl();
  document.activeElement = document.body;
  changed();
  assert.equal(document.activeElement, document.body);
});

test("a control that a press beside it has left stays without the keyboard when the page replaces it", () => {
  const { replace } = openControl();
  document.activeElement = document.body;
  document.body.dispatch("pointerup");
  replace();
  assert.equal(document.activeElement, document.body);
});

test("a press that leaves the keyboard in a control keeps it there when the page replaces the control", () => {
  const { above, replace } = openControl();
  document.body.dispatch("pointerup");
  replace();
  assert.equal(document.activeElement, above.firstChild);
});

for (const [name, key, modifiers, isOwn] of [
  ["AltGr types a bracket", "[", ["AltGraph"], false],
  ["Ctrl and Alt with a bracket", "[", [], true],
  ["AltGr with an arrow key", "ArrowLeft", ["AltGraph"], true],
])
  test(`${name}: ${isOwn ? "a key of the browser" : "a key of the page"}`, () => {
    const getModifierState = (modifier) => modifiers.includes(modifier);
    assert.equal(hasModifier({ key, ctrlKey: true, altKey: true, metaKey: false, getModifierState }), isOwn);
  });
