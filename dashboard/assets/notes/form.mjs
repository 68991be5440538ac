// The form of a note, a reply or an edit: text, tags, Save and Cancel; and that of a name. The draft of a note outlives
// its form: what an author has typed stays in the tab until it is saved, through other pages, a reload and a failed
// save.
import { make } from "../web/elements.mjs";

/** Characters of a text, as the server accepts them. */
const LONGEST = 10_000;
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
 * `name` is that of its draft; `start` what it holds where there is no draft: {text, tags}, without tags for a reply.
 * `save({text, tags, id})` resolves when the server has it; `close()` is called after that, and where its author
 * cancels.
 * @param {FormOptions} options
 */
export function createForm({ name, label, start, send, save, close }) {
  const draft = recallDraft(name) ?? { ...start, id: newId() };
  const text = make("textarea", { rows: 4, maxlength: LONGEST, required: "", dir: "auto" });
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

  const remember = () => keepDraft(name, { ...draft, text: text.value, tags: tags.value });

  function leave() {
    dropDraft(name);
    close();
  }

  /** @param {SubmitEvent} event */
  async function submitted(event) {
    event.preventDefault();
    if (submit.disabled) return;
    if (!text.value.trim()) return refuse("The note is empty. Write a text.");
    submit.disabled = true;
    problem.textContent = "";
    try {
      await save({ text: text.value, tags: tagsOf(tags.value), id: draft.id });
      leave();
    } catch (error) {
      refuse(error.message);
    } finally {
      submit.disabled = false;
    }
  }

  /** @param {string} sentence */
  function refuse(sentence) {
    problem.textContent = sentence;
    text.focus();
  }

  /** @param {KeyboardEvent} event */
  function pressed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key !== "Escape") return;
    event.stopPropagation();
    event.preventDefault(); // a dialog around it stays open
    close();
  }

  form.addEventListener("input", remember);
  form.addEventListener("submit", submitted);
  form.addEventListener("keydown", pressed);
  cancel.addEventListener("click", leave);
  return { element: form, focus: () => text.focus() };
}

/**
 * Asks for a name, and calls with it; Escape and Cancel leave it as it was.
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

  /** @param {SubmitEvent} event */
  async function submitted(event) {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    try {
      await save(input.value.trim());
      close();
    } catch (error) {
      problem.textContent = error.message;
      input.focus();
    } finally {
      submit.disabled = false;
    }
  }

  form.addEventListener("submit", submitted);
  form.addEventListener("keydown", (event) => event.key === "Escape" && (event.preventDefault(), close()));
  cancel.addEventListener("click", close);
  return { element: form, focus: () => input.select() };
}

/** @param {string} name */
const named = (name) => `headscape-draft-${name}`;
/** The drafts of a tab that stores nothing last as long as its page. */
const unstored = new Map();

/** @param {string} name */
function recallDraft(name) {
  try {
    return JSON.parse(window.sessionStorage.getItem(named(name)) ?? "null") ?? unstored.get(name) ?? null;
  } catch {
    return unstored.get(name) ?? null;
  }
}

/** @param {string} name @param {Draft} draft */
function keepDraft(name, draft) {
  unstored.set(name, draft);
  try {
    window.sessionStorage.setItem(named(name), JSON.stringify(draft));
  } catch {
    // Private windows may refuse.
  }
}

/** @param {string} name */
function dropDraft(name) {
  unstored.delete(name);
  try {
    window.sessionStorage.removeItem(named(name));
  } catch {
    // As above.
  }
}

/**
 * An id that nothing else has (a UUID of version 4): the server saves what has the same id once. Without https there is
 * no `crypto.randomUUID`.
 */
export function newId() {
  const bytes = window.crypto.getRandomValues(new Uint8Array(16));
  [bytes[6], bytes[8]] = [(bytes[6] & 0x0f) | 0x40, (bytes[8] & 0x3f) | 0x80];
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
