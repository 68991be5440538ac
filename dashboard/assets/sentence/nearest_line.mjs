// Which of many lines a point is on.

/** Distance of a point from a line [x1, y1, x2, y2] with these ends. */
export function distanceToLine([x, y], [x1, y1, x2, y2]) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const along = length ? Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / length)) : 0;
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}

/** Index of the nearest line within `reach` of a point; of equally near ones the last, which is on top; -1 for none. */
export function nearestLine(lines, point, reach) {
  let [nearest, least] = [-1, reach];
  lines.forEach((line, i) => {
    const distance = distanceToLine(point, line);
    if (distance <= least) [nearest, least] = [i, distance];
  });
  return nearest;
}
