// The Dash component NotePanel: notes on one thing, closed until they are asked for, or the open list of page Notes.
import { NoteList } from "./note_list.mjs";
import { countOf, whenCounted } from "./api.mjs";
import { make, write } from "../web/elements.mjs";

/** The number of notes in the line that opens them. @param {number} count */
const numbered = (count) => (count ? ` (${count.toLocaleString("en")})` : "");

class Panel {
  /** @type {string} */
  text;
  /** @type {About} */
  about;
  /** @type {HTMLElement} */
  count;
  /** @type {HTMLDetailsElement} */
  details;
  /** @type {NoteList} */
  list;
  /** @type {Panel[]} */
  parts;

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
    this.details = make("details", { className: "notes" }, make("summary", {}, named, this.count), this.body);
    this.details.addEventListener("toggle", () => this.details.open && this.open());
    this.details.addEventListener("keydown", (event) => this.pressed(event));
    this.host.replaceChildren(this.details);
  }

  open() {
    if (this.about.parts) return this.openParts();
    this.list ??= new NoteList(this.body, this.about, (answer) => this.heard(answer));
    this.list.load();
  }

  /** A panel for each of several targets. */
  openParts() {
    this.parts ??= this.about.parts.map((about) => {
      const panel = new Panel(this.body.appendChild(make("div", { className: "note-panel" })));
      panel.update(about);
      return panel;
    });
  }

  /** How many notes its targets have; undefined until they are counted. */
  counted() {
    const { target, parts } = this.about ?? {};
    return parts ? parts.reduce((sum, part) => sum + countOf(part.target), 0) : countOf(target);
  }

  /** The counts of the page have come, or have changed: an open list is read again. */
  recount() {
    const count = this.counted();
    if (count >= 0) this.say(count);
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

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !this.details.open) return;
    event.preventDefault();
    this.details.open = false;
    this.details.querySelector("summary").focus();
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
  const { createElement, useEffect, useRef } = window.React;
  const host = useRef(null);
  const panel = useRef(null);
  useEffect(() => {
    panel.current = new Panel(host.current);
    return () => panel.current.release();
  }, []);
  useEffect(() => panel.current.update(about));
  return createElement("div", { id, ref: host, className: "note-panel" });
}
