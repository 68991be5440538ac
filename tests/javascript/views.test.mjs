// Keys of the views of a sentence.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Views } from "../../dashboard/assets/sentence/views.mjs";

for (const [name, modifiers, wanted] of [
  ["alone", {}, [-1]],
  ["with AltGr, which Windows reports as Ctrl and Alt", { ctrlKey: true, altKey: true, altGraph: true }, [-1]],
  ["with Option on a Mac", { altKey: true }, [-1]],
  ["with Ctrl", { ctrlKey: true }, []],
  ["with Cmd", { metaKey: true }, []],
])
  test(`[ ${name} leads to ${wanted.length ? "the layer before" : "no other layer"}`, () => {
    const layers = [];
    const views = { now: {}, shown: {}, send: ({ stepped }) => layers.push(stepped.layer) };
    const { altGraph = false, ...keys } = modifiers;
    const getModifierState = (modifier) => modifier === "AltGraph" && altGraph;
    Views.prototype.press.call(views, { key: "[", ...keys, getModifierState, preventDefault: () => {} });
    assert.deepEqual(layers, wanted);
  });
