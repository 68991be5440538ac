// The picture as a file: ground, points, what is drawn over them, the names of panels, and below them what the page says of it.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const MARGIN = 12;
  /** Room for the names of rows and columns. */
  const NAMED = { left: 34, top: 26 };
  /** Text is legible in so many pixels. */
  const NARROWEST = 480;
  /** No browser keeps a canvas with a longer side. */
  const LONGEST = 16000;

  const marginsOf = ({ single, title }) => (single || title ? { left: MARGIN, top: MARGIN } : NAMED);
  const titleOf = (panels) => panels.player.label() || panels.picture.label;

  /** Where everything stands on the sheet, in pixels of the page. */
  function sheetOf(panels) {
    const { layout } = panels;
    const { left, top } = marginsOf(layout);
    const measuring = document.createElement("canvas").getContext("2d");
    const text = headscape.paragraphs.set(measuring, headscape.told.of(panels), Math.max(layout.width, NARROWEST));
    const below = top + layout.height + MARGIN;
    return { left, top, text, below, width: left + Math.max(text.width, layout.width) + MARGIN, height: below + text.height + MARGIN };
  }

  /** Pixels of a file that is so wide, for each of the page; as many as the screen's where no width is given. */
  const scaleFor = (panels, sheet, width) => Math.min(width ? width / sheet.width : panels.scale, LONGEST / Math.max(sheet.width, sheet.height));

  function drawPoints(context, panels, { left, top }) {
    const { width, height } = panels.layout;
    context.drawImage(panels.canvas, left, top, width, height);
  }

  /** What is drawn as lines and text: all but the points. */
  function drawRest(context, panels, { left, top, text, below }) {
    context.save();
    context.translate(left, top);
    panels.layer.drawOn(context);
    context.restore();
    headscape.names.draw(context, panels, left, top);
    headscape.paragraphs.draw(context, text, left, below);
  }

  /** Everything on a canvas that is so many pixels wide, as wide as the screen shows it where no width is given. */
  function compose(panels, width) {
    const sheet = sheetOf(panels);
    const scale = scaleFor(panels, sheet, width);
    const canvas = Object.assign(document.createElement("canvas"), { width: Math.round(sheet.width * scale), height: Math.round(sheet.height * scale) });
    const context = canvas.getContext("2d");
    context.fillStyle = panels.palette.background;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.scale(canvas.width / sheet.width, canvas.width / sheet.width);
    panels.enlarged(scale, () => drawPoints(context, panels, sheet));
    drawRest(context, panels, sheet);
    return canvas;
  }

  /** The same as text of an SVG file: the points are an image in it. */
  function drawing(panels, width) {
    const sheet = sheetOf(panels);
    const scale = scaleFor(panels, sheet, width);
    const drawn = headscape.drawing.create({ ...sheet, scale, ground: panels.palette.background, title: titleOf(panels), source: panels.picture.file.source });
    panels.enlarged(scale, () => drawPoints(drawn, panels, sheet));
    drawRest(drawn, panels, sheet);
    return drawn.text();
  }

  /** Saves a file as wide as this; `form` is png or svg. */
  function save(panels, form, width) {
    const { file } = headscape.sentence;
    const name = [titleOf(panels), panels.picture.file.stem];
    if (form === "svg") file.saveText(drawing(panels, width), "image/svg+xml", name, "svg");
    else file.savePicture(compose(panels, width), name);
  }

  headscape.saved = { save, sheetOf };
})(window);
