// The button Notes of the header: a menu with the notes on the view that is shown, the name under which it is saved,
// and saved views.
import { readViews, saveView, shownNow } from "./api.mjs";
import { NoteList, nameForm, newId } from "./note_list.mjs";
import { linkOf } from "./note.mjs";
import { opensElsewhere, pathOf, visit } from "../web/address.mjs";
import { make } from "../web/elements.mjs";
import { leftInWindow, toggleMenu } from "../web/popover.mjs";

/** Saved views in the menu. */
const MOST_LISTED = 8;
const NONE = "There is no note on this view: this page with its head, colours, filters and selection.";

/** @param {string} name @param {string} text */
function item(name, text) {
  return make("button", { type: "button", className: "menu-item", "data-menu": name, textContent: text });
}

function createMenu() {
  const views = make("ul", { className: "saved-views" });
  const all = make("a", { href: pathOf("notes"), className: "menu-item followed", textContent: "All notes and views" });
  const title = make("h2", { textContent: "Saved views" });
  const [save, why] = [item("save", "Save this view"), make("p", { id: "saving-off", className: "caption" })];
  save.setAttribute("aria-describedby", why.id);
  const parts = [item("notes", "Notes on this view"), save, why, all, title, views];
  const named = { popover: "auto", role: "dialog", "aria-label": "Notes and saved views" };
  return { element: make("div", { className: "notes-menu", ...named }, ...parts), views, save, why };
}

/**
 * A view can be saved, or a sentence says why it cannot.
 * @param {{ save: HTMLButtonElement, why: HTMLElement }} given @param {string} [off]
 */
export function offerSaving({ save, why }, off = "") {
  save.disabled = Boolean(off);
  why.textContent = off;
}

/** One dialog shows either content. */
function createDialog() {
  const heading = make("h2", { id: "note-dialog-title" });
  const close = make("button", { type: "button", className: "plain", textContent: "Close" });
  const body = make("div", { className: "notes-body" });
  const title = make("div", { className: "dialog-title" }, heading, close);
  const element = make("dialog", { className: "note-dialog", "aria-labelledby": heading.id }, title, body);
  close.addEventListener("click", () => element.close());

  /** @param {string} text */
  function show(text) {
    heading.textContent = text;
    body.replaceChildren();
    element.showModal();
    return body;
  }

  return { element, show };
}

/** @param {Menu} menu */
async function listViews(menu) {
  const list = menu.views;
  try {
    const { views, off } = await readViews();
    offerSaving(menu, off);
    const items = /** @type {SavedView[]} */ (views).slice(0, MOST_LISTED).map((view) => make("li", {}, linkOf(view)));
    list.replaceChildren(...(items.length ? items : [make("li", { className: "caption" }, "No view is saved.")]));
  } catch (error) {
    offerSaving(menu, error.message);
    list.replaceChildren();
  }
}

/** Notes on the view that is shown. @param {Dialog} dialog */
function openNotes(dialog) {
  const body = dialog.show("Notes on this view");
  new NoteList(body, { empty: NONE }).load();
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
