// Weights of one layer as numbers: one of them, or what some tokens together give each token of the other column.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const at = (layer, head, query, key) => (layer.codes[(head * layer.queries + query) * layer.keys + key] / 65535) * layer.most;

  /** [token of the other column][chosen head]: the sum over the units, which are queries or keys as the side says. */
  function sums(layer, chosen, side, units) {
    const others = side === "query" ? layer.keys : layer.queries;
    const one = (head, unit, other) => (side === "query" ? at(layer, head, unit, other) : at(layer, head, other, unit));
    return Array.from({ length: others }, (_, other) => chosen.map((head) => units.reduce((sum, unit) => sum + one(head, unit, other), 0)));
  }

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / (values.length || 1);

  /** Attention is a share and said as per cent; a norm is not. */
  function say(weight, most) {
    if (most !== 1) return weight.toPrecision(3);
    const percent = 100 * weight;
    return `${percent >= 9.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`;
  }

  const exact = (weight) => weight.toFixed(4);

  sentence.weights = { at, sums, mean, say, exact };
})(window);
