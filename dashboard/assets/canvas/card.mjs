// The hover card of a point: its token in its sentence, its attention, and where the card is placed. Text only, never
// HTML.

const AROUND = 24;

function element(name, className, ...children) {
  const created = document.createElement(name);
  if (className) created.className = className;
  created.append(...children);
  return created;
}

function sentence(card) {
  const first = Math.max(0, card.position - AROUND);
  const last = Math.min(card.wordpieces.length, card.position + AROUND + 1);
  const pieces = card.wordpieces.slice(first, last).map((piece, i) => {
    const joined = piece.startsWith("##") ? piece.slice(2) : (i ? " " : "") + piece;
    return first + i === card.position ? element("mark", card.role, joined) : joined;
  });
  return element("p", "sentence", first ? "… " : "", ...pieces, last < card.wordpieces.length ? " …" : "");
}

function partners(card) {
  const rows = card.partners.map((partner) =>
    element(
      "tr",
      "",
      element("td", "", partner.wordpiece),
      element("td", "number", `at ${partner.position}`),
      element("td", "number", (100 * partner.weight).toFixed(1) + " %"),
    ),
  );
  const title = card.role === "query" ? "as a query it attends to" : "as a key it is attended to by";
  return [element("h3", "", title), element("table", "", element("tbody", "", ...rows))];
}

function placeOf({ where, role, position, wordpieces, sentence: number, label }) {
  const end = label ? `, ${label}` : "";
  return where || `${role}, position ${position} of ${wordpieces.length} in sentence ${number}${end}`;
}

/** Attention received and entropy of the point, and with whom it exchanges attention; features have neither. */
function attention(card) {
  if (!card.partners) return [];
  const received = `attention received ${card.received.toFixed(2)} (uniform: 1)`;
  const entropy = `entropy given ${card.entropy.toFixed(2)} nats`;
  return [element("p", "where", `${received}, ${entropy}`), ...partners(card)];
}

/** The DOM of a card. */
export function drawCard(card) {
  const title = element("h2", card.role, card.wordpiece);
  return element("div", "", title, element("p", "where", placeOf(card)), sentence(card), ...attention(card));
}

/** Pixels between the card and its point, and between the card and the border of its room. */
const APART = 14;
const MARGIN = 6;
/** Cost of covering the point: more than all lines together. */
const POINT = 1e6;

/**
 * Upper left corners, the best first where they cover as much: below, above and beside the point, then the corners of
 * the room.
 */
function candidates([x, y], [width, height], { left, top, right, bottom }) {
  const [near, far] = [left + MARGIN, right - width - MARGIN];
  const [high, low] = [top + MARGIN, bottom - height - MARGIN];
  const corners = [
    [far, high],
    [near, high],
    [far, low],
    [near, low],
  ];
  return [
    [x, y + APART],
    [x - width, y + APART],
    [x, y - height - APART],
    [x - width, y - height - APART],
    [x + APART, y - height / 2],
    [x - width - APART, y - height / 2],
    ...corners,
  ];
}

/**
 * Whether a line from [x0, y0] to [x1, y1] meets a rectangle (Liang and Barsky 1984: the part of it within each
 * border).
 */
function meets([x0, y0, x1, y1], left, top, right, bottom) {
  let [from, to] = [0, 1];
  for (const [step, room] of [
    [x0 - x1, x0 - left],
    [x1 - x0, right - x0],
    [y0 - y1, y0 - top],
    [y1 - y0, bottom - y0],
  ]) {
    if (step === 0 && room < 0) return false;
    if (step < 0) from = Math.max(from, room / step);
    if (step > 0) to = Math.min(to, room / step);
  }
  return from <= to;
}

/** The importance of what a card would cover: `lines` are [x0, y0, x1, y1, importance]. */
function covered([left, top], [width, height], [x, y], lines) {
  const borders = [left - MARGIN, top - MARGIN, left + width + MARGIN, top + height + MARGIN];
  const point = meets([x, y, x, y], ...borders) ? POINT : 0;
  return lines.reduce((sum, line) => sum + (meets(line, ...borders) ? line[4] : 0), point);
}

/** The upper left corner of a card of a point, within its room. */
export function cardPlace(point, size, room, lines) {
  const within = ([left, top]) => [
    Math.max(room.left, Math.min(left, room.right - size[0])),
    Math.max(room.top, Math.min(top, room.bottom - size[1])),
  ];
  const every = candidates(point, size, room).map(within);
  const costs = every.map((one) => covered(one, size, point, lines));
  return every[costs.indexOf(Math.min(...costs))];
}
