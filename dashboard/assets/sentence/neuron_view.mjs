// BertViz's neuron view: how one query comes to its weights, channel by channel; a row a key.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const make = (...given) => sentence.make(...given);
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const KINDS = ["key", "product"];

  const largest = (rows) => Math.max(1e-12, ...rows.map((values) => Math.max(...values.map(Math.abs))));
  const number = (value) => (value === 0 || Math.abs(value) >= 0.001 ? value.toFixed(3) : value.toExponential(1)).replace("-", "−");

  /** A channel a pixel; the sheet stretches it. */
  function strip(values, most, colours, kind) {
    const canvas = make("canvas", { className: "strip", "aria-hidden": "true", "data-kind": kind });
    Object.assign(canvas, { width: values.length, height: 1 });
    const image = new ImageData(values.length, 1);
    values.forEach((value, i) => image.data.set([...colours[Math.round(127.5 + (127.5 * value) / most)], 255], 4 * i));
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  function heads(channels) {
    const names = ["Key", "k", "q × k", "q · k", `÷ √${channels}`, "Weight"];
    return make("thead", {}, make("tr", {}, ...names.map((name, i) => make("th", { scope: "col", className: i > 2 ? "number" : "", textContent: name }))));
  }

  function create(views, stage, signal) {
    const queries = sentence.tokens.create("query", "Query");
    const tokens = make("div", { className: "neuron-queries" }, make("p", { className: "name query", textContent: "Query" }), queries.list);
    const table = make("table", { className: "neurons" });
    const frame = make("div", { className: "neuron-view", tabIndex: 0, role: "group" }, table);
    let stood = [0, 0, "product"];

    stage.append(tokens, frame);

    const nameOf = (i) => views.shown.data.keys[i].name ?? views.shown.keys[i]?.name ?? `position ${i}`;

    function draw(shown) {
      queries.renew(shown.units);
      const isQuery = (shown.side || "query") === "query" && shown.queries.length > 0;
      queries.mark(isQuery ? shown.queries.slice(0, 1) : []);
      const pressed = queries.list.querySelector('[aria-pressed="true"]');
      if (pressed) queries.list.scrollTop = pressed.offsetTop - queries.list.clientHeight / 2;
      frame.hidden = !shown.data;
      views.say(shown.data ? "" : "No query is chosen. Click a token above to see how its weights come about.");
      if (shown.data) paint();
    }

    /** Colours, and what the strongest of them stands for. */
    function scales() {
      const { data } = views.shown;
      const most = { query: largest([data.query]), key: largest(data.keys.map(({ key }) => key)), product: largest(data.keys.map(({ product }) => product)) };
      return { most, colours: sentence.shades.diverging(views.palette), number };
    }

    function paint() {
      const { data, title } = views.shown;
      const { most, colours } = scales();
      frame.setAttribute("aria-label", `${title}. Arrow keys say the numbers of a channel.`);
      const query = make("tr", { className: "of-query" }, make("th", { scope: "row", textContent: "q" }), make("td", {}, strip(data.query, most.query, colours, "query")), ...Array.from({ length: 4 }, () => make("td")));
      const rows = data.keys.map((one, i) => rowOf(one, i, most, colours));
      table.replaceChildren(heads(data.query.length), make("tbody", {}, query, ...rows));
    }

    function rowOf(one, i, most, colours) {
      const name = make("th", { scope: "row" }, make("bdi", { textContent: nameOf(i) }));
      const strips = KINDS.map((kind) => make("td", {}, strip(one[kind], most[kind], colours, kind)));
      const numbers = [one.dot, one.logit].map((value) => make("td", { className: "number", textContent: number(value) }));
      const weight = make("td", { className: "number weight" }, make("span", { className: "bar" }), make("span", { textContent: sentence.weights.exact(one.weight) }));
      weight.style.setProperty("--share", String(one.weight));
      return make("tr", { "data-key": i }, name, ...strips, ...numbers, weight);
    }

    // -- numbers of a channel ---------------------------------------------------------------------

    function words(i, channel, kind) {
      const { query, keys } = views.shown.data;
      if (kind === "query") return [`q ${number(query[channel])}`];
      if (kind === "key") return [`k ${number(keys[i].key[channel])}`];
      return [`q ${number(query[channel])}`, `k ${number(keys[i].key[channel])}`, `q × k ${number(keys[i].product[channel])}`];
    }

    function point(canvas, i, channel, kind) {
      const box = canvas.getBoundingClientRect();
      const wide = box.width / views.shown.data.query.length;
      const at = new DOMRect(box.left + channel * wide, box.top, wide, box.height);
      const lines = words(i, channel, kind);
      views.pointer.place([make("p", { className: "what", textContent: `channel ${channel}` }), ...lines.map((line) => make("p", { className: "sum", textContent: line }))], at);
      views.announce(`${kind === "query" ? "query" : nameOf(i)}, channel ${channel}: ${lines.join(", ")}`);
    }

    function move(event) {
      const canvas = event.target.closest(".strip");
      if (!canvas) return views.leave();
      const channels = views.shown.data.query.length;
      const channel = Math.max(0, Math.min(channels - 1, Math.floor((event.offsetX / canvas.clientWidth) * channels)));
      point(canvas, Number(canvas.closest("tr").dataset.key ?? 0), channel, canvas.dataset.kind);
    }

    function press(event) {
      const step = STEPS[event.key];
      if (event.key === "Escape") return views.leave();
      if (!step || !views.shown.data) return;
      event.preventDefault();
      const { keys, query } = views.shown.data;
      const [row, channel, kind] = stood;
      stood = [Math.max(0, Math.min(keys.length - 1, row + step[0])), Math.max(0, Math.min(query.length - 1, channel + step[1])), kind];
      const canvas = table.querySelector(`tr[data-key="${stood[0]}"] .strip[data-kind="product"]`);
      canvas.scrollIntoView({ block: "nearest" });
      point(canvas, ...stood);
    }

    // -- the query --------------------------------------------------------------------------------

    function select(unit) {
      if (unit >= 0) views.choose({}, { selected: { side: "query", units: [unit] } });
    }

    function pressToken(event) {
      const unit = queries.unitOf(event);
      const to = { ArrowLeft: unit - 1, ArrowUp: unit - 1, ArrowRight: unit + 1, ArrowDown: unit + 1, Home: 0, End: queries.units.length - 1 }[event.key];
      if (to === undefined || unit < 0) return;
      event.preventDefault();
      queries.focus(to);
    }

    frame.addEventListener("pointermove", move, { signal });
    frame.addEventListener("pointerleave", () => views.leave(), { signal });
    frame.addEventListener("keydown", press, { signal });
    frame.addEventListener("blur", () => views.leave(), { signal });
    queries.list.addEventListener("click", (event) => select(queries.unitOf(event)), { signal });
    queries.list.addEventListener("keydown", pressToken, { signal });
    const picture = () => sentence.neuronPicture.picture(views.shown, views.shown.data.keys.map((_, i) => nameOf(i)), scales(), views.palette);
    return { draw, resize: () => {}, picture };
  }

  sentence.neuronView = { create };
})(window);
