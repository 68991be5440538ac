// The neuron view as a drawing: the query's channels, then of each key its channels, the products, and the numbers they come to.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const ROW = 20;
  const TOP = 64;
  const WIDE = 260;
  const GAP = 16;
  const NUMBERS = [70, 70, 70];
  const SIZE = 12;

  /** x of each column: names end there, channels and numbers begin there. */
  function columns(names) {
    const name = 20 + Math.max(40, ...names.map((one) => sentence.canvas.measure(one, SIZE)));
    const key = name + GAP;
    const product = key + WIDE + GAP;
    const ends = NUMBERS.map((_, i) => product + WIDE + NUMBERS.slice(0, i + 1).reduce((sum, width) => sum + width, 0));
    return { name, key, product, ends, width: ends.at(-1) + 20 };
  }

  function strip(values, most, colours, left, top) {
    const wide = WIDE / values.length;
    return values.map((value, i) => ({ box: [left + i * wide, top + 2, wide, ROW - 4], colour: colours[Math.round(127.5 + (127.5 * value) / most)] }));
  }

  function heads(place, channels, colour) {
    const text = (words, x, align) => ({ text: words, at: [x, TOP - 12], colour, size: SIZE, weight: 600, align });
    const numbers = ["q · k", `÷ √${channels}`, "Weight"].map((words, i) => text(words, place.ends[i], "end"));
    return [text("Key", place.name, "end"), text("k", place.key), text("q × k", place.product), ...numbers];
  }

  /** `data` is the neuron's, `most` the largest number of each kind, `number` spells one. */
  function picture({ data, title }, names, { most, colours, number }, palette) {
    const place = columns(names);
    const hexes = colours.map(sentence.shades.hex);
    const row = (i) => TOP + i * ROW;
    const text = (words, x, i, align) => ({ text: words, at: [x, row(i) + ROW / 2], colour: palette.ink, size: SIZE, align });
    const ofKey = (one, i) => [
      text(names[i], place.name, i + 1, "end"),
      ...strip(one.key, most.key, hexes, place.key, row(i + 1)),
      ...strip(one.product, most.product, hexes, place.product, row(i + 1)),
      ...[number(one.dot), number(one.logit), sentence.weights.exact(one.weight)].map((words, k) => text(words, place.ends[k], i + 1, "end")),
    ];
    const query = [text("q", place.name, 0, "end"), ...strip(data.query, most.query, hexes, place.key, row(0))];
    const shapes = [{ text: title, at: [20, 26], colour: palette.ink, size: 15, weight: 600 }, ...heads(place, data.query.length, palette.ink), ...query, ...data.keys.flatMap(ofKey)];
    return { width: Math.max(place.width, 40 + sentence.canvas.measure(title, 15) * 1.06), height: row(data.keys.length + 1) + 20, ground: palette.background, title, shapes };
  }

  sentence.neuronPicture = { picture };
})(window);
