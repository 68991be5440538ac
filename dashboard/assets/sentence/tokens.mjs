// The tokens of a sentence as buttons: Tab reaches one, arrow keys the others; and the rows where they stand.
import { ending } from "../notes/words.mjs";
import { make } from "../web/elements.mjs";

/** @param {Unit} unit @param {number} i @param {Side} side @param {Unit[]} units */
function token(unit, i, side, units) {
  const classes = [
    "token",
    unit.special && "special",
    unit.segment === 1 && "second",
    beginsSegment(units, i) && "begins",
  ];
  const button = make("button", {
    type: "button",
    className: classes.filter(Boolean).join(" "),
    dir: "auto",
    textContent: unit.name,
  });
  for (const [name, value] of Object.entries({
    "data-unit": i,
    "aria-label": `${unit.name}, ${side} ${i}${unit.segment ? ", sentence B" : ""}`,
  }))
    button.setAttribute(name, String(value));
  return button;
}

/** @param {Side} side @param {string} name */
export function createTokens(side, name) {
  const list = make("div", { className: `tokens ${side}`, role: "group", "aria-label": name, "data-side": side });
  let shownText = "";
  /** @type {Unit[]} */
  let units = [];

  /** Keeps the elements where the tokens are the same, and with them the focus. @param {Unit[]} tokens */
  function renew(tokens) {
    const text = JSON.stringify(tokens);
    if (text === shownText) return;
    [shownText, units] = [text, tokens];
    list.replaceChildren(...units.map((unit, i) => token(unit, i, side, units)));
    stand(0);
  }

  /** @param {number[]} selected */
  function mark(selected) {
    [...list.children].forEach((button, i) => button.setAttribute("aria-pressed", String(selected.includes(i))));
  }

  /** Makes this token the one that Tab reaches. @param {number} i */
  function stand(i) {
    list.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    /** @type {HTMLElement[]} */ ([...list.children]).forEach((button, at) => (button.tabIndex = at === i ? 0 : -1));
  }

  /** @param {number} i */
  function focus(i) {
    const at = Math.max(0, Math.min(units.length - 1, i));
    stand(at);
    /** @type {HTMLElement} */ (list.children[at])?.focus();
  }

  /** @param {Event} event */
  const unitOf = (event) => Number(event.target.closest?.(".token")?.dataset.unit ?? -1);

  return {
    list,
    side,
    renew,
    mark,
    stand,
    focus,
    unitOf,
    get units() {
      return units;
    },
  };
}

/**
 * Marks the tokens of a sentence that have notes: `noted` is of the page, and counts them by position.
 * @param {HTMLElement} host @param {ShownSentence} shown @param {Marks | null} noted
 */
export function markNoted(host, { units, keys, layer_url: url }, noted) {
  const counts = noted && url.startsWith(`${noted.base}/`) ? noted.positions : {};
  for (const button of host.querySelectorAll(".tokens .token")) {
    const { side } = button.parentElement.dataset;
    const unit = (side === "key" ? keys : units)[Number(button.dataset.unit)];
    const count = (unit?.positions ?? []).reduce((sum, position) => sum + (counts[position] ?? 0), 0);
    button.classList.toggle("noted", count > 0);
    button.setAttribute(
      "aria-label",
      button.getAttribute("aria-label").replace(/, \d[\d,]* notes?$/, "") + ending(count, ", "),
    );
  }
}

/**
 * The selection after a click on a token: that token alone, or with `more` added or removed; [] for none.
 * @param {number[]} selected @param {number} unit @param {boolean} more
 */
export function selectToken(selected, unit, more) {
  if (more)
    return selected.includes(unit)
      ? selected.filter((other) => other !== unit)
      : [...selected, unit].sort((a, b) => a - b);
  return selected.length === 1 && selected[0] === unit ? [] : [unit];
}

/**
 * The selected query and key of what is shown, {query, key}, by index; null without both.
 * @param {Pick<SentencePicture, "side" | "queries" | "toward">} sentence
 */
export function pairOf({ side, queries, toward }) {
  const isPair = (side || "query") === "query" && queries.length === 1 && Number.isInteger(toward);
  return isPair ? { query: queries[0], key: toward } : null;
}

/**
 * Positions of all wordpieces of the selected tokens.
 * @param {Pick<SentencePicture, "side" | "queries" | "units" | "keys">} sentence
 */
export const selectedPositions = ({ side, queries, units, keys }) =>
  queries.flatMap((i) => (side === "key" ? keys : units)[i].positions);

export const ROW_HEIGHT = 24;
const ROW_GAP = 16;

/** @param {Unit[]} units @param {number} i */
const beginsSegment = (units, i) => i > 0 && units[i].segment !== units[i - 1].segment;

/** Upper edges of all units and the lower edge of the last: (unit + 1,) pixels. @param {Unit[]} units */
export function rowTops(units) {
  let y = 0;
  const edges = units.map((_, i) => (y += (i ? ROW_HEIGHT : 0) + (beginsSegment(units, i) ? ROW_GAP : 0)));
  return [...edges, units.length ? y + ROW_HEIGHT : 0];
}
