// The head view as a picture for a file: title, heads, tokens, lines, and the numbers of what is selected.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const MARGIN = 20;
  const ABOVE = 84;
  const BETWEEN = 300;
  const NUMBER = 64;

  const widest = (units) => Math.max(40, ...units.map(({ name }) => sentence.canvas.measure(name, 13)));

  function legend(views, y) {
    return views.shown.chosen.flatMap((head, i) => [
      { box: [MARGIN + 44 * i, y - 6, 12, 12], colour: views.colour(head) },
      { text: views.nameOf(head), at: [MARGIN + 44 * i + 16, y], colour: views.palette.ink, size: 12 },
    ]);
  }

  /** Those whose lines are drawn are bold. */
  function tokens(views, units, ys, x, align, bold) {
    return units.map((unit, i) => ({ text: unit.name, at: [x, ys[i]], colour: views.palette.ink, align, weight: bold.includes(i) ? 700 : 400 }));
  }

  function lines(views, only, ys, [left, right]) {
    const { data, chosen, least } = views.shown;
    const found = sentence.lines.find(data, chosen, least, only);
    const one = (i) => ({ line: [left, ys.query[found.queries[i]], right, ys.key[found.keys[i]]], colour: views.colour(found.heads[i]), opacity: found.codes[i] / 65535 });
    return Array.from({ length: found.count }, (_, i) => one(i));
  }

  function numbers(views, only, ys, { query, key }) {
    if (!only) return [];
    const { data, chosen } = views.shown;
    const across = only.side === "query" ? "key" : "query";
    const [x, align] = across === "key" ? [key, "end"] : [query, "start"];
    const means = sentence.weights.sums(data, chosen, only.side, only.units).map(sentence.weights.mean);
    const said = means.map((mean, i) => ({ text: sentence.weights.say(mean, data.most), at: [x, ys[across][i]], colour: views.palette.ink, size: 12, align }));
    return said.filter((_, i) => means[i] >= data.most / 2000);
  }

  function headPicture(views, only) {
    const { units, keys, title } = views.shown;
    const place = (column) => sentence.rows.tops(column).map((y) => ABOVE + y + sentence.rows.HEIGHT / 2);
    const ys = { query: place(units), key: place(keys) };
    const left = MARGIN + NUMBER + widest(units);
    const width = Math.max(left + BETWEEN + widest(keys) + NUMBER + MARGIN, 2 * MARGIN + sentence.canvas.measure(title, 15), 2 * MARGIN + 44 * views.shown.chosen.length);
    const height = ABOVE + Math.max(...[units, keys].map((column) => sentence.rows.tops(column).at(-1))) + MARGIN;
    const boldOf = (side) => (only?.side === side ? only.units : []);
    const shapes = [
      { text: title, at: [MARGIN, 26], colour: views.palette.ink, size: 15, weight: 600 },
      ...legend(views, 54),
      ...lines(views, only, ys, [left + 6, left + BETWEEN - 6]),
      ...tokens(views, units, ys.query, left, "end", boldOf("query")),
      ...tokens(views, keys, ys.key, left + BETWEEN, "start", boldOf("key")),
      ...numbers(views, only, ys, { query: MARGIN, key: left + BETWEEN + widest(keys) + NUMBER }),
    ];
    return { width, height, ground: views.palette.background, title, shapes };
  }

  sentence.headPicture = headPicture;
})(window);
