// Which lines are drawn: the weights of the chosen heads that are large enough, from the weakest to the strongest.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  /** More lines than this are a surface and no lines; the strongest are drawn. */
  const MOST = 40000;

  const all = (count) => Uint32Array.from({ length: count }, (_, i) => i);
  const inside = (units, count) => units.filter((unit) => unit >= 0 && unit < count);

  /** Calls `act(head, query, key, code)` for every weight of at least `least` and more than nothing; `only` = {side, units} or null. */
  function each(layer, chosen, least, only, act) {
    const { codes, queries, keys, most } = layer;
    const threshold = Math.max(1, (least / most) * 65535);
    const rows = only?.side === "query" ? inside(only.units, queries) : all(queries);
    const columns = only?.side === "key" ? inside(only.units, keys) : all(keys);
    for (const head of inside(chosen, layer.heads))
      for (const query of rows) {
        const start = (head * queries + query) * keys;
        for (let i = 0; i < columns.length; i++) if (codes[start + columns[i]] >= threshold) act(head, query, columns[i], codes[start + columns[i]]);
      }
  }

  /** How many lines are of each strength (256 steps), and of which step on they are drawn. */
  function steps(layer, chosen, least, only) {
    const counts = new Uint32Array(256);
    each(layer, chosen, least, only, (head, query, key, code) => counts[code >> 8]++);
    let [first, kept] = [255, counts[255]];
    while (first > 0 && kept + counts[first - 1] <= MOST) kept += counts[--first];
    return { counts, first, kept: Math.min(kept, MOST), found: counts.reduce((sum, count) => sum + count, 0) };
  }

  /** {found, count, heads, queries, keys, codes}: `found` lines there are, `count` of them, the strongest, are in the arrays. */
  function find(layer, chosen, least, only) {
    const { counts, first, kept, found } = steps(layer, chosen, least, only);
    const made = { found, count: kept, heads: new Uint16Array(kept), queries: new Uint16Array(kept), keys: new Uint16Array(kept), codes: new Uint16Array(kept) };
    const next = new Uint32Array(256);
    for (let step = first + 1; step < 256; step++) next[step] = next[step - 1] + counts[step - 1] * (step > first);
    each(layer, chosen, least, only, (head, query, key, code) => {
      const step = code >> 8;
      if (step < first || next[step] >= kept) return;
      const place = next[step]++;
      [made.heads[place], made.queries[place], made.keys[place], made.codes[place]] = [head, query, key, code];
    });
    return made;
  }

  sentence.lines = { find, MOST };
})(window);
