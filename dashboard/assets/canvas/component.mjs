// The Dash component PointPanels: its elements, and one Panels for as long as the page lives.
import { Panels } from "./panels.mjs";

const STAND = "then Shift with an arrow key to the nearest one that way";
/** What the keys do, for a screen reader. */
const KEYS = {
  grid: "Arrow keys move between panels, Enter opens one. Plus and minus zoom, 0 shows all.",
  linked:
    "Arrow keys move between the two models, Enter opens one. P goes to the token nearest to the middle of a panel, " +
    `${STAND}; the other model's has a ring too. Escape leaves it. Plus and minus zoom, 0 shows both.`,
  sequence:
    "Arrow keys go to the point of the model before or after. P goes to the token nearest to the middle, " +
    `${STAND}; Enter chooses it, Escape leaves it. Plus and minus zoom, 0 resets, Backspace goes back to all points.`,
  single:
    "Arrow keys go to the neighbouring heads. P goes to the point nearest to the middle, " +
    `${STAND}; Enter chooses it, Escape leaves it. Plus and minus zoom, 0 resets, Backspace goes back to all heads.`,
};

function names(make, className, count, letter) {
  return make(
    "div",
    { key: className, className, "aria-hidden": true },
    Array.from({ length: count }, (_, i) => make("span", { key: i }, letter + i)),
  );
}

const titles = (make, panels) =>
  make(
    "div",
    { key: "panel-names", className: "panel-names", "aria-hidden": true },
    panels.map(({ name, value }) =>
      make("div", { key: name }, [make("span", { key: "name" }, name), make("b", { key: "value" }, value)]),
    ),
  );

const tags = (make, panels) =>
  make(
    "div",
    { key: "panel-tags", className: "panel-tags", "aria-hidden": true },
    panels.map(({ name, tag }) => make("span", { key: name }, tag)),
  );

function frame(make, picture) {
  const about = { role: "application", "aria-label": picture?.label || "", "aria-describedby": "points-keys" };
  return make("div", { key: "frame", className: "frame", tabIndex: 0, ...about }, [
    make("canvas", { key: "canvas", "aria-hidden": true }),
    make("img", { key: "image", alt: "" }),
    make("div", { key: "ring", className: "ring" }),
    make("div", { key: "tip", className: "tip" }),
  ]);
}

/** What the keys do in a picture. */
function keysOf(picture) {
  if (picture?.panels.length === 1) return picture.sequence ? "sequence" : "single";
  return picture?.cards ? "linked" : "grid";
}

export function PointPanels({ id, picture, setProps }) {
  const make = window.React.createElement;
  const host = window.React.useRef(null);
  const panels = window.React.useRef(null);
  window.React.useEffect(() => {
    panels.current = new Panels(host.current);
    return () => panels.current.release();
  }, []);
  window.React.useEffect(() => panels.current.update(picture || null, setProps));
  const single = picture?.panels.length === 1;
  const titled = Boolean(picture?.titled && !single);
  const [columns, rows] =
    picture && !single && !titled ? [picture.columns, Math.ceil(picture.panels.length / picture.columns)] : [0, 0];
  return make(
    "div",
    { id, ref: host, hidden: !picture, className: `points ${single ? "single" : titled ? "grid titled" : "grid"}` },
    [
      names(make, "column-names", columns, "H"),
      names(make, "row-names", rows, "L"),
      titles(make, titled ? picture.panels : []),
      tags(make, picture && !single ? picture.panels : []),
      make("div", { key: "player", className: "player", role: "group", "aria-label": "Points of the model in order" }),
      frame(make, picture),
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
    ],
  );
}
