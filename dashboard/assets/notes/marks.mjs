// Marks of notes: a count in a corner of each panel whose head has some, a square round each point whose token has
// some, a mark on each such token of a sentence; and how many notes there are, in words.

/** "1 note", "2 notes". @param {number} count */
export const counted = (count) => `${count.toLocaleString("en")} ${count === 1 ? "note" : "notes"}`;

/** The end of a description: "; 2 notes", or nothing. @param {number} count */
export const ending = (count, mark = "; ") => (count ? mark + counted(count) : "");

/** Pixels of half a square, and the most tokens that are marked. */
const REACH = 7;
const MOST_MARKED = 500;

/**
 * The counts, if they belong to the model and snapshot of a picture; else null.
 * @param {Marks | null} noted @param {Picture | null} picture
 */
const countsOf = (noted, picture) => (noted && picture?.points.startsWith(`${noted.base}/`) ? noted : null);

/**
 * How many notes a panel has, by its name.
 * @param {Marks | null} noted @param {Picture | null} picture @param {string} name
 */
export const notesOfPanel = (noted, picture, name) => countsOf(noted, picture)?.panels[name] || 0;

/**
 * How many notes a token of the picture has.
 * @param {{ noted: Marks | null, picture: Picture | null }} given @param {number} token
 */
export const notesOfToken = ({ noted, picture }, token) => countsOf(noted, picture)?.tokens[token] || 0;

/** The tokens of a picture that are marked. @param {{ noted: Marks | null, picture: Picture | null }} given */
export function markedTokens({ noted, picture }) {
  const counts = countsOf(noted, picture);
  return counts ? Object.keys(counts.tokens).slice(0, MOST_MARKED).map(Number) : [];
}

/** The path of a square round a pixel: no other mark is square. @param {Context} context @param {Pixel} pair */
export function outlineSquare(context, [x, y]) {
  context.beginPath();
  context.moveTo(x - REACH, y - REACH);
  context.lineTo(x + REACH, y - REACH);
  context.lineTo(x + REACH, y + REACH);
  context.lineTo(x - REACH, y + REACH);
  context.closePath();
}

/**
 * Marks the tokens of a sentence that have notes: `noted` counts the page's notes by position.
 * @param {HTMLElement} host @param {ShownSentence} shown @param {Marks | null} noted
 */
export function markNoted(host, { units, keys, layer_url: url }, noted) {
  const counts = noted && url.startsWith(`${noted.base}/`) ? noted.positions : {};
  for (const button of host.querySelectorAll(".tokens .token")) {
    const side = button.parentElement?.dataset.side;
    const unit = (side === "key" ? keys : units)[Number(button.dataset.unit)];
    const count = (unit?.positions ?? []).reduce((sum, position) => sum + (counts[position] ?? 0), 0);
    button.classList.toggle("noted", count > 0);
    button.setAttribute(
      "aria-label",
      (button.getAttribute("aria-label") ?? "").replace(/, \d[\d,]* notes?$/, "") + ending(count, ", "),
    );
  }
}
