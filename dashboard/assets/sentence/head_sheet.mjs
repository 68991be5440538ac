// The canvas of the head view: the part of it that a window shows, with its lines and the bars of one token.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  /** So much above and below the window is drawn as well, as a share of its height: scrolling need not draw at once. */
  const BEYOND = 0.6;
  const BAR = 10;
  const NUMBER = 52;

  function create(views, box, columns, canvas) {
    let top = 0;
    let height = 0;

    function band() {
      const rectangle = box.getBoundingClientRect();
      const from = Math.max(0, -rectangle.top - BEYOND * root.innerHeight);
      return { rectangle, from, to: Math.min(box.offsetHeight, -rectangle.top + (1 + BEYOND) * root.innerHeight) };
    }

    /** Whether the window has left what is drawn. */
    function moved() {
      const { rectangle } = band();
      const shown = [Math.max(0, -rectangle.top), Math.min(box.offsetHeight, root.innerHeight - rectangle.top)];
      return shown[0] < top || shown[1] > top + height;
    }

    /** A cleared context, in pixels of the box. */
    function clear() {
      const { from, to } = band();
      [top, height] = [from, Math.max(0, to - from)];
      const scale = root.devicePixelRatio || 1;
      Object.assign(canvas.style, { top: `${top}px`, width: `${box.offsetWidth}px`, height: `${height}px` });
      Object.assign(canvas, { width: Math.round(box.offsetWidth * scale), height: Math.round(height * scale) });
      const context = canvas.getContext("2d");
      context.setTransform(scale, 0, 0, scale, 0, -top * scale);
      return context;
    }

    /** Middle of every token, in pixels of the box. */
    function middles(column) {
      const { HEIGHT, tops } = sentence.rows;
      return tops(column.units).map((y) => column.list.offsetTop + y + HEIGHT / 2);
    }

    function paintLines(context, found, ys, [left, right]) {
      const colours = Array.from({ length: views.shown.data.heads }, (_, head) => views.colour(head));
      context.lineWidth = 2;
      for (let i = 0; i < found.count; i++) {
        const [from, to] = [ys.query[found.queries[i]], ys.key[found.keys[i]]];
        if ((from < top && to < top) || (from > top + height && to > top + height)) continue;
        context.globalAlpha = found.codes[i] / 65535;
        context.strokeStyle = colours[found.heads[i]];
        context.beginPath();
        context.moveTo(left, from);
        context.lineTo(right, to);
        context.stroke();
      }
      context.globalAlpha = 1;
    }

    /** Beside every token of the other column: a bar of the chosen heads' parts, and their mean as a number. */
    function paintBars(context, only, ys) {
      const { data, chosen } = views.shown;
      const across = only.side === "query" ? "key" : "query";
      const sums = sentence.weights.sums(data, chosen, only.side, only.units);
      const most = Math.max(...sums.map((values) => sentence.weights.mean(values)), 1e-9);
      const { list } = columns[across];
      const outwards = across === "key" ? 1 : -1;
      const start = across === "key" ? list.offsetLeft + list.offsetWidth + 8 : list.offsetLeft - 8;
      const room = (across === "key" ? box.offsetWidth - start : start) - NUMBER;
      context.font = sentence.canvas.font(12);
      context.textBaseline = "middle";
      context.textAlign = outwards > 0 ? "left" : "right";
      sums.forEach((values, unit) => paintBar(context, { values, y: ys[across][unit], start, outwards, wide: room / most, most: data.most }));
    }

    function paintBar(context, { values, y, start, outwards, wide, most }) {
      if (y < top || y > top + height) return;
      const mean = sentence.weights.mean(values);
      let x = start;
      values.forEach((value, i) => {
        const width = (wide * value) / values.length;
        context.fillStyle = views.colour(views.shown.chosen[i]);
        context.fillRect(outwards > 0 ? x : x - width, y - BAR / 2, width, BAR);
        x += outwards * width;
      });
      context.fillStyle = views.palette.ink;
      if (mean >= most / 2000) context.fillText(sentence.weights.say(mean, most), x + 6 * outwards, y);
    }

    function paint(only) {
      const { data, chosen, least } = views.shown;
      const context = clear();
      const ys = { query: middles(columns.query), key: middles(columns.key) };
      const found = sentence.lines.find(data, chosen, least, only);
      const { query, key } = columns;
      paintLines(context, found, ys, [query.list.offsetLeft + query.list.offsetWidth + 4, key.list.offsetLeft - 4]);
      if (only && chosen.length && query.units.length && key.units.length) paintBars(context, only, ys);
      return found;
    }

    return { paint, moved };
  }

  sentence.headSheet = { create };
})(window);
