// Marks of notes: a count in a corner of each panel whose head has some, and a square round each point whose token has
// some.

/** Pixels of half a square, and the most tokens that are marked. */
const REACH = 7;
const MOST = 500;

/**
 * Whether the counts are of the model and the snapshot that a picture shows.
 * @param {Marks | null} noted @param {Picture | null} picture
 */
const isOf = (noted, picture) => Boolean(noted && picture?.points.startsWith(`${noted.base}/`));

/**
 * How many notes a panel has, by its name.
 * @param {Marks | null} noted @param {Picture | null} picture @param {string} name
 */
export const notesOfPanel = (noted, picture, name) => (isOf(noted, picture) && noted.panels[name]) || 0;

/**
 * How many notes a token of the picture has.
 * @param {{ noted: Marks | null, picture: Picture | null }} given @param {number} token
 */
export const notesOfToken = ({ noted, picture }, token) => (isOf(noted, picture) && noted.tokens[token]) || 0;

/** The tokens of a picture that are marked. @param {{ noted: Marks | null, picture: Picture | null }} given */
export function markedTokens({ noted, picture }) {
  return isOf(noted, picture) ? Object.keys(noted.tokens).slice(0, MOST).map(Number) : [];
}

/** The path of a square round a pixel: no other mark is one. @param {Context} context @param {Pixel} pair */
export function outlineSquare(context, [x, y]) {
  context.beginPath();
  context.moveTo(x - REACH, y - REACH);
  context.lineTo(x + REACH, y - REACH);
  context.lineTo(x + REACH, y + REACH);
  context.lineTo(x - REACH, y + REACH);
  context.closePath();
}
