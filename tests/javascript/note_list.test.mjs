import assert from "node:assert/strict";
import { test } from "node:test";
import { NoteList } from "../../dashboard/assets/notes/note_list.mjs";

test("an edit of a note that somebody else has deleted is answered by the server", async () => {
  const gone = "There is no such note; it may have been deleted. Reload the page.";
  globalThis.document = { getElementById: () => ({ textContent: process.env.LINK_TABLE }) };
  globalThis.fetch = async () => new Response(gone, { status: 404 });
  const save = NoteList.prototype.save.call({ notes: new Map() }, "edit", "7", { text: "", tags: [], id: "" });
  await assert.rejects(save, { message: gone });
});
