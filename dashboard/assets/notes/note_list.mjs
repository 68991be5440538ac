// A list of notes: reads them, and lets an author add, reply, edit and delete. The form of a note, a reply or an edit
// has a text, tags, Save and Cancel. Its draft outlives every drawing and the form itself: what an author has typed
// stays in the tab until it is saved, through other pages, a reload and a failed save. And the form of a name.
import {
  recount,
  addNote,
  addReply,
  deleteNote,
  editNote,
  readFound,
  readHistory,
  readNotesOn,
  drawHistory,
  drawNote,
  drawQuestion,
} from "./note.mjs";
import { counted } from "./marks.mjs";
import { visit } from "../web/address.mjs";
import { make, required, elementIn } from "../web/elements.mjs";
import { randomHex, trying } from "../web/loading.mjs";
import { recall, remember } from "../web/room.mjs";

const ADD = "add";

/**
 * Buttons to the pages of the list before and after.
 * @param {NotesAnswer} notesAnswer
 */
function drawPages({ leaf = 0, leaves = 1, total = 0 }) {
  /** @param {string} text @param {number} to */
  const button = (text, to) => {
    const element = make("button", { type: "button", className: "action", textContent: text, "data-leaf": to });
    element.disabled = to < 0 || to >= leaves;
    return element;
  };
  const where = `page ${leaf + 1} of ${leaves}, ${counted(total)}`;
  return [button("Newer", leaf - 1), button("Older", leaf + 1), make("span", { textContent: where })];
}

/** @param {string} leaf */
function linkOfLeaf(leaf) {
  const fields = new URLSearchParams(window.location.search);
  fields.set("leaf", leaf);
  if (leaf === "0") fields.delete("leaf");
  return `${window.location.pathname}?${fields}`;
}

export class NoteList {
  /**
   * `about`, {target, search, empty}: notes on `target`, with `search` those that page Notes finds, else those on the
   * shown view. `heard(answer)` gets every new answer of the server.
   * @param {HTMLElement} host @param {About} about @param {(answer: NotesAnswer) => void} [heard]
   */
  constructor(host, about, heard = () => {}) {
    this.host = host;
    this.about = about;
    this.heard = heard;
    this.forms = /** @type {Map<string, { note: string | undefined, form: NoteForm }>} */ (new Map());
    this.notes = /** @type {Map<string, Note>} */ (new Map());
    this.text = "";
    this.problem = make("p", { className: "note-problem", role: "alert" });
    this.list = make("ol", { className: "note-list" });
    this.empty = make("p", { className: "caption", textContent: "The notes are on their way." });
    this.below = make("div", { className: "note-below" });
    this.adding = make("button", { type: "button", className: "plain", textContent: "Add a note", hidden: true });
    this.adding.dataset.act = ADD;
    this.pages = make("p", { className: "note-pages" });
    host.replaceChildren(this.problem, this.list, this.empty, this.pages, this.adding, this.below);
    host.addEventListener("click", (event) => this.clicked(event));
    host.addEventListener("keydown", (event) => this.pressed(event));
  }

  async load() {
    this.reading?.abort();
    this.reading = new AbortController();
    try {
      const { search, target } = this.about;
      const { signal } = this.reading;
      const answer = await (search ? readFound(signal) : readNotesOn(target, signal));
      this.problem.textContent = "";
      this.draw(answer);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.problem.textContent = error.message;
      if (!this.text) this.empty.textContent = "";
    }
  }

  release() {
    this.reading?.abort();
  }

  // -- what is shown ------------------------------------------------------------------------------

  /** @param {NotesAnswer} answer */
  draw(answer) {
    const text = JSON.stringify(answer);
    if (text === this.text) return;
    const { notes, writes } = answer;
    this.text = text;
    this.notes = new Map(
      notes
        .flatMap((note) => [note, ...(note.replies ?? [])])
        .map((note) => /** @type {[string, Note]} */ ([`${note.id}`, note])),
    );
    const back = this.focusNow();
    this.list.replaceChildren(...notes.map((note) => drawNote(note, { writes, placed: Boolean(this.about.search) })));
    this.list.hidden = !notes.length;
    this.empty.textContent = answer.off ?? (notes.length ? "" : (this.about.empty ?? ""));
    this.target = answer.target;
    this.adding.hidden = !writes || !this.target || this.forms.has(ADD);
    this.pages.replaceChildren(...((answer.leaves ?? 1) > 1 ? drawPages(answer) : []));
    for (const { note, form } of this.forms.values()) this.placeBelow(note, form.element);
    back?.();
    this.heard(answer);
  }

  /** A function that gives the keyboard back to its element, also when drawn anew; null for none. */
  focusNow() {
    const active = /** @type {HTMLElement | null} */ (document.activeElement);
    const element = this.host.contains(active) ? active : null;
    if (!element) return null;
    const [note, act] = [element.closest(".note")?.dataset.note, element.dataset.act];
    return () => (element.isConnected ? element : act ? this.button(act, note) : null)?.focus({ preventScroll: true });
  }

  /** @param {string | undefined} note */
  item(note) {
    return note ? this.list.querySelector(`.note[data-note="${CSS.escape(note)}"]`) : null;
  }

  /**
   * A button of a note, not of its replies; without a note, the button that adds one.
   * @param {string} act @param {string | undefined} note
   */
  button(act, note) {
    const every = [...(this.item(note)?.querySelectorAll(`[data-act="${act}"]`) ?? [])];
    return every.find((button) => button.closest(".note")?.dataset.note === note) ?? this.adding;
  }

  /**
   * The place below a note; below the list without a note, or after somebody else's deletion: no typed text is lost.
   * @param {string | undefined} note
   */
  placeOf(note) {
    return this.item(note)?.querySelector(":scope > .note-below") ?? this.below;
  }

  /**
   * Shows a form or a question below a note, instead of what is there.
   * @param {string | undefined} note @param {HTMLElement} element
   */
  placeBelow(note, element) {
    this.placeOf(note).replaceChildren(element);
    const history = this.button("history", note);
    if (history.hasAttribute("aria-expanded")) history.setAttribute("aria-expanded", "false");
  }

  /** Shows the form that was opened last below a note; without a form, nothing. @param {string | undefined} note */
  restoreForm(note) {
    const place = this.placeOf(note);
    const last = [...this.forms.values()].filter((open) => this.placeOf(open.note) === place).at(-1);
    place.replaceChildren(...(last ? [last.form.element] : []));
  }

  // -- what a reader does -------------------------------------------------------------------------

  /** @param {Event} event */
  clicked(event) {
    const act = event.target?.closest?.("[data-act]")?.dataset.act;
    const note = event.target?.closest?.(".note")?.dataset.note;
    const leaf = event.target?.closest?.("[data-leaf]")?.dataset.leaf;
    if (leaf) visit(linkOfLeaf(leaf));
    if (act === ADD) this.write(ADD);
    if (!note) return;
    if (act === "reply" || act === "edit") this.write(act, note);
    else if (act === "history") this.turnHistory(note);
    else if (act === "delete") this.ask(note);
    else if (act === "keep") this.unask(note);
    else if (act === "confirm") this.remove(note);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const question = event.key === "Escape" && event.target?.closest?.(".note-question");
    if (!question) return;
    event.preventDefault();
    event.stopPropagation();
    this.unask(question.closest(".note")?.dataset.note);
  }

  /** Opens the form of a new note, a reply or an edit, or shows it again. @param {string} act @param {string} [note] */
  write(act, note) {
    const key = note ? `${act}-${note}` : ADD;
    const form = this.forms.get(key)?.form ?? this.newForm(key, act, note);
    this.forms.delete(key); // the last of the map is the form opened last, which is shown
    this.forms.set(key, { note, form });
    this.placeBelow(note, form.element);
    if (!note) this.adding.hidden = true;
    form.focus();
  }

  /** @param {string} key @param {string} act @param {string | undefined} note */
  newForm(key, act, note) {
    const version = note ? this.notes.get(note)?.version : undefined;
    return createForm({
      name: note ? key : `${act}-${this.target}`,
      ...this.wordsOf(act, note),
      /** @param {Written} written */
      save: (written) => this.save(act, note, { ...written, version }),
      close: () => this.close(key, act, note),
    });
  }

  /** @param {string} act @param {string | undefined} note */
  wordsOf(act, note) {
    if (act === "reply") return { label: "Reply", send: "Save reply", start: { text: "" } };
    if (!note) return { label: "Note", send: "Save note", start: { text: "", tags: "" } };
    const { text, tags, reply } = required(this.notes.get(note), "the note");
    return { label: "Text", send: "Save", start: { text, ...(!reply && { tags: tags.join(", ") }) } };
  }

  /**
   * `version`: that of the note when its form was opened, so that the server refuses an edit of a former version.
   * @param {string} act @param {string | undefined} note @param {Written & { version?: number }} written
   */
  async save(act, note, { text, tags, id, version }) {
    if (!note) await addNote({ target: this.target, text, tags, id });
    else if (act === "reply") await addReply(note, { text, id });
    else await editNote(note, { text, tags, version });
    await this.load();
    recount();
  }

  /** @param {string} key @param {string} act @param {string | undefined} note */
  close(key, act, note) {
    this.forms.get(key)?.form.element.remove();
    this.forms.delete(key);
    if (!this.placeOf(note).firstChild) this.restoreForm(note);
    if (!note) this.adding.hidden = false;
    this.button(act, note)?.focus();
  }

  /** @param {string} note */
  async turnHistory(note) {
    const button = this.button("history", note);
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) return this.restoreForm(note);
    await trying(this.problem, async () => {
      const history = drawHistory(await readHistory(note));
      // The reader may have closed the versions meanwhile, or opened a form or a question in their place.
      const isWanted = button.isConnected && button.getAttribute("aria-expanded") === "true";
      if (isWanted) this.placeOf(note).replaceChildren(history);
    });
  }

  /** @param {string} note */
  ask(note) {
    const replies = this.notes.get(note)?.replies?.length ? " and its replies" : "";
    this.placeBelow(note, drawQuestion(`Delete this note${replies}?`));
    elementIn(this.placeOf(note), '[data-act="keep"]').focus();
  }

  /** @param {string | undefined} note */
  unask(note) {
    this.restoreForm(note);
    this.button("delete", note)?.focus();
  }

  /** @param {string} note */
  remove(note) {
    return trying(this.problem, async () => {
      await deleteNote(note);
      await this.load();
      recount();
      (this.adding.hidden ? this.list.querySelector("button, a") : this.adding)?.focus();
    });
  }
}

/** Most characters of a text that the server accepts. */
const LONGEST_TEXT = 10_000;
let forms = 0;

/** @param {string} label @param {HTMLElement} input */
function field(label, input) {
  input.id = `note-field-${++forms}`;
  return make("div", { className: "note-field" }, make("label", { for: input.id, textContent: label }), input);
}

/** @param {string} text @param {string} className */
const button = (text, className, type = "button") => make("button", { type, className, textContent: text });

/** Tags of a text, each once: "sink, [SEP]". @param {string} text */
const tagsOf = (text) => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
];

/**
 * Saves what a form holds, once at a time; where that fails the form says why, and its input gets the keyboard.
 * @param {HTMLFormElement} form
 * @param {{ submit: HTMLButtonElement, problem: HTMLElement, input: HTMLElement }} parts
 * @param {() => Promise<unknown>} save
 */
function onSubmit(form, { submit, problem, input }, save) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    problem.textContent = "";
    try {
      await save();
    } catch (error) {
      problem.textContent = error.message;
      input.focus();
    } finally {
      submit.disabled = false;
    }
  });
}

/**
 * The form of a note. `name`: of its draft; `start`: its content without a draft, {text, tags}, no tags for a reply.
 * `save({text, tags, id})` resolves when the server has the note; `close()` is called after that, and when the author
 * cancels.
 * @param {FormOptions} options
 */
export function createForm({ name, label, start, send, save, close }) {
  const draft = recallDraft(name) ?? { ...start, id: newId() };
  const text = make("textarea", { rows: 4, maxlength: LONGEST_TEXT, required: "", dir: "auto" });
  const tags = make("input", { type: "text", maxlength: 400, autocomplete: "off", placeholder: "sink, check again" });
  const problem = make("p", { className: "note-problem", role: "alert" });
  const [submit, cancel] = [button(send, "plain strong", "submit"), button("Cancel", "plain")];
  const fields = [field(label, text), ...(start.tags === undefined ? [] : [field("Tags, separated by commas", tags)])];
  const hint = make("span", { className: "caption", textContent: "Markdown; Ctrl + Enter saves" });
  const form = make(
    "form",
    { className: "note-form" },
    ...fields,
    problem,
    make("div", { className: "note-buttons" }, submit, cancel, hint),
  );
  text.value = draft.text;
  tags.value = draft.tags ?? "";

  const rememberDraft = () => keepDraft(name, { ...draft, text: text.value, tags: tags.value });

  function leave() {
    dropDraft(name);
    close();
  }

  async function saveNote() {
    if (!text.value.trim()) throw new Error("The note is empty. Write a text.");
    await save({ text: text.value, tags: tagsOf(tags.value), id: draft.id });
    leave();
  }

  /** @param {KeyboardEvent} event */
  function pressed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key !== "Escape") return;
    event.stopPropagation();
    event.preventDefault(); // a dialog around it stays open
    close();
  }

  form.addEventListener("input", rememberDraft);
  onSubmit(form, { submit, problem, input: text }, saveNote);
  form.addEventListener("keydown", pressed);
  cancel.addEventListener("click", leave);
  return { element: form, focus: () => text.focus() };
}

/**
 * A form that calls `save` with a name; Escape and Cancel change nothing.
 * @param {{ name?: string, label: string, send: string, save: (name: string) => Promise<unknown>, close: () => void
 * }} given
 */
export function nameForm({ name = "", label, send, save, close }) {
  const input = make("input", { type: "text", maxlength: 120, required: "", dir: "auto", autocomplete: "off" });
  const problem = make("p", { className: "note-problem", role: "alert" });
  const submit = make("button", { type: "submit", className: "plain strong", textContent: send });
  const cancel = make("button", { type: "button", className: "plain", textContent: "Cancel" });
  const buttons = make("div", { className: "note-buttons" }, submit, cancel);
  const form = make("form", { className: "note-form" }, make("label", {}, label, input), problem, buttons);
  input.value = name;

  onSubmit(form, { submit, problem, input }, async () => {
    await save(input.value.trim());
    close();
  });
  form.addEventListener("keydown", (event) => event.key === "Escape" && (event.preventDefault(), close()));
  cancel.addEventListener("click", close);
  return { element: form, focus: () => input.select() };
}

/** Drafts by name: in a tab that stores nothing they last as long as the page. */
const unstored = new Map();

/**
 * The draft of a name; null for none, or where the stored text is no draft.
 * @param {string} name @returns {Draft | null}
 */
export function recallDraft(name) {
  try {
    return JSON.parse(recall("sessionStorage", `draft-${name}`) || "null") ?? unstored.get(name) ?? null;
  } catch {
    return unstored.get(name) ?? null;
  }
}

/** @param {string} name @param {Draft} draft */
function keepDraft(name, draft) {
  unstored.set(name, draft);
  remember("sessionStorage", `draft-${name}`, JSON.stringify(draft));
}

/** @param {string} name */
function dropDraft(name) {
  unstored.delete(name);
  remember("sessionStorage", `draft-${name}`, "");
}

/**
 * A unique id (a UUID of version 4): the server saves notes or views with the same id once. Without https there is no
 * `crypto.randomUUID`.
 */
export function newId() {
  const digits = randomHex(16);
  const variant = "89ab"[parseInt(digits[16], 16) % 4];
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, `$1-$2-4$3-${variant}$4-`);
}
