// What notes add to the pages. Two Dash components: NotePanel has notes on one thing, closed until they are asked for,
// or the open list of page Notes; SavedViews has the links with a name, which an author renames and deletes. The button
// of page Notes that imports a file of both. And the button Notes of the header: a menu with the notes on the view that
// is shown, the name under which it is saved, and saved views.
import {
  countOf,
  deleteView,
  importNotes,
  readViews,
  recount,
  renameView,
  saveView,
  shownNow,
  whenCounted,
  actionButton,
  drawQuestion,
  linkOf,
  moment,
} from "./note.mjs";
import { nameForm, newId, NoteList } from "./note_list.mjs";
import { opensElsewhere, pathOf, visit } from "../web/address.mjs";
import { elementIn, elementOf, make, required, useOnElement, write } from "../web/elements.mjs";
import { trying } from "../web/loading.mjs";
import { leftInWindow, toggleMenu } from "../web/popover.mjs";

/** The number of notes in the line that opens them. @param {number} count */
const numbered = (count) => (count ? ` (${count.toLocaleString("en")})` : "");

class Panel {
  text = "";
  /** @type {About} */
  about = {};
  body = make("div");
  /** @type {HTMLElement | null} */
  count = null;
  /** @type {HTMLDetailsElement | null} */
  details = null;
  /** @type {NoteList | null} */
  list = null;
  /** @type {Panel[] | null} */
  parts = null;

  /** @param {HTMLElement} host */
  constructor(host) {
    this.host = host;
    this.unfollow = whenCounted(() => this.recount());
  }

  /** @param {About} about */
  update(about) {
    const text = JSON.stringify(about);
    if (text === this.text) return;
    Object.assign(this, { text, about });
    this.close();
    this.build();
    this.recount();
    if (!about.title) this.open();
  }

  build() {
    const { title } = this.about;
    this.body = make("div", { className: "notes-body" });
    if (!title) return this.host.replaceChildren(this.body);
    this.count = make("span", { className: "notes-count" });
    const named = make("span");
    write(named, title);
    const summary = make("summary", {}, named, this.count);
    const details = make("details", { className: "notes" }, summary, this.body);
    details.addEventListener("toggle", () => details.open && this.open());
    details.addEventListener("keydown", (event) => this.pressed(event, details, summary));
    this.details = details;
    this.host.replaceChildren(details);
  }

  open() {
    const { parts } = this.about;
    if (parts) return this.openParts(parts);
    this.list ??= new NoteList(this.body, this.about, (answer) => this.heard(answer));
    this.list.load();
  }

  /** A panel for each of several targets. @param {About[]} parts */
  openParts(parts) {
    this.parts ??= parts.map((about) => {
      const panel = new Panel(this.body.appendChild(make("div", { className: "note-panel" })));
      panel.update(about);
      return panel;
    });
  }

  /** Number of notes on the targets; undefined until they are counted. */
  counted() {
    const { target, parts } = this.about;
    if (!parts) return countOf(target);
    const counts = parts.map((part) => countOf(part.target));
    return counts.reduce((sum, count) => (sum === undefined || count === undefined ? undefined : sum + count), 0);
  }

  /** Shows counts that are new or changed, and reads an open list again. */
  recount() {
    const count = this.counted();
    if (count !== undefined) this.say(count);
    if (this.list && (!this.details || this.details.open)) this.list.load();
  }

  /** @param {{ notes: Note[] }} given */
  heard({ notes }) {
    this.say(notes.reduce((sum, { replies, deleted }) => sum + (replies?.length ?? 0) + Number(!deleted), 0));
  }

  /** @param {number} count */
  say(count) {
    if (this.count) this.count.textContent = numbered(count);
  }

  /** @param {KeyboardEvent} event @param {HTMLDetailsElement} details @param {HTMLElement} summary */
  pressed(event, details, summary) {
    if (event.key !== "Escape" || event.defaultPrevented || !details.open) return;
    event.preventDefault();
    details.open = false;
    summary.focus();
  }

  close() {
    this.list?.release();
    this.parts?.forEach((panel) => panel.release());
    this.list = this.parts = null;
  }

  release() {
    this.unfollow();
    this.close();
  }
}

/** @param {{ id: string, about: About }} given */
export function NotePanel({ id, about }) {
  const ref = useOnElement(
    (host) => new Panel(host),
    (panel) => panel.update(about),
  );
  return window.React.createElement("div", { id, ref, className: "note-panel" });
}

const EMPTY = "No view is saved. Open a page as you want it, then choose Save this view under Notes in the header.";

/** @param {SavedView} view */
function row(view) {
  const { id, author, created, mine } = view;
  const name = make("b", { textContent: author, dir: "auto" });
  const by = make("p", { className: "note-byline" }, name, moment(created));
  const acts = mine
    ? [make("p", { className: "note-actions" }, actionButton("Rename", "rename"), actionButton("Delete", "delete"))]
    : [];
  const parts = [make("p", { className: "note-place" }, linkOf(view)), by, ...acts];
  return make("li", { className: "note", "data-view": id }, ...parts, make("div", { className: "note-below" }));
}

/** Saved views on page Notes. */
class ViewList {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.problem = make("p", { className: "note-problem", role: "alert" });
    this.list = make("ol", { className: "note-list" });
    this.empty = make("p", { className: "caption", textContent: "The saved views are on their way." });
    host.replaceChildren(this.problem, this.list, this.empty);
    host.addEventListener("click", (event) => this.clicked(event));
    host.addEventListener("keydown", (event) => this.pressed(event));
    this.views = /** @type {Map<string, SavedView>} */ (new Map());
    this.coming = /** @type {SavedView[] | null} */ (null);
    this.unfollow = whenCounted(() => this.isIdle && this.load());
    this.load();
  }

  /** Whether no form and no question is open. */
  get isIdle() {
    return !this.list.querySelector(".note-below > *");
  }

  async load() {
    this.reading?.abort();
    this.coming = null;
    const { signal } = (this.reading = new AbortController());
    try {
      const { views } = await readViews(signal);
      if (signal.aborted) return;
      this.problem.textContent = "";
      this.coming = views;
      this.draw();
    } catch (error) {
      if (signal.aborted) return;
      this.problem.textContent = error.message;
      this.empty.textContent = "";
    }
  }

  /** Draws the views that were read last; while a form or a question is open they wait until it closes. */
  draw() {
    const views = this.coming;
    if (!views || !this.isIdle) return;
    this.coming = null;
    this.views = new Map(views.map((view) => [`${view.id}`, view]));
    this.list.replaceChildren(...views.map(row));
    this.list.hidden = !views.length;
    this.empty.textContent = views.length ? "" : EMPTY;
  }

  /** @param {Event} event */
  clicked(event) {
    const [act, item] = [event.target?.closest?.("[data-act]")?.dataset.act, event.target?.closest?.("[data-view]")];
    if (!item) return;
    if (act === "rename") this.rename(item);
    if (act === "delete") this.ask(item);
    if (act === "keep") this.close(item, "delete");
    if (act === "confirm") this.remove(item);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const item = event.target?.closest?.("[data-view]");
    if (item && event.key === "Escape" && event.target?.closest?.(".note-question")) this.close(item, "delete");
  }

  /** @param {HTMLElement} item @param {HTMLElement} element */
  put(item, element) {
    elementIn(item, ".note-below").replaceChildren(element);
  }

  /** Closes a form or a question; its button gets the keyboard. @param {HTMLElement} item @param {string} act */
  close(item, act) {
    elementIn(item, ".note-below").replaceChildren();
    this.draw();
    this.list.querySelector(`[data-view="${item.dataset.view}"] [data-act="${act}"]`)?.focus();
  }

  /** @param {HTMLElement} item */
  rename(item) {
    const { id, name } = required(this.views.get(item.dataset.view ?? ""), "the saved view");
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
    elementIn(item, '[data-act="keep"]').focus();
  }

  /** @param {HTMLElement} item */
  remove(item) {
    return trying(this.problem, async () => {
      await deleteView(required(item.dataset.view, "the saved view"));
      item.remove();
      await this.load();
      this.list.querySelector("a, button")?.focus();
    });
  }

  release() {
    this.reading?.abort();
    this.unfollow();
  }
}

/** @param {{ id: string }} given */
export function SavedViews({ id }) {
  const ref = useOnElement((host) => new ViewList(host));
  return window.React.createElement("div", { id, ref, className: "note-panel" });
}

/** Largest file that a request can hold, in bytes (BODY in dashboard/web/connections.py). */
const LARGEST_FILE_BYTES = 1 << 20;
const TOO_LARGE = "The file is larger than 1 MiB. Ask who runs the server to run `headscape notes import FILE`.";

/** @param {File} file @param {HTMLElement} line */
async function sendFile(file, line) {
  line.textContent = file.size > LARGEST_FILE_BYTES ? TOO_LARGE : `Importing ${file.name} ...`;
  if (file.size > LARGEST_FILE_BYTES) return;
  try {
    line.textContent = (await importNotes(file)).summary;
    recount();
  } catch (error) {
    line.textContent = error.message;
  }
}

function chooseFile() {
  const input = make("input", { type: "file", accept: ".json,application/json" });
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    if (file) sendFile(file, elementOf("imported"));
  });
  input.click();
}

/** Follows the button that imports. */
export function followImport() {
  document.addEventListener("click", (event) => event.target?.closest?.("#import-notes") && chooseFile());
}

/** Most saved views in the menu. */
const MOST_LISTED = 8;
const NO_NOTE = "There is no note on this view: this page with its head, colours, filters and selection.";

/** @param {string} name @param {string} text */
function menuItem(name, text) {
  return make("button", { type: "button", className: "menu-item", "data-menu": name, textContent: text });
}

function createMenu() {
  const views = make("ul", { className: "saved-views" });
  const all = make("a", { href: pathOf("notes"), className: "menu-item followed", textContent: "All notes and views" });
  const title = make("h2", { textContent: "Saved views" });
  const [save, why] = [menuItem("save", "Save this view"), make("p", { id: "saving-off", className: "caption" })];
  save.setAttribute("aria-describedby", why.id);
  const parts = [menuItem("notes", "Notes on this view"), save, why, all, title, views];
  const named = { popover: "auto", role: "dialog", "aria-label": "Notes and saved views" };
  return { element: make("div", { className: "notes-menu", ...named }, ...parts), views, save, why };
}

/**
 * Offers to save a view, or says by `off` why it cannot be saved.
 * @param {{ save: HTMLButtonElement, why: HTMLElement }} given @param {string} [off]
 */
export function offerSaving({ save, why }, off = "") {
  save.disabled = Boolean(off);
  why.textContent = off;
}

/** The dialog for notes and for a view's name. */
function createDialog() {
  const heading = make("h2", { id: "note-dialog-title" });
  const close = make("button", { type: "button", className: "plain", textContent: "Close" });
  const title = make("div", { className: "dialog-title" }, heading, close);
  const element = make("dialog", { className: "note-dialog", "aria-labelledby": heading.id }, title);
  close.addEventListener("click", () => element.close());

  /** Opens the dialog; gives an element for its content, new each time: listeners end with it. @param {string} text */
  function show(text) {
    heading.textContent = text;
    const body = make("div", { className: "notes-body" });
    element.replaceChildren(title, body);
    element.showModal();
    return body;
  }

  return { element, show };
}

/** @type {AbortController | null} */
let listing = null;

/** @param {Menu} menu */
async function listViews(menu) {
  listing?.abort();
  const { signal } = (listing = new AbortController());
  const list = menu.views;
  try {
    const { views, off } = await readViews(signal);
    if (signal.aborted) return;
    offerSaving(menu, off);
    const items = /** @type {SavedView[]} */ (views).slice(0, MOST_LISTED).map((view) => make("li", {}, linkOf(view)));
    list.replaceChildren(...(items.length ? items : [make("li", { className: "caption" }, "No view is saved.")]));
  } catch (error) {
    if (signal.aborted) return;
    offerSaving(menu, error.message);
    list.replaceChildren();
  }
}

/** Opens the notes on the shown view. @param {Dialog} dialog */
function openNotes(dialog) {
  const list = new NoteList(dialog.show("Notes on this view"), { empty: NO_NOTE });
  dialog.element.addEventListener("close", () => list.release(), { once: true });
  list.load();
}

/** @param {Dialog} dialog */
function openNaming(dialog) {
  const body = dialog.show("Save this view");
  const { pathname, search } = window.location;
  const id = newId();
  const form = nameForm({
    label: "Name",
    send: "Save view",
    /** @param {string} name */
    save: (name) => saveView({ name, link: pathname + search, id }),
    close: () => dialog.element.close(),
  });
  body.replaceChildren(form.element);
  form.focus();
}

/** @param {MouseEvent} event @param {Menu} menu @param {HTMLButtonElement} button */
function turnMenu(event, menu, button) {
  const { element, save } = menu;
  save.hidden = shownNow().writes === false;
  if (!toggleMenu(event, button, element)) return;
  const [{ right, bottom }, { width }] = [button.getBoundingClientRect(), element.getBoundingClientRect()];
  Object.assign(element.style, { left: `${leftInWindow(right - width, width)}px`, top: `${bottom + 4}px` });
  listViews(menu);
}

/** Opens what a note is about without leaving the page. @param {MouseEvent} event @param {HTMLElement} link */
function openLink(event, link) {
  if (opensElsewhere(event)) return;
  event.preventDefault();
  /** @type {HTMLDialogElement | null} */ (link.closest("dialog"))?.close();
  visit(link.getAttribute("href") ?? "");
  window.scrollTo(0, 0);
}

/** Follows the button, its menu, and the links of notes and saved views. */
export function followNotes() {
  const [menu, dialog] = [createMenu(), createDialog()];
  document.body.append(menu.element, dialog.element);
  document.addEventListener("click", (event) => {
    const [button, link] = ["#open-notes, [data-menu]", "a.followed"].map((name) => event.target?.closest?.(name));
    if (button?.id === "open-notes") return turnMenu(event, menu, /** @type {HTMLButtonElement} */ (button));
    if (!button && !link) return;
    menu.element.hidePopover();
    if (link) openLink(event, link);
    else (button?.dataset.menu === "save" ? openNaming : openNotes)(dialog);
  });
}
