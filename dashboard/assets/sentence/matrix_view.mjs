// The matrix view: one head as a heat map, rows are queries; the pointer or the arrow keys show a weight.
import { NO_TOKEN, beginsSegment, pairOf } from "./choice.mjs";
import { BADGE, badgeShapes, inkOn, shownMarks } from "./pair_marks.mjs";
import { measureText, showPicture, titleShape, titledWidth } from "./picture.mjs";
import { createScale, exactWeight, headCodes, legendShapes, shadesOf, signedCodes, weightAt } from "./weights.mjs";
import { hexOf } from "../web/drawing.mjs";
import { make, showRing } from "../web/elements.mjs";
import { arrowOf, isLetter, stepInGrid } from "../web/keyboard.mjs";

/** @param {Views} views @param {HTMLElement} stage @param {AbortSignal} signal */
export function createMatrixView(views, stage, signal) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const ring = make("div", { className: "ring" });
  const frame = make("div", { className: "frame matrix-view", tabIndex: 0, role: "application" }, canvas, ring);
  /** @type {MatrixPlace} */
  let place = { cell: 1, left: 0, top: 0, width: 0, height: 0 };
  /** @type {[number, number]} */
  let stood = [0, 0];

  stage.append(frame);

  /** What is shown, with the codes of the head or the difference, and their scale. */
  function shown() {
    const { data, scale, signed } = views.shown;
    const codes = signed ? signedCodes(data) : headCodes(data, headThere());
    const kind = signed ? "signed" : scale;
    return { ...views.shown, codes, scale: createScale({ kind, show: "matrix", most: data.most, codes }) };
  }

  /** @param {number} query @param {number} key */
  function weightOf(query, key) {
    const { data, signed } = views.shown;
    if (!signed) return exactWeight(weightAt(data, headThere(), query, key), data.most);
    const difference = weightAt(data, 0, query, key) - weightAt(data, 1, query, key);
    return `${exactWeight(Math.abs(difference), data.most)} ${views.nameOf(difference < 0 ? 1 : 0)}`;
  }

  /** The shown head: a rollout has only one. */
  const headThere = () => Math.min(views.shown.head || 0, views.shown.data.heads - 1);

  function draw() {
    frame.setAttribute(
      "aria-label",
      `${views.shown.title}. Rows are queries, columns are keys; arrow keys say their weights.`,
    );
    const { units, keys } = views.shown;
    stood = [Math.min(stood[0], Math.max(0, units.length - 1)), Math.min(stood[1], Math.max(0, keys.length - 1))];
    paint();
    views.remark(units.length && keys.length ? "" : NO_TOKEN);
  }

  function paint() {
    const { units, keys } = views.shown;
    const now = shown();
    place = matrixLayout(units, keys, views.host.clientWidth);
    showPicture(canvas, matrixPicture(now, place, views.palette, views.ramp), window.devicePixelRatio || 1);
    views.drawLegend(now.scale);
    frame.dataset.cell = String(place.cell);
  }

  /** @param {[number, number] | null} position */
  function point(position) {
    const { units, keys } = views.shown;
    if (!position || !units.length || !keys.length) return leave();
    const [query, key] = (stood = position);
    const [left, top] = [place.left + key * place.cell, place.top + query * place.cell];
    showRing(ring, left - 2, top - 2, place.cell + 4, place.cell + 4);
    const weight = weightOf(query, key);
    const names = [units[query].name, keys[key].name].map((name) => make("bdi", { textContent: name }));
    views.pointer.place(
      [
        make("p", { className: "what" }, names[0], " → ", names[1]),
        make("p", { className: "sum", textContent: weight }),
      ],
      ring.getBoundingClientRect(),
    );
    views.announce(`query ${units[query].name}, key ${keys[key].name}, weight ${weight}`);
  }

  function leave() {
    ring.style.display = "none";
    views.leave();
  }

  /** @param {MouseEvent} event @returns {[number, number] | null} */
  function under(event) {
    const [query, key] = [
      Math.floor((event.offsetY - place.top) / place.cell),
      Math.floor((event.offsetX - place.left) / place.cell),
    ];
    const { units, keys } = views.shown;
    return query >= 0 && key >= 0 && query < units.length && key < keys.length ? [query, key] : null;
  }

  /** @param {MouseEvent} event */
  function click(event) {
    const cell = under(event);
    if (!cell) return;
    if (event.shiftKey) views.toggleMark({ query: cell[0], key: cell[1] });
    else views.choosePair(...cell);
  }

  /** @param {Unit | undefined} unit */
  function hide(unit) {
    if (!unit) return;
    leave();
    views.send({ hidden: { positions: unit.positions } });
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    if (isLetter(event, "h")) return (event.preventDefault(), hide(views.shown.units[stood[0]]));
    if (isLetter(event, "m")) return (event.preventDefault(), views.toggleMark({ query: stood[0], key: stood[1] }));
    const step = arrowOf(event);
    if (event.key === "Escape") return (leave(), views.clearSelection());
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    if (!step) return views.choosePair(...stood);
    const { units, keys } = views.shown;
    point(stepInGrid(stood, step, [units.length, keys.length]));
    ring.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  canvas.addEventListener("pointermove", (event) => point(under(event)), { signal });
  canvas.addEventListener("pointerleave", leave, { signal });
  canvas.addEventListener("click", click, { signal });
  canvas.addEventListener("dblclick", ({ offsetX, offsetY }) => hide(namedAt(views.shown, place, offsetX, offsetY)), {
    signal,
  });
  frame.addEventListener("keydown", press, { signal });
  frame.addEventListener("focus", () => frame.matches(":focus-visible") && point(stood), { signal });
  frame.addEventListener("blur", leave, { signal });
  return { draw, resize: paint, picture: () => titledMatrix(shown(), place, views.palette, views.ramp) };
}

const NUMBERS = 34;
const CELL = { least: 3, most: 38 };
const NAME = 12;
const LONGEST = 130;
/** Least width of a saved picture, for its legend. */
const LEGEND = 340;
const TURN = -50;
/** Pixels from a name to its row or column, and pixels that each name needs. */
const [BESIDE, APART] = [8, 13];

/** Number of names of which one is drawn: 1 in large cells. @param {number} cell */
const drawnEvery = (cell) => Math.ceil(APART / cell);

/**
 * The token whose name is drawn under a pixel: of a row on the left, of a column above, on its slant.
 * @param {{ units: Unit[], keys: Unit[] }} shown @param {MatrixPlace} place @param {number} x @param {number} y
 * @returns {Unit | undefined}
 */
export function namedAt({ units, keys }, { cell, left, top }, x, y) {
  const every = drawnEvery(cell);
  /** @param {number} pixels */
  const nearest = (pixels) => every * Math.round((pixels / cell - 0.5) / every);
  if (x < left) return units[nearest(y - top)];
  const below = (top - BESIDE - y) / Math.tan((-TURN * Math.PI) / 180);
  return y < top ? keys[nearest(x - below - left)] : undefined;
}

/** @param {Unit[]} units */
const widest = (units) => Math.min(LONGEST, Math.max(20, ...units.map(({ name }) => measureText(name, NAME))));

/** @param {string} name */
function cut(name) {
  if (measureText(name, NAME) <= LONGEST) return name;
  const letters = [...name];
  while (letters.length && measureText(letters.join("") + "…", NAME) > LONGEST) letters.pop();
  return letters.join("") + "…";
}

/**
 * {cell, left, top, width, height}: where the cells are, in pixels; the rest is for the names.
 * @param {Unit[]} units @param {Unit[]} keys @param {number} room
 */
export function matrixLayout(units, keys, room) {
  const left = widest(units) + 8;
  const lean = widest(keys) * Math.cos((TURN * Math.PI) / 180) + 8;
  const top = Math.ceil(widest(keys) * Math.sin((-TURN * Math.PI) / 180) + 20);
  const cell = Math.max(CELL.least, Math.min(CELL.most, Math.floor((room - left - lean) / (keys.length || 1))));
  const below = [...units, ...keys].some(({ segment }) => segment) ? SENTENCES : 4;
  return { cell, left, top, width: left + cell * keys.length + lean, height: top + cell * units.length + below };
}

/**
 * Boxes of cells: one for a run of one colour.
 * @param {ShownMatrix} shown @param {Uint8Array} shades @param {MatrixPlace} place @param {string[]} ramp
 * @returns {Shape[]}
 */
function cellShapes({ data }, shades, { cell, left, top }, ramp) {
  /** @type {Shape[]} */
  const shapes = [];
  for (let query = 0; query < data.queries; query++) {
    const row = shades.subarray(query * data.keys, (query + 1) * data.keys);
    for (let from = 0, to = 0; from < data.keys; from = to) {
      const colour = row[from];
      while (to < data.keys && row[to] === colour) to++;
      shapes.push({ box: [left + from * cell, top + query * cell, (to - from) * cell, cell], colour: ramp[colour] });
    }
  }
  return shapes;
}

/**
 * A weight or a difference with two decimals, without a zero before them; what rounds to 0 has no minus.
 * @param {number} weight
 */
export const writtenWeight = (weight) =>
  weight
    .toFixed(2)
    .replace(/^-(?=0\.00$)/, "")
    .replace(/^(-?)0/, "$1")
    .replace("-", "−");

/**
 * @param {ShownMatrix} shown @param {Uint8Array} shades @param {MatrixPlace} place @param {Colour[]} ramp
 * @returns {Shape[]}
 */
function numberShapes({ data, codes, scale }, shades, { cell, left, top }, ramp) {
  if (cell <= NUMBERS) return [];
  return Array.from(codes, (code, i) => {
    const [query, key] = [Math.floor(i / data.keys), i % data.keys];
    const ground = ramp[shades[i]];
    return {
      text: writtenWeight(code * scale.unit),
      at: [left + (key + 0.5) * cell, top + (query + 0.5) * cell],
      colour: inkOn(ground),
      size: 11,
      align: "middle",
    };
  });
}

/**
 * @param {ShownMatrix} shown @param {MatrixPlace} place @param {string} ink @param {TokenPair | null} pair
 * @returns {Shape[]}
 */
function nameShapes({ units, keys }, { cell, left, top }, ink, pair) {
  const every = drawnEvery(cell);
  /** @param {number} i @param {Side} side */
  const weight = (i, side) => (pair?.[side] === i ? 700 : 400);
  /** @param {Unit} unit @param {number} i */
  const row = (unit, i) => ({
    text: cut(unit.name),
    at: [left - BESIDE, top + (i + 0.5) * cell],
    colour: ink,
    size: NAME,
    align: "end",
    weight: weight(i, "query"),
  });
  /** @param {Unit} unit @param {number} i */
  const column = (unit, i) => ({
    text: cut(unit.name),
    at: [left + (i + 0.5) * cell, top - BESIDE],
    colour: ink,
    size: NAME,
    turn: TURN,
    weight: weight(i, "key"),
  });
  /** @param {unknown} _ @param {number} i */
  const some = (_, i) => i % every === 0;
  return [...units.map(row).filter(some), ...keys.map(column).filter(some)];
}

/**
 * A frame of lines, `outside` pixels around a cell.
 * @param {number[]} pair @param {number} outside @param {string} colour
 * @returns {Shape[]}
 */
function frameShapes([x, y, side], outside, colour) {
  const [left, top, right, bottom] = [x - outside, y - outside, x + side + outside, y + side + outside];
  /** @type {Box[]} */
  const sides = [
    [left - 1, top, right + 1, top],
    [left - 1, bottom, right + 1, bottom],
    [left, top, left, bottom],
    [right, top, right, bottom],
  ];
  return sides.map((line) => ({ line, colour, opacity: 1, width: 2 }));
}

/**
 * The cell of the selected pair in two frames, one of which stands out from any colour.
 * @param {TokenPair | null} pair @param {MatrixPlace} place @param {Palette} palette
 * @returns {Shape[]}
 */
function pairShapes(pair, { cell, left, top }, { ink, background }) {
  if (!pair) return [];
  const place = [left + pair.key * cell, top + pair.query * cell, cell];
  return [...frameShapes(place, 1, background), ...frameShapes(place, 3, ink)];
}

/**
 * The cells of the marked pairs, each in a frame of its colour with its number at a corner.
 * @param {ShownMatrix} shown @param {MatrixPlace} place @param {string} ground
 * @returns {Shape[]}
 */
const markShapes = (shown, { cell, left, top }, ground) =>
  shownMarks(shown).flatMap((mark) => {
    const [x, y] = [left + mark.key * cell, top + mark.query * cell];
    const frames = [...frameShapes([x, y, cell], -1, mark.colour), ...frameShapes([x, y, cell], 1, ground)];
    return [...frames, ...badgeShapes(mark, [x + cell - BADGE / 2 + 2, y + BADGE / 2 - 2])];
  });

/** Pixels at the right and below for the names of two sentences. */
const SENTENCES = 16;

/**
 * The line between a pair of sentences and their names, to the right of the rows and below the columns.
 * @param {ShownMatrix} shown @param {MatrixPlace} place @param {string} ink
 * @returns {Shape[]}
 */
function sentenceShapes({ is_pair, units, keys }, { cell, left, top }, ink) {
  if (!is_pair) return [];
  const [right, bottom] = [left + cell * keys.length, top + cell * units.length];
  const [ofRows, ofColumns] = [units, keys].map(partsOf);
  /** @param {{ segment: number, from: number, to: number }} part */
  const name = ({ segment, from, to }) =>
    ((to - from) * cell < LONG_NAME ? "AB" : ["Sentence A", "Sentence B"])[segment];
  /** @param {{ segment: number, from: number, to: number }} part @returns {Shape} */
  const row = (part) => {
    const at = [right + SENTENCES / 2, top + ((part.from + part.to) / 2) * cell];
    return { text: name(part), at, colour: ink, size: 11, align: "middle", turn: 90 };
  };
  /** @param {{ segment: number, from: number, to: number }} part @returns {Shape} */
  const column = (part) => {
    const at = [left + ((part.from + part.to) / 2) * cell, bottom + SENTENCES / 2];
    return { text: name(part), at, colour: ink, size: 11, align: "middle" };
  };
  /** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @returns {Shape} */
  const line = (x1, y1, x2, y2) => ({ line: [x1, y1, x2, y2], colour: ink, opacity: 1, width: 1 });
  return [
    ...ofRows.map(row),
    ...ofColumns.map(column),
    ...ofRows.slice(1).map(({ from }) => line(left, top + from * cell, right, top + from * cell)),
    ...ofColumns.slice(1).map(({ from }) => line(left + from * cell, top, left + from * cell, bottom)),
  ];
}

/** Pixels that the whole name of a sentence takes. */
const LONG_NAME = 64;

/** Runs of units of one sentence: the sentence, first unit and end. @param {Unit[]} units */
function partsOf(units) {
  const starts = units.flatMap((_, i) => (i === 0 || beginsSegment(units, i) ? [i] : []));
  return starts.map((from, i) => ({ segment: units[from].segment, from, to: starts[i + 1] ?? units.length }));
}

/**
 * Shapes of a head's picture.
 * @param {ShownMatrix} shown @param {MatrixPlace} place @param {Palette} palette @param {Colour[]} ramp
 */
function shapesOf(shown, place, palette, ramp) {
  const [shades, pair] = [shadesOf(shown.codes, shown.data.keys, shown.scale), pairOf(shown)];
  return [
    ...cellShapes(shown, shades, place, ramp.map(hexOf)),
    ...numberShapes(shown, shades, place, ramp),
    ...nameShapes(shown, place, palette.ink, pair),
    ...sentenceShapes(shown, place, palette.ink),
    ...markShapes(shown, place, palette.background),
    ...pairShapes(pair, place, palette),
  ];
}

/** @param {ShownMatrix} shown @param {MatrixPlace} place @param {Palette} palette @param {Colour[]} ramp */
function matrixPicture(shown, place, palette, ramp) {
  return {
    width: place.width,
    height: place.height,
    ground: palette.background,
    title: shown.title,
    shapes: shapesOf(shown, place, palette, ramp),
  };
}

/** @param {ShownMatrix} shown @param {MatrixPlace} place @param {Palette} palette @param {Colour[]} ramp */
function titledMatrix(shown, place, palette, ramp) {
  const moved = { ...place, left: place.left + 20, top: place.top + 84 };
  const width = Math.max(place.width + 40, LEGEND, titledWidth(shown.title));
  return {
    ...matrixPicture(shown, moved, palette, ramp),
    width,
    height: place.height + 104,
    shapes: [
      titleShape(shown.title, palette.ink),
      ...legendShapes(shown.scale, [20, 48], ramp, palette.ink),
      ...shapesOf(shown, moved, palette, ramp),
    ],
  };
}
