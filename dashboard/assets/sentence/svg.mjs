// A picture as a drawing: text of an SVG file. A picture is {width, height, ground, title, shapes}; colours are #rrggbb.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

  // Control characters are no XML, whatever a tokenizer made of a text.
  const escape = (text) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"]/g, (letter) => ESCAPED[letter]);
  const short = (number) => String(Math.round(number * 100) / 100);

  function shape(one) {
    if (one.line) {
      const [x1, y1, x2, y2] = one.line.map(short);
      return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${one.colour}" stroke-opacity="${one.opacity.toFixed(3)}" stroke-width="2"/>`;
    }
    if (one.box) {
      const [x, y, width, height] = one.box.map(short);
      return `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${one.colour}"/>`;
    }
    if (one.image) {
      const [x, y, width, height] = one.at.map(short);
      return `<image x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="none" image-rendering="pixelated" href="${one.image.toDataURL()}"/>`;
    }
    const [x, y] = one.at.map(short);
    const turn = one.turn ? ` transform="rotate(${one.turn} ${x} ${y})"` : "";
    const style = `text-anchor="${one.align || "start"}" font-size="${one.size || 13}" font-weight="${one.weight || 400}"`;
    return `<text x="${x}" y="${y}" fill="${one.colour}" ${style} dominant-baseline="central"${turn}>${escape(one.text)}</text>`;
  }

  function write({ width, height, ground, title, source, shapes }) {
    const [w, h] = [width, height].map(Math.ceil);
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="${FONT}">`,
      `<title>${escape(title)}</title>`,
      `<desc>${escape(source)}</desc>`,
      `<rect width="100%" height="100%" fill="${ground}"/>`,
      ...shapes.map(shape),
      "</svg>",
    ].join("\n");
  }

  sentence.svg = { write, escape, short };
})(window);
