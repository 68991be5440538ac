// What is said of a token: per chosen head its exact weight with what is selected, else where its largest weight is.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const make = (...given) => sentence.make(...given);

  function largest(layer, head, side, unit) {
    const values = sentence.weights.sums(layer, [head], side, [unit]).map(([value]) => value);
    const at = values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
    return { at, value: values[at] };
  }

  function row(views, head, name, value) {
    const colour = make("span", { className: "colour" });
    colour.style.setProperty("--colour", views.colour(head));
    return make("tr", {}, make("td", {}, colour), make("td", { textContent: views.nameOf(head) }), make("td", { className: "to", dir: "auto", textContent: name }), make("td", { className: "number", textContent: sentence.weights.exact(value) }));
  }

  const spoken = (views, head) => views.nameOf(head).replace(/^H(?=\d)/, "head ");
  const tokenOf = (unit) => make("bdi", { textContent: unit.name });

  function titled(title, rows, last) {
    const content = [make("p", { className: "what" }, ...title), make("table", {}, ...rows)];
    return last ? [...content, make("p", { className: "sum", textContent: last })] : content;
  }

  /** The token and what is selected in the other column. */
  function together(views, side, unit, columns) {
    const { data, chosen, queries } = views.shown;
    const across = side === "query" ? "key" : "query";
    const values = sentence.weights.sums(data, chosen, across, queries)[unit];
    const selected = queries.length === 1 ? tokenOf(columns[across].units[queries[0]]) : `${queries.length} ${side === "key" ? "queries" : "keys"}`;
    const one = tokenOf(columns[side].units[unit]);
    const names = side === "key" ? [selected, " → ", one] : [one, " → ", selected];
    const mean = `mean ${sentence.weights.exact(sentence.weights.mean(values))}`;
    const text = `${names.map((part) => part.textContent ?? part).join("")}: ${chosen.map((head, i) => `${spoken(views, head)} ${sentence.weights.exact(values[i])}`).join(", ")}, ${mean}`;
    return { content: titled(names, chosen.map((head, i) => row(views, head, "", values[i])), chosen.length > 1 && mean), text };
  }

  /** The token alone. */
  function alone(views, side, unit, columns) {
    const { data, chosen } = views.shown;
    const found = chosen.map((head) => largest(data, head, side, unit));
    const others = columns[side === "query" ? "key" : "query"].units;
    const says = side === "query" ? "attends most to" : "gets most from";
    const { name } = columns[side].units[unit];
    const text = `${name} ${says} ${chosen.map((head, i) => `${spoken(views, head)}: ${others[found[i].at].name} ${sentence.weights.exact(found[i].value)}`).join(", ")}`;
    return { content: titled([tokenOf({ name }), ` ${says}`], chosen.map((head, i) => row(views, head, others[found[i].at].name, found[i].value))), text };
  }

  function headTip(views, side, unit, columns) {
    const { queries, chosen } = views.shown;
    const isAcross = queries.length > 0 && (views.shown.side || "query") !== side;
    if (!chosen.length || !columns.query.units.length || !columns.key.units.length) return { content: [tokenOf(columns[side].units[unit])], text: columns[side].units[unit].name };
    return (isAcross ? together : alone)(views, side, unit, columns);
  }

  sentence.headTip = headTip;
})(window);
