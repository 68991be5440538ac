// The buttons beside the picture, and the region a reader draws in a head with two of them.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const SVG = "http://www.w3.org/2000/svg";
  /** A region has at least this area (of the unit square, twice), else it was a slip of the hand. */
  const SMALLEST = 2e-6;
  /** Buttons that say nothing of all heads together. */
  const OF_HEAD = ["move", "lasso", "box", "clear"];
  const ICONS = {
    move: "M8 1.5v13M1.5 8h13M8 1.5 6 3.5M8 1.5l2 2M8 14.5l-2-2M8 14.5l2-2M1.5 8l2-2M1.5 8l2 2M14.5 8l-2-2M14.5 8l-2 2",
    lasso: "M8 2.5c3.6 0 6.3 1.7 6.3 4s-2.7 4-6.3 4-6.3-1.7-6.3-4 2.7-4 6.3-4M4.5 9.8c-1.5 1-.8 2.4.4 2.4s1.8 1.6.4 2.6",
    box: "M2.5 3.5h11v9h-11z",
    clear: "M3.5 3.5l9 9M12.5 3.5l-9 9",
    in: "M8 3v10M3 8h10",
    out: "M3 8h10",
    reset: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
    save: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  };

  function icon(name) {
    const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS(SVG, tag));
    for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", "aria-hidden": "true" })) svg.setAttribute(key, value);
    path.setAttribute("d", ICONS[name]);
    svg.append(path);
    return svg;
  }

  function create(panels) {
    const state = { name: "move", drawing: false, outline: [], begin, extend, end, cancel, renew };
    const clear = () => panels.send({ lassoed: { lasso: "" } });
    const buttons = {
      move: button("move", "Move", () => choose("move")),
      lasso: button("lasso", "Lasso", () => choose("lasso")),
      box: button("box", "Box", () => choose("box")),
      clear: button("clear", "Clear selection", clear),
      in: button("in", "Zoom in", () => panels.gaze.zoom(1.5)),
      out: button("out", "Zoom out", () => (panels.single && panels.camera.zoom === 1 ? panels.leave() : panels.gaze.zoom(1 / 1.5))),
      reset: button("reset", "Reset", () => panels.gaze.reset()),
      save: button("save", "Save"),
    };
    for (const name of OF_HEAD) buttons[name].classList.add("of-head");
    panels.tools.replaceChildren(...Object.values(buttons), headscape.saveMenu.create(panels, buttons.save));
    choose("move");

    function button(name, label, act) {
      const made = Object.assign(document.createElement("button"), { type: "button", title: label });
      made.setAttribute("aria-label", label);
      made.append(icon(name));
      if (act) panels.on(made, "click", act);
      return made;
    }

    function choose(name) {
      cancel();
      state.name = name;
      for (const tool of ["move", "lasso", "box"]) buttons[tool].setAttribute("aria-pressed", String(tool === name));
      panels.frame.dataset.tool = name;
    }

    /** What the picture allows. */
    function renew() {
      const moves = panels.picture.dimensions === 3 ? "Rotate" : "Move";
      buttons.move.setAttribute("aria-label", moves);
      buttons.move.title = moves === "Rotate" ? "Rotate (with Shift: move)" : "Move";
      buttons.clear.disabled = !panels.picture.lasso;
    }

    // -- the region -------------------------------------------------------------------------------

    const place = (px, py) => headscape.layout.fromPixel(panels.layout, panels.camera, 0, px, py);

    function begin(px, py) {
      panels.hover.hide();
      panels.gaze.settle();
      state.drawing = true;
      state.outline = [place(px, py)];
    }

    function extend(px, py) {
      if (state.name === "box") state.outline = headscape.lasso.box(state.outline[0], place(px, py));
      else state.outline.push(place(px, py));
      panels.layer.refresh();
    }

    /** A finished region goes out; the picture comes back with it as its `lasso`. */
    function end() {
      const { outline } = state;
      const { region } = panels.picture;
      cancel();
      if (!region || outline.length < 3 || headscape.lasso.area(outline) < SMALLEST) return;
      panels.send({ lassoed: { lasso: headscape.lasso.format(region, panels.camera, outline) } });
    }

    function cancel() {
      if (state.drawing) panels.layer.refresh();
      state.drawing = false;
      state.outline = [];
    }

    return state;
  }

  headscape.toolbar = { create };
})(window);
