import assert from "node:assert/strict";
import { test } from "node:test";
import { drawNote } from "../../dashboard/assets/notes/note.mjs";
import { NoteList, newId, recallDraft } from "../../dashboard/assets/notes/note_list.mjs";

test("an edit of a note that somebody else has deleted is answered by the server", async () => {
  const gone = "There is no such note; it may have been deleted. Reload the page.";
  globalThis.document = { getElementById: () => ({ textContent: process.env.LINK_TABLE }) };
  globalThis.fetch = async () => new Response(gone, { status: 404 });
  const save = NoteList.prototype.save.call({ notes: new Map() }, "edit", "7", { text: "", tags: [], id: "" });
  await assert.rejects(save, { message: gone });
});

test("what a tab stores that is no draft is no draft", () => {
  globalThis.window = { sessionStorage: { getItem: () => "{" } };
  assert.equal(recallDraft("reply"), null);
});

test("the id of a note is a UUID of version 4", () => {
  globalThis.window = { crypto };
  for (let i = 0; i < 50; i++)
    assert.match(newId(), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
});

/** Text of an element and of all in it. */
const textOf = (element) => element.textContent ?? element.children?.map(textOf).join("") ?? element;

/** An element with its children. */
class FakeElement {
  children = [];
  setAttribute() {}
  append(...children) {
    this.children.push(...children);
  }
}

for (const [by, name] of [
  ["mallory", "adaimported by mallory"],
  [null, "ada"],
])
  test(`a line says who imported a note of somebody else: ${by}`, () => {
    globalThis.document = { createElement: () => new FakeElement() };
    const times = { created: "2026-11-12T10:03:00+00:00", edited: null };
    const note = { id: "7", author: "ada", imported_by: by, ...times, deleted: false, tree: "I quit.", tags: [] };
    const [byline] = drawNote(note, { writes: false }).children;
    assert.equal(textOf(byline), `${name}12 Nov 2026, 10:03 UTC`);
  });
