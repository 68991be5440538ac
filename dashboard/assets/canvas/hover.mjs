// The ring and the card of what is under the pointer or the keyboard: a head in the grid, a point in a single panel,
// or a point in one of two panels with the same tokens; then its token has a ring in the other panel too.
import { panelAt, panelBox } from "./layout.mjs";
import { ending, notesOfPanel, notesOfToken } from "../notes/marks.mjs";
import { make, required, showRing, write } from "../web/elements.mjs";
import { fetchPart, readJson } from "../web/loading.mjs";

const CARD_DELAY_MS = 25;
/** @type {Record<string, string>} */
const PLURALS = { query: "queries", key: "keys" };

/** @param {Panels} panels */
export function createHover(panels) {
  const { ring, tip, announcement } = panels;
  const state = {
    focus: 0,
    point: -1,
    pinned: false,
    hide,
    again,
    avoidLines,
    showPanel,
    showPoint,
    showCluster,
    showAt,
    showInBoth,
  };
  const other = Object.assign(document.createElement("div"), { className: "ring linked" });
  panels.frame.append(other);
  /** Pixel of the same token in the other panel, and the panel and the point with the ring. */
  /** @type {{ pixel: Pixel, of: string } | null} */
  let twin = null;
  /** @type {Pixel} */
  let at = [0, 0];
  let pausing = 0;
  /** @type {AbortController | null} */
  let abort = null;

  /** Shows the ring round a head, and its summary. @param {number} panel */
  function showPanel(panel) {
    state.focus = panel;
    const { name, summary } = panels.picture.panels[panel];
    const [left, top, side] = panelBox(panels.layout, panels.camera, panel);
    const [x0, y0] = [Math.max(0, left), Math.max(0, top)];
    const [x1, y1] = [Math.min(panels.layout.width, left + side), Math.min(panels.layout.height, top + side)];
    if (x1 <= x0 || y1 <= y0) return hide();
    showRing(ring, x0, y0, x1 - x0, y1 - y0);
    const about = ` ${summary}${ending(notesOfPanel(panels.noted, panels.picture, name))}`;
    tip.replaceChildren(make("strong", { textContent: name }), about);
    write(announcement, name + about);
    placeTip((x0 + x1) / 2, y1 + 8, y1 - y0 + 8);
  }

  /** Shows the number of a cluster's points below its name. @param {DrawnName} name */
  function showCluster({ name, role, points, of, left, top, width, height }) {
    hide();
    const text = ` ${points.toLocaleString("en")} of ${of.toLocaleString("en")} ${PLURALS[panels.roles[role]]}`;
    tip.replaceChildren(make("strong", { textContent: name }), text);
    placeTip(left + width / 2, top + height + 6, height + 6);
  }

  /** @param {number} point */
  function showPoint(point) {
    if (point === state.point && (point >= 0 || tip.style.display !== "block")) return;
    hide();
    state.point = point;
    if (point < 0 || !panels.picture.card) return;
    around(point, panels.search.pixelOf(0, point), panels.picture.card);
  }

  /**
   * Shows a ring round a point at a pixel, and its card; the card's URL begins with `card`.
   * @param {number} point @param {Pixel} pixel @param {string} card
   */
  function around(point, [px, py], card) {
    state.point = point;
    showRing(ring, px - 8, py - 8, 16, 16);
    pausing = setTimeout(() => fetchCard(point, px, py, card), CARD_DELAY_MS);
  }

  /**
   * Shows and returns the point under a pixel of the frame of two panels, -1 for none.
   * @param {number} px @param {number} py
   */
  function showAt(px, py) {
    if (!panels.search.areThere()) return -1;
    const panel = panelAt(panels.layout, panels.camera, px, py);
    const point = panel < 0 ? -1 : panels.search.nearest(panel, px, py);
    if (twin?.of !== `${panel} ${point}`) showInBoth(panel, point);
    return point;
  }

  /**
   * Shows a point with its card, and the same token's point in the other panel.
   * @param {number} panel @param {number} point
   */
  function showInBoth(panel, point) {
    hide();
    if (point < 0) return;
    const pixel = panels.search.pixelOf(1 - panel, point);
    twin = { pixel, of: `${panel} ${point}` };
    showRing(other, pixel[0] - 8, pixel[1] - 8, 16, 16);
    around(
      point,
      panels.search.pixelOf(panel, point),
      required(panels.picture.cards, "the cards of two panels")[panel],
    );
  }

  /** @param {number} point @param {number} px @param {number} py @param {string} url */
  async function fetchCard(point, px, py, url) {
    abort = new AbortController();
    const { token, role } = panels.named(point);
    try {
      const card = await readJson(await fetchPart(`${url}${role}/${token}.json`, { signal: abort.signal }));
      if (state.point !== point) return;
      const notes = notesOfToken(panels, token);
      tip.replaceChildren(drawCard(card, notes));
      const place = `position ${card.position} in sentence ${card.sentence}`;
      write(announcement, `${card.role} “${card.wordpiece}”, ${place}${ending(notes, ", ")}`);
      placeCard(px, py);
    } catch (error) {
      if (error.name !== "AbortError") panels.problem.textContent = error.message;
    }
  }

  /**
   * Places the tip below a head; where there is no room, further left or above.
   * @param {number} px @param {number} py @param {number} above
   */
  function placeTip(px, py, above) {
    tip.style.display = "block";
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const box = panels.frame.getBoundingClientRect();
    const most = Math.min(panels.frame.clientWidth, window.innerWidth - box.left) - width;
    const over = py - height - above - 12;
    const high = box.top + py + height > window.innerHeight && over > -box.top;
    tip.style.left = `${Math.max(0, Math.min(most, px - width / 2))}px`;
    tip.style.top = `${high ? over : py}px`;
  }

  /**
   * Places a point's card in the visible part of the frame: above the frame are controls.
   * @param {number} px @param {number} py
   */
  function placeCard(px, py) {
    tip.style.display = "block";
    at = [px, py];
    const box = panels.frame.getBoundingClientRect();
    const room = {
      left: Math.max(0, -box.left),
      top: Math.max(0, -box.top),
      right: Math.min(box.width, window.innerWidth - box.left),
      bottom: Math.min(box.height, window.innerHeight - box.top),
    };
    const [left, top] = cardPlace(at, [tip.offsetWidth, tip.offsetHeight], room, [
      ...panels.layer.lines(),
      ...(twin ? [[...twin.pixel, ...twin.pixel, TWIN_COST]] : []),
    ]);
    Object.assign(tip.style, { left: `${left}px`, top: `${top}px` });
  }

  /** Places the card again once lines have come. */
  function avoidLines() {
    if (state.point >= 0 && tip.style.display === "block") placeCard(...at);
  }

  /** After a change of size: puts the ring round the same head, or the point that the keyboard is on. */
  function again() {
    const { focus, point, pinned } = state;
    const { keyboard } = panels;
    if (ring.style.display !== "block") return;
    hide();
    if (point < 0) showPanel(focus);
    else if (pinned && panels.single) showPoint(point);
    else if (pinned) showInBoth(focus, point);
    state.pinned = pinned;
    panels.keyboard = keyboard;
  }

  /** Hides ring and card; then the keyboard is on no point, and the pointer shows cards again. */
  function hide() {
    clearTimeout(pausing);
    abort?.abort();
    state.point = -1;
    state.pinned = panels.keyboard = false;
    twin = null;
    ring.style.display = tip.style.display = other.style.display = "none";
  }

  return state;
}

/**
 * Wordpieces on each side of the point in a card; the text of a wordpiece that begins a word starts with a space.
 * The card is text only, never HTML.
 */
const AROUND = 24;

/** @param {keyof HTMLElementTagNameMap} name @param {string} className @param {...(Node | string)} children */
const element = (name, className, ...children) => make(name, { className }, ...children);

/** @param {Card} card */
function sentence(card) {
  const first = Math.max(0, card.position - AROUND);
  const last = Math.min(card.texts.length, card.position + AROUND + 1);
  const pieces = card.texts.slice(first, last).map((piece, i) => {
    const joined = i ? piece : piece.trimStart();
    return first + i === card.position ? element("mark", card.role, joined) : joined;
  });
  return element("p", "sentence", first ? "… " : "", ...pieces, last < card.texts.length ? " …" : "");
}

/** @param {Card} card */
function partners(card) {
  const rows = (card.partners ?? []).map((partner) =>
    element(
      "tr",
      "",
      element("td", "", element("bdi", "", partner.wordpiece)),
      element("td", "number", `at ${partner.position}`),
      element("td", "number", (100 * partner.weight).toFixed(1) + "%"),
    ),
  );
  const title = card.role === "query" ? "as a query it attends to" : "as a key it is attended to by";
  return [element("h3", "", title), element("table", "", element("tbody", "", ...rows))];
}

/** @param {Card} card */
function placeOf({ where, role, position, wordpieces, sentence: number, label }) {
  const end = label ? `, ${label}` : "";
  return where || `${role}, position ${position} of ${wordpieces.length} in sentence ${number}${end}`;
}

/**
 * Received attention, entropy and attention partners of a point; empty for features.
 * @param {Card} card
 */
function attention(card) {
  if (!card.partners) return [];
  const received = `receives ${card.received.toFixed(2)} times its even share`;
  const entropy = `attention entropy ${card.entropy.toFixed(2)} nats`;
  return [element("p", "where", `${received}, ${entropy}`), ...partners(card)];
}

/** The DOM of a card. @param {Card} card @param {number} notes */
function drawCard(card, notes) {
  const title = element("h2", card.role, element("bdi", "", card.wordpiece));
  const place = element("p", "where", placeOf(card) + ending(notes, ", "));
  return element("div", "", title, place, sentence(card), ...attention(card));
}

/** Pixels between the card and its point, and between the card and the border of its room. */
const APART = 14;
const MARGIN = 6;
/** Cost of covering the point: more than all lines together. */
const POINT_COST = 1e6;
/** Importance of the same token in the other panel: more than that of a line. */
const TWIN_COST = 1e4;

/**
 * Upper left corners for a card, the preferred first: below, above and beside the point, then in the corners of the
 * room.
 * @param {number[]} first @param {number[]} second @param {Room} room
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
 * Whether a line from [x0, y0] to [x1, y1] meets a rectangle (Liang and Barsky 1984: the part of the line
 * within each border).
 * @param {number[]} pair @param {number} left @param {number} top @param {number} right @param {number} bottom
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

/**
 * Summed importance of the point and lines that a card covers: `lines` are [x0, y0, x1, y1, importance].
 * @param {number[]} first @param {number[]} second @param {number[]} third @param {number[][]} lines
 */
function covered([left, top], [width, height], [x, y], lines) {
  /** @type {Box} */
  const borders = [left - MARGIN, top - MARGIN, left + width + MARGIN, top + height + MARGIN];
  const point = meets([x, y, x, y], ...borders) ? POINT_COST : 0;
  return lines.reduce((sum, line) => sum + (meets(line, ...borders) ? line[4] : 0), point);
}

/**
 * The upper left corner of a card of a point, within its room.
 * @param {number[]} point @param {number[]} size @param {Room} room @param {number[][]} lines
 */
export function cardPlace(point, size, room, lines) {
  /** @param {number[]} pair */
  const within = ([left, top]) => [
    Math.max(room.left, Math.min(left, room.right - size[0])),
    Math.max(room.top, Math.min(top, room.bottom - size[1])),
  ];
  const every = candidates(point, size, room).map(within);
  const costs = every.map((place) => covered(place, size, point, lines));
  return every[costs.indexOf(Math.min(...costs))];
}
