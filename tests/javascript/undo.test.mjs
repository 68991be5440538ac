import assert from "node:assert/strict";
import { test } from "node:test";
import { changedFields, isWritten, linkAfter, noteStep, sentenceOf } from "../../dashboard/assets/web/undo.mjs";

/** A history of the browser: `push` adds an entry without a number, `go` shows another one. */
function browser() {
  const entries = [{ state: null, link: "/heads?q=film" }];
  let at = 0;
  const location = {
    get pathname() {
      return entries[at].link.split("?")[0];
    },
    get search() {
      return entries[at].link.slice(this.pathname.length);
    },
  };
  const history = {
    get state() {
      return entries[at].state;
    },
    replaceState: (state) => (entries[at].state = state),
  };
  const note = () => noteStep(history, location);
  return {
    history,
    note,
    push(link) {
      entries.splice(++at, Infinity, { state: {}, link });
      note();
    },
    go(by) {
      at += by;
      note();
    },
  };
}

test("a step leads back and forward on the page, and not to another page", () => {
  const { history, note, push, go } = browser();
  note();
  assert.equal(linkAfter(-1, history), null);
  push("/heads?q=film&colour=norm");
  push("/heads?q=film&colour=norm&where=kind:word");
  assert.equal(linkAfter(-1, history), "/heads?q=film&colour=norm");
  assert.equal(linkAfter(1, history), null);
  go(-1);
  assert.equal(linkAfter(-1, history), "/heads?q=film");
  assert.equal(linkAfter(1, history), "/heads?q=film&colour=norm&where=kind:word");
  push("/heads?q=film&size=norm");
  assert.equal(linkAfter(1, history), null);
  push("/head?q=film&size=norm");
  assert.equal(linkAfter(-1, history), null);
  go(-1);
  assert.equal(linkAfter(1, history), null);
  assert.equal(linkAfter(-1, history), "/heads?q=film&colour=norm");
});

test("the camera is no change of a field", () => {
  assert.deepEqual(changedFields("/head?q=a&at=1,2,3", "/head?lasso=x&at=4,5,6"), ["q", "lasso"]);
});

for (const [by, fields, sentence] of [
  [-1, ["lasso"], "Undone: the lasso."],
  [1, ["where", "q"], "Done again: the filters, the search."],
  [-1, ["colour"], "Undone: Colour."],
  [-1, ["layer", "head"], "Undone: the head."],
  [-1, [], "Undone: the last step."],
  [-1, ["unnamed"], "Undone: the last step."],
])
  test(`a step of ${by} that changes ${fields.join(" and ") || "nothing"} is said`, () => {
    assert.equal(
      sentenceOf(by, fields, (field) => ({ colour: "Colour" })[field] ?? ""),
      sentence,
    );
  });

const field = (type, attributes = {}, readOnly = false) => ({
  closest: () => ({ type, readOnly, getAttribute: (name) => attributes[name] ?? null }),
});
for (const [what, target, written] of [
  ["a text box", field("text"), true],
  ["a switch", field("checkbox"), false],
  ["a list that is read only", field("text", { "aria-haspopup": "listbox" }, true), false],
  ["a closed list that can be searched", field("text", { "aria-haspopup": "listbox" }), false],
  ["an open one", field("text", { "aria-haspopup": "listbox", "aria-expanded": "true" }), true],
  ["a picture", { closest: () => null }, false],
  ["nothing", null, false],
])
  test(`the keys of ${what} ${written ? "are its own" : "undo"}`, () => assert.equal(isWritten(target), written));
