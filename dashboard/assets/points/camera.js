// Where the reader looks: a centre and a zoom over the unit square. Screen places are 0..1 from the lower left.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const MOST_ZOOM = 400;
  const start = () => ({ x: 0.5, y: 0.5, zoom: 1 });

  const toData = (camera, sx, sy) => [camera.x + (sx - 0.5) / camera.zoom, camera.y + (sy - 0.5) / camera.zoom];
  const toScreen = (camera, x, y) => [(x - camera.x) * camera.zoom + 0.5, (y - camera.y) * camera.zoom + 0.5];

  /** Zoomed by `factor`; what is at (sx, sy) on screen stays there. */
  function zoomAt(camera, factor, sx, sy) {
    const zoom = Math.max(1, Math.min(MOST_ZOOM, camera.zoom * factor));
    const [x, y] = toData(camera, sx, sy);
    return within({ zoom, x: x - (sx - 0.5) / zoom, y: y - (sy - 0.5) / zoom });
  }

  /** Moved by a part of the screen. */
  const pan = (camera, dx, dy) => within({ ...camera, x: camera.x - dx / camera.zoom, y: camera.y - dy / camera.zoom });

  /** The centre stays over the picture. */
  const within = (camera) => ({ ...camera, x: clamp(camera.x, camera.zoom), y: clamp(camera.y, camera.zoom) });
  const clamp = (value, zoom) => Math.max(0.5 / zoom, Math.min(1 - 0.5 / zoom, value));

  headscape.camera = { start, toData, toScreen, zoomAt, pan };
  if (typeof module !== "undefined") module.exports = headscape.camera;
})(typeof window === "undefined" ? globalThis : window);
