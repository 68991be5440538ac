// The Dash component PointPanels: its elements, and one Panels for as long as the page lives.
import { notesOfPanel } from "../notes/marks.mjs";
import { Panels } from "./panels.mjs";
import { useOnElement } from "../web/elements.mjs";

const STAND = "then Shift with an arrow key to the nearest one that way";
/** What the keys do, for a screen reader. */
const KEYS = {
  grid: "Arrow keys move between panels, Enter opens one. Plus and minus zoom, 0 shows all.",
  linked:
    "Arrow keys move between the two models, Enter opens one. P goes to the token nearest to the middle of a panel, " +
    `${STAND}; the other model's has a ring too. Escape leaves it. Plus and minus zoom, 0 shows both.`,
  pair:
    "Arrow keys go to the neighbouring heads. P goes to the point nearest to the middle of the first head, " +
    `${STAND}; the same token has a ring in the pinned head. Enter chooses it, Escape leaves it. ` +
    "Plus and minus zoom, 0 resets, Backspace goes back to all heads.",
  sequence:
    "Arrow keys go to the point of the model before or after. P goes to the token nearest to the middle, " +
    `${STAND}; Enter chooses it, Escape leaves it. Plus and minus zoom, 0 resets, Backspace goes back to all points.`,
  single:
    "Arrow keys go to the neighbouring heads. P goes to the point nearest to the middle, " +
    `${STAND}; Enter chooses it, Escape leaves it. Plus and minus zoom, 0 resets, Backspace goes back to all heads.`,
};

/** @param {typeof window.React.createElement} make @param {string} className @param {string[]} texts */
const names = (make, className, texts) =>
  make(
    "div",
    { key: className, className, "aria-hidden": true, translate: "no" },
    texts.map((text, i) => make("span", { key: i }, text)),
  );

/** @param {typeof window.React.createElement} make @param {Panel[]} panels */
const titles = (make, panels) =>
  make(
    "div",
    { key: "panel-names", className: "panel-names", "aria-hidden": true, translate: "no" },
    panels.map(({ name, value }) =>
      make("div", { key: name }, [make("span", { key: "name" }, name), make("b", { key: "value" }, value)]),
    ),
  );

/** @param {typeof window.React.createElement} make @param {Panel[]} panels */
const tags = (make, panels) =>
  make(
    "div",
    { key: "panel-tags", className: "panel-tags", "aria-hidden": true, translate: "no" },
    panels.map(({ name, tag }) => make("span", { key: name }, tag)),
  );

/**
 * How many notes each head has; nothing where it has none.
 * @param {typeof window.React.createElement} make @param {Panel[]} panels @param {Marks | null} noted
 * @param {Picture | null} picture
 */
const notes = (make, panels, noted, picture) =>
  make(
    "div",
    { key: "panel-notes", className: "panel-notes", "aria-hidden": true, translate: "no" },
    panels.map(({ name }) => make("span", { key: name }, notesOfPanel(noted, picture, name) || "")),
  );

/** @param {string} letter @param {number} count */
const numbered = (letter, count) => Array.from({ length: count }, (_, i) => letter + i);

/** How the panels are named: not at all, each, by headings, or as heads. @param {Picture | null} picture */
function namesOf(picture) {
  const none = {
    kind: "single",
    columns: /** @type {string[]} */ ([]),
    rows: /** @type {string[]} */ ([]),
    each: /** @type {Panel[]} */ ([]),
  };
  if (!picture || picture.panels.length === 1) return none;
  const { panels, columns, titled, headings } = picture;
  if (headings) {
    const rows = headings.rows.map(({ name }) => name);
    return { ...none, kind: "grid titled headed", columns: headings.above, rows };
  }
  if (titled) return { ...none, kind: `grid titled ${picture.second ? "two-heads" : ""}`, each: panels };
  const rows = numbered("L", Math.ceil(panels.length / columns));
  return { ...none, kind: "grid", columns: numbered("H", columns), rows };
}

/** @param {typeof window.React.createElement} make @param {Picture | null} picture */
function frame(make, picture) {
  const about = { role: "application", "aria-label": picture?.label || "", "aria-describedby": "points-keys" };
  return make("div", { key: "frame", className: "frame", tabIndex: 0, ...about }, [
    make("canvas", { key: "canvas", "aria-hidden": true }),
    make("img", { key: "image", alt: "" }),
    make("div", { key: "ring", className: "ring" }),
    make("div", { key: "tip", className: "tip" }),
  ]);
}

/** What the keys do in a picture. @param {Picture | null} picture */
function keysOf(picture) {
  if (picture?.panels.length === 1) return picture.sequence ? "sequence" : "single";
  if (picture?.second) return "pair";
  return picture?.cards ? "linked" : "grid";
}

/** @param {{ id: string, picture: Picture | null, noted: Marks | null, setProps: SetProps }} given */
export function PointPanels({ id, picture, noted, setProps }) {
  const ref = useOnElement(
    (host) => new Panels(host),
    (panels) => panels.update(picture || null, noted || null, setProps),
  );
  return panelElements(window.React.createElement, { id, ref, picture, noted });
}

/**
 * The elements of a picture, as React makes them, or a notebook.
 * @param {typeof window.React.createElement} make
 * @param {{ picture: Picture | null, noted: Marks | null, id?: string, ref?: unknown }} given
 */
export function panelElements(make, { picture, noted, ...own }) {
  const { kind, columns, rows, each } = namesOf(picture);
  return make("div", { ...own, hidden: !picture, className: `points ${kind}` }, [
    names(make, "column-names", columns),
    names(make, "row-names", rows),
    titles(make, each),
    tags(make, kind === "single" ? [] : (picture?.panels ?? [])),
    notes(make, kind === "single" ? [] : (picture?.panels ?? []), noted, picture),
    make("div", { key: "player", className: "player", role: "group", "aria-label": "Points of the model in order" }),
    frame(make, picture),
    make("canvas", { key: "paper", className: "paper", "aria-hidden": true }),
    make("canvas", { key: "overlay", className: "overlay", "aria-hidden": true }),
    make("div", {
      key: "tools",
      className: "tools",
      role: "toolbar",
      "aria-label": "Picture",
      "aria-orientation": "vertical",
    }),
    make("p", { key: "note", className: "note", hidden: true }),
    make("p", { key: "problem", className: "problem", role: "alert" }),
    make("div", { key: "announcement", className: "announcement", "aria-live": "polite" }),
    make("div", { key: "keys", className: "announcement", id: "points-keys" }, KEYS[keysOf(picture)]),
  ]);
}
