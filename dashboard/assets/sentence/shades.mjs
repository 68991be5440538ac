// Colour ramps: one hue from zero to the largest weight, two hues around zero.

const DEEP = { light: "#00223D", dark: "#DFF3FF" };

const rgb = (colour) => [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
export const hexOf = (colour) => `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;

function between(stops, share) {
  const place = share * (stops.length - 1);
  const first = Math.min(Math.floor(place), stops.length - 2);
  return stops[first].map((part, i) => part + (stops[first + 1][i] - part) * (place - first));
}

const spread = (stops) => Array.from({ length: 256 }, (_, i) => between(stops.map(rgb), i / 255));

/** 256 colours [red, green, blue] from no weight to the largest. */
export const weightRamp = (palette, scheme) => spread([palette.panel, palette.query, DEEP[scheme] || DEEP.light]);

/** 256 colours from the most negative number over zero to the most positive. */
export const divergingRamp = (palette) => spread([palette.key, palette.panel, palette.query]);

/** Which of 256 colours a share 0..1 has. The square root: most weights are small, and would all look alike. */
export const shadeOf = (share) => Math.round(255 * Math.sqrt(Math.max(0, Math.min(1, share))));
