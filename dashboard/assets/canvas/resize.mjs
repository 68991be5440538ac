// Fits the picture into the window: the layout of its panels, and canvases of that size.
import { fitPanels, sameLayout } from "./layout.mjs";
import { placeNames } from "./panel_names.mjs";

/** Pixels for the names and the tools beside the frame, and for what is below it. */
const BESIDE = { grid: 74, titled: 44, single: 42 };
const BELOW = 24;

function layoutOf({ picture, host, frame, single }) {
  const { panels, columns, slots, titled, min_side, dimensions } = picture;
  const width = host.clientWidth - (single ? BESIDE.single : titled ? BESIDE.titled : BESIDE.grid);
  const height = window.innerHeight - frame.getBoundingClientRect().top - window.scrollY - BELOW;
  return fitPanels({ count: panels.length, columns, slots, titled, least: min_side, dimensions, width, height });
}

/** Sets the size of all canvases; returns whether that emptied one. */
function spread({ layout, scale, host, canvas, image, overlay }) {
  for (const shown of [canvas, image, overlay])
    Object.assign(shown.style, { width: `${layout.width}px`, height: `${layout.height}px` });
  const pixels = [layout.width, layout.height].map((length) => Math.round(length * scale));
  const sized = [canvas, overlay].filter((sheet) => sheet.width !== pixels[0] || sheet.height !== pixels[1]);
  for (const sheet of sized) [sheet.width, sheet.height] = pixels;
  host.style.setProperty("--side", `${layout.side}px`);
  return sized.length > 0;
}

/** Fits the picture into the window. */
export function resize(panels) {
  if (!panels.picture || !panels.host.clientWidth) return;
  const [layout, scale] = [layoutOf(panels), window.devicePixelRatio || 1];
  if (panels.scale === scale && sameLayout(panels.layout, layout)) return;
  Object.assign(panels, { layout, scale });
  const emptied = spread(panels);
  panels.hover.again();
  placeNames(panels);
  // Another size empties a canvas at once; what it shows has to be there before the next frame.
  if (emptied && panels.painter) panels.paintNow();
  else panels.paint();
}
