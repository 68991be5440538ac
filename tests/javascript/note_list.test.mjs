import assert from "node:assert/strict";
import { test } from "node:test";
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
