// The matrix view: one head as a heat map; the pointer or the arrow keys say query, key and weight.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const make = (...given) => sentence.make(...given);
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  function create(views, stage, signal) {
    const canvas = make("canvas", { "aria-hidden": "true" });
    const ring = make("div", { className: "ring" });
    const frame = make("div", { className: "frame matrix-view", tabIndex: 0, role: "application" }, canvas, ring);
    let place = null;
    let stood = [0, 0];

    stage.append(frame);

    /** A rollout has one head only. */
    const shown = () => ({ ...views.shown, head: Math.min(views.shown.head || 0, views.shown.data.heads - 1) });

    function draw() {
      frame.setAttribute("aria-label", `${views.shown.title}. Rows are queries, columns are keys; arrow keys say their weights.`);
      const { units, keys } = views.shown;
      stood = [Math.min(stood[0], Math.max(0, units.length - 1)), Math.min(stood[1], Math.max(0, keys.length - 1))];
      paint();
      views.say(units.length && keys.length ? "" : "No token is left to draw. Show hidden or special tokens again.");
    }

    function paint() {
      const { units, keys } = views.shown;
      place = sentence.matrixPicture.layout(units, keys, views.host.clientWidth);
      sentence.canvas.show(canvas, sentence.matrixPicture.picture(shown(), place, views.palette, views.ramp), root.devicePixelRatio || 1);
      frame.dataset.cell = place.cell;
    }

    function point(found) {
      const { units, keys, data } = views.shown;
      if (!found || !units.length || !keys.length) return leave();
      const [query, key] = (stood = found);
      const [left, top] = [place.left + key * place.cell, place.top + query * place.cell];
      Object.assign(ring.style, { display: "block", left: `${left - 2}px`, top: `${top - 2}px`, width: `${place.cell + 4}px`, height: `${place.cell + 4}px` });
      const weight = sentence.weights.exact(sentence.weights.at(data, shown().head, query, key));
      const names = [units[query].name, keys[key].name].map((name) => make("bdi", { textContent: name }));
      views.pointer.place([make("p", { className: "what" }, names[0], " → ", names[1]), make("p", { className: "sum", textContent: weight })], ring.getBoundingClientRect());
      views.announce(`query ${units[query].name}, key ${keys[key].name}, weight ${weight}`);
    }

    function leave() {
      ring.style.display = "none";
      views.leave();
    }

    function under(event) {
      const [query, key] = [Math.floor((event.offsetY - place.top) / place.cell), Math.floor((event.offsetX - place.left) / place.cell)];
      const { units, keys } = views.shown;
      return query >= 0 && key >= 0 && query < units.length && key < keys.length ? [query, key] : null;
    }

    /** The token whose name stands under the pointer: of a row on the left, of a column above. */
    function named(event) {
      const { units, keys } = views.shown;
      const [row, column] = [Math.floor((event.offsetY - place.top) / place.cell), Math.floor((event.offsetX - place.left) / place.cell)];
      return event.offsetX < place.left ? units[row] : event.offsetY < place.top ? keys[column] : null;
    }

    function hide(unit) {
      if (!unit) return;
      leave();
      views.send({ hidden: { positions: unit.positions } });
    }

    function press(event) {
      if (event.key === "h" && !event.ctrlKey && !event.metaKey) return hide(views.shown.units[stood[0]]);
      const step = STEPS[event.key];
      if (event.key === "Escape") return leave();
      if (!step) return;
      event.preventDefault();
      const { units, keys } = views.shown;
      point([Math.max(0, Math.min(units.length - 1, stood[0] + step[0])), Math.max(0, Math.min(keys.length - 1, stood[1] + step[1]))]);
      ring.scrollIntoView({ block: "nearest", inline: "nearest" });
    }

    canvas.addEventListener("pointermove", (event) => point(under(event)), { signal });
    canvas.addEventListener("pointerleave", leave, { signal });
    canvas.addEventListener("dblclick", (event) => hide(named(event)), { signal });
    frame.addEventListener("keydown", press, { signal });
    frame.addEventListener("focus", () => frame.matches(":focus-visible") && point(stood), { signal });
    frame.addEventListener("blur", leave, { signal });
    return { draw, resize: paint, picture: () => sentence.matrixPicture.titled(shown(), place, views.palette, views.ramp) };
  }

  sentence.matrixView = { create };
})(window);
