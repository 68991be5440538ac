// The Dash component SentenceViews: the sentence, its loaded weights, and the view that shows them. A saved page has
// the same views.
import { createHeadView } from "./head_view.mjs";
import { createMatrixView } from "./matrix_view.mjs";
import { createModelView } from "./model_view.mjs";
import { createNeuronView } from "./neuron_view.mjs";
import { KINDS_ARE, createSaveButtons } from "./picture.mjs";
import { createMarkLegend, toggledMarks } from "./pair_marks.mjs";
import { decodeLayer, decodeThumbnails, divergingRamp, weightRamp } from "./weights.mjs";
import { ROW_HEIGHT, pairOf, selectedPositions } from "./choice.mjs";
import { markNoted } from "../notes/marks.mjs";
import { hexOf } from "../web/drawing.mjs";
import {
  elementIn,
  elementOf,
  make,
  required,
  tellDash,
  useOnElement,
  schemeNow,
  watchScreen,
} from "../web/elements.mjs";
import { createLoader, readBytes, readJson } from "../web/loading.mjs";
import { isCommand, isLetter } from "../web/keyboard.mjs";

const KINDS = { head: createHeadView, model: createModelView, matrix: createMatrixView, neuron: createNeuronView };

/** The URL of a view's data, and how it is decoded. @param {SentencePicture} sentence */
function part({ show, layer_url, model_url, neuron_url }) {
  if (show === "model") return { url: model_url, read: readBytes(decodeThumbnails) };
  if (show === "neuron") return { url: neuron_url, read: readJson };
  return { url: layer_url, read: readBytes(decodeLayer) };
}

export class Views {
  /**
   * @param {HTMLElement} host
   * @param {{ load: (parts: Record<string, Wanted>) => Promise<Record<string, any> | null>, cancel: () => void }}
   * source
   */
  constructor(host, source, { offline = false } = {}) {
    this.host = host;
    this.source = source;
    this.now = /** @type {ShownSentence | null} */ (null);
    this.sentence = /** @type {SentencePicture | null} */ (null);
    this.view = /** @type {(SentenceView & { kind: string, ending: AbortController }) | null} */ (null);
    this.noted = /** @type {Marks | null} */ (null);
    this.setProps = /** @type {SetProps} */ (() => {});
    this.count = this.width = 0;
    this.text = /** @type {string | undefined} */ (undefined);
    this.legend = make(
      "p",
      { className: "legend", hidden: true },
      make("span", { className: "ramp" }, make("span", { className: "bar" }), make("span", { className: "ticks" })),
      make("span", { className: "scale-name" }),
    );
    this.kinds = make("p", { className: "legend of-heads", hidden: true });
    this.lead = make("div", { className: "lead" });
    this.tools = make("fieldset", { className: "tools control-group", hidden: true });
    this.problem = make("p", { className: "problem", role: "alert" });
    this.note = make("p", { className: "note" });
    this.stage = make("div", { className: "stage" });
    this.tip = make("div", { className: "tip" });
    this.announcement = make("div", { className: "announcement", "aria-live": "polite" });
    const above = make("div", { className: "above" }, this.lead, this.legend, this.tools);
    this.host.replaceChildren(above, this.kinds, this.problem, this.note, this.stage, this.tip, this.announcement);
    this.pointer = createTip(this);
    this.files = createSaveButtons(this, { offline });
    this.listening = new AbortController();
    const { signal } = this.listening;
    this.marked = createMarkLegend(this, signal);
    this.stage.before(this.marked.row);
    this.host.addEventListener("keydown", (event) => this.press(event), { signal });
    document.addEventListener("click", (event) => this.act(event), { signal });
    const redraw = () => this.redraw();
    watchScreen(this.host, { rescaled: redraw, resized: () => this.resized(), recoloured: redraw }, signal);
  }

  /** What is on screen, once weights have come. */
  get shown() {
    return required(this.now, "a sentence");
  }

  get palette() {
    return this.shown.palette[schemeNow()] || this.shown.palette.light;
  }

  get ramp() {
    const { signed, show } = this.shown;
    const isSigned = show === "neuron" || (signed && show === "matrix");
    return isSigned ? divergingRamp(this.palette) : weightRamp(this.palette, schemeNow());
  }

  /** @param {number} head */
  colour(head) {
    const colours = this.shown.colours[schemeNow()] || this.shown.colours.light;
    return colours[head % colours.length];
  }

  /** Name of a head in a legend: `H3`, or of what replaces heads. @param {number} head */
  nameOf(head) {
    return this.shown.head_names[head] ?? `H${head}`;
  }

  /** Name of a head on the page: `L2 H3`. @param {number} head */
  fullNameOf(head, layer = this.shown.layer) {
    return this.nameOf(head).replace(/^H(?=\d)/, `L${layer} H`);
  }

  /** Name of a head as spoken: `head 3`. @param {number} head */
  spokenNameOf(head) {
    return this.nameOf(head).replace(/^H(?=\d)/, "head ");
  }

  /** What a head does, in one line; empty where it is not known. @param {number} layer @param {number} head */
  roleOf(layer, head) {
    return this.shown.roles?.does[layer]?.[head] ?? "";
  }

  // -- what is asked and what has come ------------------------------------------------------------

  /** @param {SentencePicture | null} sentence @param {SetProps} setProps @param {Marks | null} [noted] */
  update(sentence, setProps, noted = null) {
    this.setProps = setProps;
    if (noted !== this.noted) this.showNoted(noted);
    const text = JSON.stringify(sentence);
    if (text === this.text) return;
    this.text = text;
    this.sentence = sentence;
    if (sentence) this.load(sentence);
    else this.clear();
  }

  /** Shows counts of notes that are new or changed. @param {Marks | null} noted */
  showNoted(noted) {
    this.noted = noted;
    if (this.now) markNoted(this.host, this.now, noted);
  }

  /** @param {SentencePicture} sentence */
  async load(sentence) {
    const source = part(sentence);
    this.host.setAttribute("aria-busy", "true");
    this.reserve(sentence);
    try {
      const come = await this.source.load({ data: source });
      if (come && sentence === this.sentence) this.show(sentence, come.data, source.url ?? "");
    } catch (error) {
      if (sentence === this.sentence) this.finish(error.message, "");
    }
  }

  /**
   * Keeps room for the first lines while their weights come: nothing below moves.
   * @param {SentencePicture} sentence
   */
  reserve({ show, units }) {
    if (!this.view && show === "head") this.stage.style.minHeight = `${ROW_HEIGHT * (units.length + 1)}px`;
  }

  /** @param {SentencePicture} sentence @param {any} data @param {string} url */
  show(sentence, data, url) {
    this.stage.style.minHeight = "";
    const before = this.view?.kind;
    const isOther = before !== sentence.show;
    const hadFocus = isOther && [this.lead, this.stage].some((place) => place.contains(document.activeElement));
    if (isOther) this.leaveView();
    const selected = { queries: sentence.queries || [], toward: sentence.toward ?? null };
    this.now = { ...sentence, ...selected, chosen: within(sentence, data), data };
    if (isOther) this.enterView(sentence.show);
    for (const [name, value] of [
      ["role", "group"],
      ["aria-label", sentence.title],
    ])
      this.host.setAttribute(name, value);
    this.finish("", url);
    this.redraw();
    if (hadFocus) this.focusFirst();
    requestAnimationFrame(() => performance.mark("headscape-drawn"));
  }

  /** Focuses the first control of the view: the view before had the focus. */
  focusFirst() {
    const controls = [this.lead, this.stage].flatMap((place) => [...place.querySelectorAll("button, [tabindex]")]);
    /** @type {HTMLElement[]} */ (controls).find(({ tabIndex }) => tabIndex === 0)?.focus();
  }

  /** @param {string} problem @param {string} url */
  finish(problem, url) {
    this.problem.textContent = problem;
    this.stage.hidden = this.lead.hidden = this.tools.hidden = this.legend.hidden = Boolean(problem);
    this.kinds.hidden = Boolean(problem) || !this.now?.roles?.kinds.length;
    if (problem) this.marked.row.hidden = true;
    if (problem) this.remark("");
    this.host.removeAttribute("aria-busy");
    this.host.dataset.drawn = url || "";
  }

  clear() {
    this.source.cancel();
    this.leaveView();
    this.now = null;
    this.finish("", "");
  }

  // -- the view -----------------------------------------------------------------------------------

  /** @param {keyof typeof KINDS} kind */
  enterView(kind) {
    const ending = new AbortController();
    this.view = { ...KINDS[kind](this, this.stage, ending.signal), kind, ending };
  }

  leaveView() {
    this.view?.ending.abort();
    this.view = null;
    this.leave();
    this.remark("");
    this.stage.replaceChildren();
    this.lead.replaceChildren();
    delete this.host.dataset.lines;
  }

  redraw() {
    if (!this.view || this.stage.hidden) return;
    this.files.renew();
    this.legend.hidden = !["model", "matrix", "neuron"].includes(this.shown.show);
    this.drawKinds(this.shown.roles?.kinds ?? []);
    this.marked.draw();
    this.view.draw(this.shown);
    markNoted(this.host, this.shown, this.noted);
  }

  resized() {
    if (!this.view || this.stage.hidden || !this.host.clientWidth || this.width === this.host.clientWidth) return;
    this.width = this.host.clientWidth;
    this.leave();
    this.view.resize();
  }

  /** Draws the colours and the marks of a view's scale. @param {Pick<Scale, "name" | "ticks">} scale */
  drawLegend({ name, ticks }) {
    const colours = this.ramp.filter((_, i) => i % 15 === 0).map(hexOf);
    elementIn(this.legend, ".bar").style.background = `linear-gradient(to right, ${colours.join(", ")})`;
    elementIn(this.legend, ".scale-name").textContent = name;
    const marks = ticks.map(({ at, text }) => {
      const mark = make("span", { textContent: text, className: at === 0 ? "first" : at === 1 ? "last" : "" });
      mark.style.left = `${100 * at}%`;
      return mark;
    });
    elementIn(this.legend, ".ticks").replaceChildren(...marks);
  }

  /** Draws the legend of the colours of all heads: another layer moves nothing. @param {Kind[]} kinds */
  drawKinds(kinds) {
    const chips = kinds.map(({ name, colour, lines }) => {
      const mark = make("span", { className: "colour", "aria-hidden": "true" });
      mark.style.setProperty("--colour", this.shown.show === "model" ? colour : lines[schemeNow()]);
      return make("span", { className: "chip" }, mark, name);
    });
    this.kinds.hidden = !kinds.length;
    this.kinds.replaceChildren(KINDS_ARE, ...chips);
  }

  // -- remarks and announcements ------------------------------------------------------------------

  /**
   * Shows a remark over the upper edge of the picture, or above it in the room of the longest one: remarks on hover or
   * click move nothing.
   * @param {string} text
   */
  remark(text, longest = "") {
    this.note.dataset.longest = longest;
    if (this.note.textContent !== text) this.note.replaceChildren(make("span", { textContent: text }));
  }

  /** @param {string} text */
  announce(text) {
    this.announcement.textContent = text;
  }

  leave() {
    this.pointer.hide();
  }

  // -- what goes out ------------------------------------------------------------------------------

  /**
   * Shows a choice at once; the page answers with another `sentence`.
   * @param {Partial<ShownSentence>} change @param {Outgoing} event
   */
  choose(change, event) {
    Object.assign(this.shown, change);
    this.redraw();
    this.send(event);
  }

  /**
   * Selects a query and a key, by index; clears them where they are selected.
   * @param {number} query @param {number} key
   */
  choosePair(query, key) {
    const pair = pairOf(this.shown);
    if (pair?.query === query && pair.key === key) return this.clearSelection();
    const [toward] = this.shown.keys[key].positions;
    this.choose({ side: "query", queries: [query], toward: key }, { paired: { query, toward } });
  }

  /** Marks a query and a key, by index, in the next colour, or takes their mark away. @param {TokenPair} pair */
  toggleMark(pair) {
    if (!this.shown.marks || this.shown.show === "neuron") return;
    const marks = toggledMarks(this.shown, pair);
    if (marks) this.showMarks(marks);
    else this.announce("Every colour marks a pair. Remove a mark first.");
  }

  /** @param {MarkedPair[]} marks */
  showMarks(marks) {
    this.choose({ marks }, { marked: { pairs: marks.map(({ positions }) => positions) } });
  }

  clearSelection() {
    if (!this.shown.queries.length && this.shown.toward === null) return;
    this.choose({ side: "query", queries: [], toward: null }, { paired: { query: null, toward: null } });
  }

  /** Follows the page's buttons for the selection. @param {MouseEvent} event */
  act(event) {
    const button = event.target?.closest?.("[data-sentence]");
    if (!button || !this.now) return;
    if (button.dataset.sentence === "clear") this.clearSelection();
    else if (this.shown.queries.length) this.send({ hidden: { positions: selectedPositions(this.shown) } });
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const layer = { "[": -1, "]": 1 }[event.key];
    if (!this.now || isCommand(event) || event.defaultPrevented) return;
    const pair = isLetter(event, "m") ? pairOf(this.shown) : null;
    if (pair) this.toggleMark(pair);
    if (!layer) return;
    event.preventDefault();
    this.send({ stepped: { layer } }); // the link knows where the model ends: the drawn layer may be the one before
  }

  /** @param {Outgoing} event */
  send(event) {
    tellDash(this, event);
  }

  release() {
    this.source.cancel();
    this.leaveView();
    this.listening.abort();
  }
}

/**
 * The chosen heads that exist: a link may name others, and a rollout has one head.
 * @param {SentencePicture} sentence @param {any} data
 */
const within = ({ chosen }, data) => (chosen || []).filter((head) => head < (data?.heads ?? Infinity));

const AWAY = 8;

/** @param {Views} views */
function createTip(views) {
  const tip = views.tip;

  /**
   * Places the tip beside, above or below a rectangle of the window, within the component.
   * @param {(Node | string)[]} content @param {DOMRect} box
   */
  function place(content, box, side = "below") {
    tip.replaceChildren(...content);
    tip.style.display = "block";
    const host = views.host.getBoundingClientRect();
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const middle = box.top + box.height / 2 - height / 2;
    const beside = side === "left" || side === "right";
    const low = box.bottom + AWAY;
    const top = beside ? middle : low + height > window.innerHeight ? box.top - AWAY - height : low;
    const left =
      { left: box.left - AWAY - width, right: box.right + AWAY }[side] ?? box.left + box.width / 2 - width / 2;
    const [most, lowest] = [Math.min(host.right, window.innerWidth) - width, window.innerHeight - height - AWAY];
    const x = Math.max(0, Math.min(most, left) - host.left);
    const y = Math.max(beside ? AWAY : -Infinity, beside ? Math.min(lowest, top) : top) - host.top;
    tip.style.transform = `translate(${x}px, ${y}px)`; // a browser takes another position for a shift of the layout
  }

  const hide = () => (tip.style.display = "none");

  return { place, hide };
}

/** @param {{ id: string, sentence: SentencePicture | null, noted: Marks | null, setProps: SetProps }} given */
export function SentenceViews({ id, sentence, noted, setProps }) {
  const ref = useOnElement(
    (host) => new Views(host, createLoader()),
    (views) => views.update(sentence || null, setProps, noted || null),
  );
  return window.React.createElement("div", { id, ref, hidden: !sentence, className: "sentence-views" });
}

/** @param {string} text */
function codesOf(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Uint16Array(bytes.buffer);
}

/** Follows the colour scheme of the system. */
function followScheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () =>
    document.documentElement.setAttribute("data-mantine-color-scheme", dark.matches ? "dark" : "light");
  follow();
  dark.addEventListener("change", follow);
}

/** @param {HTMLElement} host @param {string} text */
function openSaved(host, text) {
  const { shown, layer } = JSON.parse(text);
  const data = { ...layer, codes: codesOf(layer.codes) };
  const views = new Views(host, { load: async () => ({ data }), cancel: () => {} }, { offline: true });
  views.update(shown, () => {});
}

/** Starts the views in a saved page, which has its weights inside and asks no server. */
export function start() {
  followScheme();
  openSaved(elementOf("sentence"), elementOf("saved").textContent);
}
