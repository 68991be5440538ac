// The picture as a file: ground, points, what is drawn over them, the names of panels, and below them what the page says of it.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const MARGIN = 12;
  /** Room for the names of rows and columns. */
  const NAMED = { left: 34, top: 26 };
  /** Text is legible in so many pixels. */
  const NARROWEST = 480;

  const marginsOf = ({ single, title }) => (single || title ? { left: MARGIN, top: MARGIN } : NAMED);

  /** An empty sheet for a picture of this layout with paragraphs below it, in the pixels of the page. */
  function prepare({ layout, scale, palette }, paragraphs) {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d");
    const { left, top } = marginsOf(layout);
    const text = headscape.paragraphs.set(context, paragraphs, Math.max(layout.width, NARROWEST));
    const below = top + layout.height + MARGIN;
    Object.assign(canvas, { width: (left + text.width + MARGIN) * scale, height: (below + text.height + MARGIN) * scale });
    context.scale(scale, scale);
    context.fillStyle = palette.background;
    context.fillRect(0, 0, canvas.width, canvas.height);
    return { canvas, context, left, top, text, below };
  }

  /** A canvas with everything on it. WebGL keeps no picture: it is painted in the same moment. */
  function compose(panels) {
    const { canvas, context, left, top, text, below } = prepare(panels, headscape.told.of(panels));
    const { width, height } = panels.layout;
    panels.paintNow();
    for (const layer of [panels.canvas, panels.overlay]) context.drawImage(layer, left, top, width, height);
    headscape.names.draw(context, panels, left, top);
    headscape.paragraphs.draw(context, text, left, below);
    return canvas;
  }

  const fileName = (label) => `${label.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "headscape"}.png`;

  function save(panels) {
    const name = fileName(panels.player.label() || panels.picture.label);
    compose(panels).toBlob((blob) => {
      const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
      link.click();
      root.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }, "image/png");
  }

  headscape.png = { compose, save, fileName };
})(window);
