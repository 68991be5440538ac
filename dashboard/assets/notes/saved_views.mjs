// Saved views: links with a name. The list of page Notes and the menu of the header show them; an author renames and
// deletes them.
import { deleteView, readViews, renameView, trying, whenCounted } from "./api.mjs";
import { drawQuestion, momentOf } from "./note.mjs";
import { make } from "../web/elements.mjs";

const EMPTY = "No view is saved. Open a page as you want it, then choose Save this view under Notes in the header.";
/** @param {string} text @param {string} act */
const button = (text, act) =>
  make("button", { type: "button", className: "action", textContent: text, "data-act": act });

/** @param {Pick<SavedView, "name" | "href">} savedView */
export const linkOf = ({ name, href }) =>
  href
    ? make("a", { href, className: "followed", textContent: name, dir: "auto" })
    : make("span", {}, name, make("span", { className: "caption" }, " (not in this store)"));

/** @param {SavedView} view */
function row(view) {
  const { id, author, created, mine } = view;
  const by = make("p", { className: "note-byline" }, make("b", { textContent: author, dir: "auto" }));
  by.append(make("time", { datetime: created, textContent: momentOf(created) }));
  const acts = mine
    ? [make("p", { className: "note-actions" }, button("Rename", "rename"), button("Delete", "delete"))]
    : [];
  const parts = [make("p", { className: "note-place" }, linkOf(view)), by, ...acts];
  return make("li", { className: "note", "data-view": id }, ...parts, make("div", { className: "note-below" }));
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

/** The list of page Notes. */
class ViewList {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.problem = make("p", { className: "note-problem", role: "alert" });
    this.list = make("ol", { className: "note-list" });
    this.empty = make("p", { className: "caption", textContent: "The saved views are on their way." });
    host.replaceChildren(this.problem, this.list, this.empty);
    host.addEventListener("click", (event) => this.clicked(event));
    host.addEventListener("keydown", (event) => this.pressed(event));
    this.unfollow = whenCounted(() => this.isIdle && this.load());
    this.load();
  }

  /** Whether nobody is asked for a name or an answer. */
  get isIdle() {
    return !this.list.querySelector(".note-below > *");
  }

  load() {
    return trying(this.problem, async () => {
      const { views } = await readViews().finally(() => (this.empty.textContent = ""));
      this.views = new Map(
        /** @type {SavedView[]} */ (views).map((view) => /** @type {[string, SavedView]} */ ([`${view.id}`, view])),
      );
      this.list.replaceChildren(...views.map(row));
      this.list.hidden = !views.length;
      this.empty.textContent = views.length ? "" : EMPTY;
    });
  }

  /** @param {Event} event */
  clicked(event) {
    const [act, item] = [event.target.closest("[data-act]")?.dataset.act, event.target.closest("[data-view]")];
    if (act === "rename") this.rename(item);
    if (act === "delete") this.ask(item);
    if (act === "keep") this.close(item, "delete");
    if (act === "confirm") this.remove(item);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.key === "Escape" && event.target.closest(".note-question"))
      this.close(event.target.closest("[data-view]"), "delete");
  }

  /** @param {HTMLElement} item @param {HTMLElement} element */
  put(item, element) {
    item.querySelector(".note-below").replaceChildren(element);
  }

  /** Back to the button that has opened what is closed. @param {HTMLElement} item @param {string} act */
  close(item, act) {
    item.querySelector(".note-below").replaceChildren();
    this.list.querySelector(`[data-view="${item.dataset.view}"] [data-act="${act}"]`)?.focus();
  }

  /** @param {HTMLElement} item */
  rename(item) {
    const { id, name } = this.views.get(item.dataset.view);
    /** @param {string} changed */
    const save = async (changed) => {
      await renameView(id, changed);
      await this.load();
    };
    const form = nameForm({ name, label: "Name", send: "Rename", save, close: () => this.close(item, "rename") });
    this.put(item, form.element);
    form.focus();
  }

  /** @param {HTMLElement} item */
  ask(item) {
    this.put(item, drawQuestion("Delete this saved view?"));
    item.querySelector('[data-act="keep"]').focus();
  }

  /** @param {HTMLElement} item */
  remove(item) {
    return trying(this.problem, async () => {
      await deleteView(item.dataset.view);
      await this.load();
      this.list.querySelector("a, button")?.focus();
    });
  }

  release() {
    this.unfollow();
  }
}

/** @param {{ id: string }} given */
export function SavedViews({ id }) {
  const { createElement, useEffect, useRef } = window.React;
  const host = useRef(null);
  useEffect(() => {
    const list = new ViewList(host.current);
    return () => list.release();
  }, []);
  return createElement("div", { id, ref: host, className: "note-panel" });
}
