// Forms of notes and saved views in a list: what is typed stays where its author left it.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { SavedViews, followNotes } from "../../dashboard/assets/notes/component.mjs";
import { recount } from "../../dashboard/assets/notes/note.mjs";
import { NoteList } from "../../dashboard/assets/notes/note_list.mjs";
import { makeElement, openTree, settled } from "./tree.mjs";

const CREATED = "2026-11-12T10:03:00+00:00";
const NOTE = { author: "ada", imported_by: null, created: CREATED, edited: CREATED, deleted: false, mine: true };
const noteOf = (version) => ({
  ...NOTE,
  id: `${tests}`,
  version,
  text: `text ${version}`,
  tree: `text ${version}`,
  tags: [],
});
const viewOf = (id, name) => ({ id, name, author: "ada", created: CREATED, model: "bert", href: null, mine: true });

/** Requests that were sent, as the method, the end of the address and the content; and what each kind is answered. */
let sent = [];
/** The number of the test, which is the id of its note: a tab keeps the drafts of another note. */
let tests = 0;
let answers = {};
let body = null;
/** Takes saved views off the page. */
let release = () => {};

afterEach(() => release());

beforeEach(() => {
  body = openTree();
  body.append(makeElement("script", { id: "link-table" }, process.env.LINK_TABLE));
  Object.assign(window, {
    dash_component_api: { getLayout: () => undefined },
    dash_clientside: { set_props: () => {} },
  });
  sent = [];
  tests += 1;
  answers = { on: () => ({ notes: [noteOf(1)], target: "head/3/7", writes: true }), marks: () => ({ counts: {} }) };
  globalThis.fetch = async (url, { method = "GET", body: content } = {}) => {
    const last = url.split("/").at(-1);
    sent.push([method, last, content]);
    return new Response(JSON.stringify((await answers[last]?.()) ?? {}));
  };
});

/** Asks an answer of a kind later: the result gives answers in the order of their requests, the first with index 0. */
function answerLater(kind) {
  const waiting = [];
  answers[kind] = () => new Promise((resolve) => waiting.push(resolve));
  return async (index, answer) => {
    waiting[index](answer);
    await settled();
  };
}

/** A drawn list of one note, and what a reader does with it. */
async function openList() {
  const host = makeElement("div");
  body.append(host);
  const list = new NoteList(host, { target: "head/3/7" });
  await list.load();
  const below = () => host.querySelector(".note > .note-below");
  return { host, list, below, press: (act) => host.querySelector(`[data-act="${act}"]`).click() };
}

/** Types into the form below the note. */
function type(below, text) {
  const box = below().querySelector("textarea");
  box.value = text;
  box.dispatch("input");
}

test("a reply that an edit has covered is shown again with its text", async () => {
  const { press, below } = await openList();
  press("reply");
  type(below, "half a reply");
  press("edit");
  assert.equal(below().querySelector("textarea").value, "text 1");
  press("reply");
  assert.equal(below().querySelector("textarea").value, "half a reply");
  assert.equal(document.activeElement, below().querySelector("textarea"));
});

test("a redrawn list shows the form that was opened last", async () => {
  const { press, below, list } = await openList();
  for (const act of ["reply", "edit", "reply"]) press(act);
  list.draw({ notes: [noteOf(2)], target: "head/3/7", writes: true });
  assert.equal(below().querySelector("label").textContent, "Reply");
});

test("a form that closes shows the form that it has covered", async () => {
  const { press, below } = await openList();
  press("reply");
  type(below, "half a reply");
  press("edit");
  below().querySelector("form").dispatch("keydown", { key: "Escape" });
  assert.equal(below().querySelector("textarea").value, "half a reply");
});

test("a note that is kept shows the edit that the question has covered", async () => {
  const { press, below } = await openList();
  press("edit");
  type(below, "half an edit");
  press("delete");
  assert.equal(below().querySelector("textarea"), null);
  press("keep");
  assert.equal(below().querySelector("textarea").value, "half an edit");
});

test("closed versions show the edit that they have covered", async () => {
  answers.history = () => ({ texts: [{ time: CREATED, tree: "text 0" }] });
  const { press, below } = await openList();
  press("edit");
  type(below, "half an edit");
  press("history");
  await settled();
  assert.equal(below().querySelector("textarea"), null);
  press("history");
  assert.equal(below().querySelector("textarea").value, "half an edit");
});

test("a form that replaces the versions says so on their button", async () => {
  answers.history = () => ({ texts: [{ time: CREATED, tree: "text 0" }] });
  const { host, press } = await openList();
  press("history");
  await settled();
  press("edit");
  assert.equal(host.querySelector('[data-act="history"]').getAttribute("aria-expanded"), "false");
});

test("versions that arrive after a form was opened leave the form", async () => {
  const answer = answerLater("history");
  const { press, below } = await openList();
  press("history");
  press("edit");
  await settled();
  await answer(0, { texts: [{ time: CREATED, tree: "text 0" }] });
  assert.equal(below().querySelector("textarea")?.value, "text 1");
});

test("an edit is saved as one of the version on which it was begun", async () => {
  const { press, below, list } = await openList();
  press("edit");
  type(below, "my edit");
  list.draw({ notes: [noteOf(2)], target: "head/3/7", writes: true });
  below().querySelector("form").requestSubmit();
  await settled();
  const [, , content] = sent.find(([method]) => method === "PUT");
  assert.deepEqual(JSON.parse(content), { text: "my edit", tags: [], version: 1 });
});

/** A page with the button Notes of the header and its menu. */
function openHeader() {
  body.append(makeElement("button", { id: "open-notes" }));
  followNotes();
  return (selector) => body.querySelector(selector).click();
}

test("a note of a dialog that was opened three times is deleted by one request", async () => {
  const press = openHeader();
  for (let i = 0; i < 3; i++) {
    press('[data-menu="notes"]');
    await settled();
    if (i < 2) body.querySelector("dialog").close();
  }
  press('[data-act="delete"]');
  press('[data-act="confirm"]');
  await settled();
  assert.equal(sent.filter(([method]) => method === "DELETE").length, 1);
});

test("a menu shows the saved views that were asked for last", async () => {
  const answer = answerLater("views");
  const press = openHeader();
  for (let i = 0; i < 3; i++) press("#open-notes");
  await settled();
  await answer(1, { views: [] });
  await answer(0, { views: [viewOf("1", "deleted")] });
  assert.equal(body.querySelector(".saved-views").textContent, "No view is saved.");
});

/** Saved views on page Notes; `press` clicks a button of a view. */
function openViews() {
  const host = makeElement("div");
  body.append(host);
  const useEffect = (effect, depends) => {
    if (depends) release = effect();
  };
  window.React = { useRef: () => ({ current: host }), useEffect, createElement: () => null };
  SavedViews({ id: "views" });
  const names = () => host.querySelectorAll(".note-place").map((line) => line.textContent.split(" ")[0]);
  const press = (id, act) => host.querySelector(`[data-view="${id}"] [data-act="${act}"]`).click();
  return { host, names, press };
}

test("a name that is being typed outlives an answer, which is drawn when its form closes", async () => {
  answers.views = () => ({ views: [viewOf("1", "first")] });
  const { host, names, press } = openViews();
  await settled();
  const answer = answerLater("views");
  await recount();
  press("1", "rename");
  host.querySelector("input").value = "half a na";
  await answer(0, { views: [viewOf("1", "first"), viewOf("2", "second")] });
  assert.equal(host.querySelector("input")?.value, "half a na");
  host.querySelector("form").dispatch("keydown", { key: "Escape" });
  assert.deepEqual(names(), ["first", "second"]);
});

test("an older answer that arrives late lists no deleted view", async () => {
  answers.views = () => ({ views: [viewOf("1", "first"), viewOf("2", "second")] });
  const { names, press } = openViews();
  await settled();
  const answer = answerLater("views");
  await recount();
  press("1", "delete");
  press("1", "confirm");
  await settled();
  await answer(1, { views: [viewOf("2", "second")] });
  await answer(0, { views: [viewOf("1", "first"), viewOf("2", "second")] });
  assert.deepEqual(names(), ["second"]);
});

test("a saved name is listed", async () => {
  answers.views = () => ({ views: [viewOf("1", "first")] });
  const { host, names, press } = openViews();
  await settled();
  press("1", "rename");
  host.querySelector("input").value = "renamed";
  answers.views = () => ({ views: [viewOf("1", "renamed")] });
  host.querySelector("form").requestSubmit();
  await settled();
  assert.deepEqual(names(), ["renamed"]);
  assert.equal(host.querySelector("form"), null);
});
