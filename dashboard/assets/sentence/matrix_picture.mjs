// One head as a heat map with the tokens at both edges: rows are queries. The page and the files show the same.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const NUMBERS = 34;
  const CELL = { least: 3, most: 38 };
  const NAME = 12;
  const LONGEST = 130;
  const TURN = -50;

  const widest = (units) => Math.min(LONGEST, Math.max(20, ...units.map(({ name }) => sentence.canvas.measure(name, NAME))));

  function cut(name) {
    if (sentence.canvas.measure(name, NAME) <= LONGEST) return name;
    const letters = [...name];
    while (letters.length && sentence.canvas.measure(letters.join("") + "…", NAME) > LONGEST) letters.pop();
    return letters.join("") + "…";
  }

  /** {cell, left, top, width, height}: where the cells are, in pixels; the rest is for the names. */
  function layout(units, keys, room) {
    const left = widest(units) + 8;
    const lean = widest(keys) * Math.cos((TURN * Math.PI) / 180) + 8;
    const top = Math.ceil(widest(keys) * Math.sin((-TURN * Math.PI) / 180) + 20);
    const cell = Math.max(CELL.least, Math.min(CELL.most, Math.floor((room - left - lean) / (keys.length || 1))));
    return { cell, left, top, width: left + cell * keys.length + lean, height: top + cell * units.length + 4 };
  }

  /** Rows of cells of one colour are one box. */
  function cells({ data, head }, { cell, left, top }, ramp) {
    const shapes = [];
    for (let query = 0; query < data.queries; query++) {
      const row = data.codes.subarray((head * data.queries + query) * data.keys, (head * data.queries + query + 1) * data.keys);
      for (let from = 0, to = 0; from < data.keys; from = to) {
        const colour = sentence.shades.code(row[from] / 65535);
        while (to < data.keys && sentence.shades.code(row[to] / 65535) === colour) to++;
        shapes.push({ box: [left + from * cell, top + query * cell, (to - from) * cell, cell], colour: ramp[colour] });
      }
    }
    return shapes;
  }

  /** Light of a colour, 0 to 1 (WCAG 2, relative luminance). */
  function luminance([red, green, blue]) {
    const linear = [red, green, blue].map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }

  function numbers({ data, head }, { cell, left, top }, ramp) {
    if (cell <= NUMBERS) return [];
    return Array.from({ length: data.queries * data.keys }, (_, i) => {
      const [query, key] = [Math.floor(i / data.keys), i % data.keys];
      const weight = sentence.weights.at(data, head, query, key);
      const ground = ramp[sentence.shades.code(weight / data.most)];
      const text = weight.toFixed(2).replace(/^0/, "");
      return { text, at: [left + (key + 0.5) * cell, top + (query + 0.5) * cell], colour: luminance(ground) > 0.18 ? "#000000" : "#ffffff", size: 11, align: "middle" };
    });
  }

  function names({ units, keys }, { cell, left, top }, ink) {
    const every = Math.ceil(13 / cell);
    const row = (unit, i) => ({ text: cut(unit.name), at: [left - 8, top + (i + 0.5) * cell], colour: ink, size: NAME, align: "end" });
    const column = (unit, i) => ({ text: cut(unit.name), at: [left + (i + 0.5) * cell, top - 8], colour: ink, size: NAME, turn: TURN });
    const some = (_, i) => i % every === 0;
    return [...units.map(row).filter(some), ...keys.map(column).filter(some)];
  }

  /** The picture of a head, moved by (x, y) for a title. */
  function shapes(shown, place, palette, ramp) {
    const colours = ramp.map(sentence.shades.hex);
    return [...cells(shown, place, colours), ...numbers(shown, place, ramp), ...names(shown, place, palette.ink)];
  }

  function picture(shown, place, palette, ramp) {
    return { width: place.width, height: place.height, ground: palette.background, title: shown.title, shapes: shapes(shown, place, palette, ramp) };
  }

  function titled(shown, place, palette, ramp) {
    const moved = { ...place, left: place.left + 20, top: place.top + 46 };
    const title = { text: shown.title, at: [20, 26], colour: palette.ink, size: 15, weight: 600 };
    const width = Math.max(place.width + 40, 40 + sentence.canvas.measure(shown.title, 15) * 1.06);
    return { ...picture(shown, moved, palette, ramp), width, height: place.height + 66, shapes: [title, ...shapes(shown, moved, palette, ramp)] };
  }

  sentence.matrixPicture = { layout, picture, titled };
})(window);
