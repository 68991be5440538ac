// Density contours over the points of a head: lines round the smallest regions with shares of the points of a role.

/** Pixels of a line round the smallest region and round the largest one, and of the casing that lifts it off points. */
const [INNER, OUTER, CASING] = [2, 1.25, 1.5];
/** Dashes of the second role, where colours say something else than the role. */
const DASHES = [5, 3];
const SMALLEST = 0.25;

/** How the lines of a role are drawn: in a deep shade of its colour, or in ink, dashed for the second. */
export function styleOf({ role, share }, { palette, roles }, isColoured) {
  return {
    colour: isColoured ? palette.ink : palette[`${roles[role]}_contour`],
    dashes: isColoured && role > 0 ? DASHES : [],
    width: share <= SMALLEST ? INNER : OUTER,
  };
}

function trace(context, lines, toPixel) {
  context.beginPath();
  for (const line of lines)
    for (let i = 0; i < line.length; i += 2) context[i ? "lineTo" : "moveTo"](...toPixel([line[i], line[i + 1]]));
}

/** Draws the contours of one panel. */
export function drawContours(context, contours, panels, toPixel) {
  const isColoured = Boolean(panels.picture.colours);
  for (const contour of contours) {
    const { colour, dashes, width } = styleOf(contour, panels, isColoured);
    trace(context, contour.lines, toPixel);
    Object.assign(context, { lineJoin: "round", strokeStyle: panels.palette.panel, lineWidth: width + CASING });
    context.globalAlpha = 0.6;
    context.stroke();
    Object.assign(context, { strokeStyle: colour, lineWidth: width, globalAlpha: 1 });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  }
}
