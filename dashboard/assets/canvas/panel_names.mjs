// Names of panels, beside the grid or above each panel; they follow the camera.
import { panelBox } from "./layout.mjs";

const FONT = "11px system-ui, sans-serif";
/** Pixels between the frame and the names beside it. */
const BESIDE = 7;

const elements = (panels, className) => [...panels.host.querySelector(className).children];

/** Names along one axis (0 across, 1 down), each at the middle of its panel; none beside the frame is seen. */
function along(panels, className, axis, panelOf, long) {
  return elements(panels, className).map((element, i) => {
    const box = panelBox(panels.layout, panels.camera, panelOf(i));
    const middle = box[axis] + box[2] / 2;
    return { element, axis, at: axis ? [-BESIDE, middle] : [middle, -BESIDE], seen: middle >= 0 && middle <= long };
  });
}

/** Where panels have a name each: at the left end of the line above it. */
function above(panels) {
  const { layout, camera } = panels;
  return elements(panels, ".panel-names").map((element, panel) => {
    const [left, top, side] = panelBox(layout, camera, panel);
    const seen = left >= -1 && left + 20 <= layout.width && top >= layout.title - 1 && top <= layout.height;
    return { element, at: [left, top], most: side, seen };
  });
}

/** Every name with its place `at` in the frame, as it is seen now. */
function named(panels) {
  if (panels.single) return [];
  if (panels.layout.title) return above(panels);
  const { columns, width, height } = panels.layout;
  return [
    ...along(panels, ".column-names", 0, (i) => i, width),
    ...along(panels, ".row-names", 1, (i) => i * columns, height),
  ];
}

export function placeNames(panels) {
  for (const {
    element,
    axis,
    at: [left, top],
    most,
    seen,
  } of named(panels)) {
    const ways = [`translateX(${left}px) translateX(-50%)`, `translateY(${top}px) translateY(-50%)`];
    element.style.transform = most === undefined ? ways[axis] : `translate(${left}px, ${top}px) translateY(-100%)`;
    element.style.maxWidth = most === undefined ? "" : `${most}px`;
    element.style.visibility = seen ? "visible" : "hidden";
  }
}

/** The same names on a canvas on which the frame stands so far from the left and the top. */
export function drawNames(context, panels, left, top) {
  const middle = -panels.layout.title / 2;
  for (const { element, axis, at, most, seen } of named(panels)) {
    if (!seen) continue;
    const align = most !== undefined ? "left" : axis ? "right" : "center";
    const baseline = most === undefined && !axis ? "bottom" : "middle";
    Object.assign(context, {
      font: FONT,
      textAlign: align,
      textBaseline: baseline,
      fillStyle: getComputedStyle(element).color,
    });
    context.fillText(element.textContent, left + at[0], top + at[1] + (most === undefined ? 0 : middle), most);
  }
}
