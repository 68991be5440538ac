// The picture as a file: ground, points, what is drawn over them, and one line that says what it is.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const CAPTION = 30;
  const MARGIN = 12;

  /** A canvas with everything on it. WebGL keeps no picture: it is painted in the same moment. */
  function compose(panels) {
    const { scale, palette, layout, canvas, overlay } = panels;
    const sheet = document.createElement("canvas");
    const margin = MARGIN * scale;
    Object.assign(sheet, { width: canvas.width + 2 * margin, height: canvas.height + 2 * margin + CAPTION * scale });
    const context = sheet.getContext("2d");
    context.fillStyle = palette.background;
    context.fillRect(0, 0, sheet.width, sheet.height);
    panels.paintNow();
    context.drawImage(canvas, margin, margin);
    context.drawImage(overlay, margin, margin);
    context.fillStyle = palette.ink;
    context.font = `${13 * scale}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    if (layout.title) nameAll(context, panels, margin);
    context.fillText(panels.picture.label, margin, canvas.height + 1.5 * margin + (CAPTION * scale) / 2, layout.width * scale);
    return sheet;
  }

  /** The name above each panel. */
  function nameAll(context, { picture, layout, camera, scale }, margin) {
    picture.panels.forEach(({ name }, panel) => {
      const [left, top, side] = headscape.layout.rectangle(layout, camera, panel);
      context.fillText(name, margin + left * scale, margin + (top - layout.title / 2) * scale, side * scale);
    });
  }

  const fileName = (label) => `${label.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "headscape"}.png`;

  function save(panels) {
    compose(panels).toBlob((blob) => {
      const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: fileName(panels.picture.label) });
      link.click();
      root.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }, "image/png");
  }

  headscape.png = { compose, save, fileName };
})(window);
