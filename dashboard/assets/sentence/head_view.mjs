// BertViz's head view: queries left, keys right, a line for every weight that is large enough.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const make = (...given) => sentence.make(...given);

  function create(views, stage, signal) {
    const swatches = sentence.swatches.create(views, signal);
    const columns = { query: sentence.tokens.create("query", "Queries"), key: sentence.tokens.create("key", "Keys") };
    const other = { query: "key", key: "query" };
    const canvas = make("canvas", { "aria-hidden": "true" });
    const names = ["query", "key"].map((side) => make("p", { className: `name ${side}`, textContent: side === "query" ? "Queries" : "Keys" }));
    const box = make("div", { className: "head-view" }, canvas, ...names, columns.query.list, columns.key.list);
    const sheet = sentence.headSheet.create(views, box, columns, canvas);
    let hovered = null;
    let waiting = 0;

    views.lead.append(swatches.row);
    stage.append(box);

    // -- what is drawn ----------------------------------------------------------------------------

    /** Whose lines are drawn: those of the token under the pointer or the keyboard, else the selected ones', else all. */
    function only() {
      const { queries, side } = views.shown;
      return hovered || (queries.length ? { side: side || "query", units: queries } : null);
    }

    function draw(shown) {
      swatches.draw(shown);
      columns.query.renew(shown.units);
      columns.key.renew(shown.keys);
      for (const side of ["query", "key"]) columns[side].mark((shown.side || "query") === side ? shown.queries : []);
      if (hovered && hovered.units[0] >= columns[hovered.side].units.length) hovered = null;
      paint();
      if (hovered) say();
    }

    function paint() {
      root.cancelAnimationFrame(waiting);
      waiting = 0;
      const found = sheet.paint(only());
      views.host.dataset.lines = found.found;
      views.say(remark(found));
    }

    function remark({ found, count }) {
      const { chosen, least, units, keys } = views.shown;
      if (!units.length || !keys.length) return "No token is left to draw. Show hidden or special tokens again.";
      if (!chosen.length) return "No head is chosen. Click a head's colour above to see its lines.";
      if (!found) return `No weight is ${least} or more here. Lower the least weight that is drawn, or choose more heads.`;
      return count < found ? `The strongest ${count.toLocaleString("en")} of ${found.toLocaleString("en")} lines are drawn. Raise the least weight to see fewer.` : "";
    }

    const later = () => (waiting ||= root.requestAnimationFrame(paint));

    // -- hover and focus --------------------------------------------------------------------------

    function hover(side, unit) {
      if (unit < 0 || (hovered?.side === side && hovered.units[0] === unit)) return;
      hovered = { side, units: [unit] };
      paint();
      say();
    }

    function leave() {
      if (!hovered) return;
      hovered = null;
      views.leave();
      later();
    }

    function say() {
      const [unit] = hovered.units;
      const { content, text } = sentence.headTip(views, hovered.side, unit, columns);
      const element = columns[hovered.side].list.children[unit];
      views.pointer.place(content, element.getBoundingClientRect(), hovered.side === "query" ? "left" : "right");
      views.announce(text);
    }

    // -- what a reader does -----------------------------------------------------------------------

    function select(side, unit, more) {
      const { queries, side: before } = views.shown;
      const units = sentence.tokens.select((before || "query") === side ? queries : [], unit, more);
      views.choose({ side, queries: units }, { selected: { side, units } });
    }

    function hide(column, unit) {
      if (unit < 0) return;
      leave();
      views.send({ hidden: { positions: column.units[unit].positions } });
    }

    function escape() {
      leave();
      const { side, queries } = views.shown;
      if (queries.length) views.choose({ queries: [] }, { selected: { side: side || "query", units: [] } });
    }

    function press(event, column) {
      const unit = column.unitOf(event);
      if (event.key === "h" && !event.ctrlKey && !event.metaKey) return hide(column, unit);
      const go = { ArrowUp: [column, unit - 1], ArrowDown: [column, unit + 1], Home: [column, 0], End: [column, column.units.length - 1] }[event.key];
      const across = event.key === (column.side === "query" ? "ArrowRight" : "ArrowLeft") && [columns[other[column.side]], unit];
      if (unit < 0 || !(go || across || event.key === "Enter" || event.key === " ")) return;
      event.preventDefault();
      if (!go && !across) return select(column.side, unit, event.shiftKey || event.ctrlKey || event.metaKey);
      const [to, at] = go || across;
      to.focus(at);
    }

    function listen(column) {
      const on = (name, act) => column.list.addEventListener(name, act, { signal });
      on("pointerover", (event) => hover(column.side, column.unitOf(event)));
      on("pointerleave", leave);
      on("focusin", (event) => {
        column.stand(column.unitOf(event));
        if (event.target.matches(":focus-visible")) hover(column.side, column.unitOf(event));
      });
      on("focusout", leave);
      on("keydown", (event) => press(event, column));
      on("dblclick", (event) => hide(column, column.unitOf(event)));
      on("click", (event) => column.unitOf(event) >= 0 && select(column.side, column.unitOf(event), event.shiftKey || event.ctrlKey || event.metaKey));
    }

    Object.values(columns).forEach(listen);
    stage.addEventListener("keydown", (event) => event.key === "Escape" && escape(), { signal });
    root.addEventListener("scroll", () => sheet.moved() && later(), { signal, passive: true, capture: true });
    signal.addEventListener("abort", () => root.cancelAnimationFrame(waiting));
    return { draw, resize: later, picture: () => sentence.headPicture(views, only()) };
  }

  sentence.headView = { create };
})(window);
