// A picture on a canvas, as the drawing of svg.js has it.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  /** No browser keeps a longer side, and few a larger area. */
  const SIDE = 16000;
  const AREA = 1.2e8;
  const ALIGN = { start: "left", middle: "center", end: "right" };

  const font = (size = 13, weight = 400) => `${weight} ${size}px ${FONT}`;
  const measuring = () => (sentence.canvas.sheet ||= document.createElement("canvas").getContext("2d"));

  /** Width of a text in pixels. */
  function measure(text, size) {
    const context = measuring();
    context.font = font(size);
    return context.measureText(text).width;
  }

  function paintText(context, one) {
    context.save();
    context.translate(...one.at);
    context.rotate(((one.turn || 0) * Math.PI) / 180);
    context.font = font(one.size, one.weight);
    context.textAlign = ALIGN[one.align || "start"];
    context.textBaseline = "middle";
    context.fillStyle = one.colour;
    context.fillText(one.text, 0, 0);
    context.restore();
  }

  function paintLine(context, { line: [x1, y1, x2, y2], colour, opacity }) {
    context.globalAlpha = opacity;
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    context.globalAlpha = 1;
  }

  function paint(context, picture) {
    context.fillStyle = picture.ground;
    context.fillRect(0, 0, picture.width, picture.height);
    Object.assign(context, { lineWidth: 2, imageSmoothingEnabled: false });
    for (const one of picture.shapes) {
      if (one.line) paintLine(context, one);
      else if (one.text !== undefined) paintText(context, one);
      else if (one.image) context.drawImage(one.image, ...one.at);
      else (context.fillStyle = one.colour), context.fillRect(...one.box);
    }
  }

  const largest = ({ width, height }, wanted) => Math.min(wanted, SIDE / Math.max(width, height), Math.sqrt(AREA / (width * height)));

  /** Gives a canvas the size of a picture, at so many pixels a pixel, and paints it. */
  function show(canvas, picture, scale) {
    const most = largest(picture, scale);
    Object.assign(canvas, { width: Math.round(picture.width * most), height: Math.round(picture.height * most) });
    Object.assign(canvas.style, { width: `${picture.width}px`, height: `${picture.height}px` });
    const context = canvas.getContext("2d");
    context.scale(most, most);
    paint(context, picture);
    return canvas;
  }

  sentence.canvas = { show, measure, font };
})(window);
