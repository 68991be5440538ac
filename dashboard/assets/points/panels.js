// The Dash component PointPanels: loads points, draws them, and turns pointer and keys into hover, open, step, zoom.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const GAP = 4;
  const SMALLEST_PANEL = 36;
  const HOVER_RADIUS = 14;
  const HOVER_PAUSE = 25;
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  const scheme = () => document.documentElement.getAttribute("data-mantine-color-scheme") || "light";

  class Panels {
    constructor(frame, properties) {
      this.frame = frame;
      this.canvas = frame.querySelector("canvas");
      this.image = frame.querySelector("img");
      this.ring = frame.querySelector(".ring");
      this.tip = frame.querySelector(".tip");
      this.says = frame.querySelector(".says");
      this.camera = headscape.camera.start();
      this.focus = 0;
      this.count = 0;
      this.painter = headscape.painter.create(this.canvas);
      this.frame.classList.toggle("no-webgl", !this.painter);
      this.listen();
      this.update(properties);
      // A step to a neighbour draws the page anew; the keyboard stays with the picture.
      if (headscape.stepping && this.single) this.frame.focus();
      headscape.stepping = false;
    }

    get single() {
      return this.properties.panels.length === 1;
    }

    get rows() {
      return Math.ceil(this.properties.panels.length / this.properties.columns);
    }

    update(properties) {
      const before = this.properties || {};
      this.properties = properties;
      if (before.src === properties.src && before.columns === properties.columns) return;
      this.camera = headscape.camera.start();
      this.hideTip();
      this.resize();
      this.load();
    }

    // -- loading and drawing ----------------------------------------------------------------------

    async load() {
      this.abort?.abort();
      this.abort = new AbortController();
      this.frame.setAttribute("aria-busy", "true");
      try {
        if (!this.painter) return this.loadImage();
        const response = await fetch(this.properties.src, { signal: this.abort.signal });
        if (!response.ok) throw new Error(await response.text());
        this.points = headscape.decode(await response.arrayBuffer());
        this.index = this.single ? headscape.gridIndex.build(this.points.places, this.points.most) : null;
        this.painter.upload(this.points);
        this.paint();
        this.finish("");
      } catch (error) {
        if (error.name !== "AbortError") this.finish(error.message);
      }
    }

    loadImage() {
      const side = Math.round(this.side * this.scale);
      this.image.onload = () => this.finish("");
      this.image.onerror = () => this.finish("The picture could not be loaded. Reload the page.");
      this.image.src = `${this.properties.raster}&side=${side}&gap=${Math.round(GAP * this.scale)}&scheme=${scheme()}`;
    }

    finish(problem) {
      this.frame.querySelector(".problem").textContent = problem;
      this.frame.removeAttribute("aria-busy");
      this.frame.dataset.drawn = problem ? "" : this.properties.src;
      root.requestAnimationFrame(() => root.performance.mark("headscape-drawn"));
    }

    paint() {
      if (!this.painter || this.waiting) return;
      this.waiting = root.requestAnimationFrame(() => {
        this.waiting = 0;
        const palette = this.properties.palette[scheme()] || this.properties.palette.light;
        const { size, alpha } = this.marks();
        this.painter.paint({ columns: this.properties.columns, side: this.side * this.scale, gap: GAP * this.scale, size, alpha, camera: this.camera, palette });
      });
    }

    /** Marks grow with zoom, and get thinner where there are many. */
    marks() {
      const perPixel = ((this.points?.tokens || 1) * 2) / (this.side * this.side);
      const size = this.single ? Math.min(9, 3 + Math.log2(this.camera.zoom)) : 1.6;
      const alpha = Math.max(0.15, Math.min(0.85, 0.1 / (perPixel * size)));
      return { size: Math.max(2, size * this.scale), alpha };
    }

    resize() {
      const width = this.frame.parentElement.clientWidth - (this.single ? 0 : 34);
      const columns = this.properties.columns;
      const room = root.innerHeight - this.frame.getBoundingClientRect().top - root.scrollY - 24;
      const [across, high] = this.single ? [width, Math.max(320, room)] : [(width + GAP) / columns - GAP, Math.max(120, room / this.rows - GAP)];
      const fitting = Math.min(across, high);
      this.side = Math.max(SMALLEST_PANEL, Math.floor(fitting));
      this.scale = root.devicePixelRatio || 1;
      const long = (count) => count * (this.side + GAP) - GAP;
      for (const shown of [this.canvas, this.image]) {
        shown.style.width = `${long(columns)}px`;
        shown.style.height = `${long(this.rows)}px`;
      }
      this.canvas.width = Math.round(long(columns) * this.scale);
      this.canvas.height = Math.round(long(this.rows) * this.scale);
      this.frame.parentElement.style.setProperty("--side", `${this.side}px`);
      this.paint();
    }

    // -- pointer ----------------------------------------------------------------------------------

    listen() {
      const on = (target, name, act, options) => target.addEventListener(name, act.bind(this), { signal: this.listening.signal, ...options });
      this.listening = new AbortController();
      on(this.frame, "pointermove", this.pointerMoved);
      on(this.frame, "pointerleave", this.pointerLeft);
      on(this.frame, "pointerdown", this.pointerDown);
      on(this.frame, "pointerup", this.pointerUp);
      on(this.frame, "wheel", this.wheelTurned, { passive: false });
      on(this.frame, "dblclick", this.reset);
      on(this.frame, "keydown", this.keyPressed);
      on(this.frame, "focus", () => this.single || this.show(this.focus));
      on(this.frame, "blur", () => this.kept || this.hideTip());
      on(this.canvas, "webglcontextlost", (event) => event.preventDefault());
      on(this.canvas, "webglcontextrestored", () => (this.painter.restore(), this.paint()));
      this.watchers = [new ResizeObserver(() => this.resize()), new MutationObserver(() => this.schemeChanged())];
      this.watchers[0].observe(this.frame.parentElement);
      this.watchers[1].observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });
    }

    schemeChanged() {
      if (this.painter) this.paint();
      else this.loadImage();
    }

    /** Place of the pointer: in pixels from the upper left, and 0..1 from the lower left. */
    place(event) {
      const box = this.canvas.hidden ? this.image.getBoundingClientRect() : (this.painter ? this.canvas : this.image).getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      return { px, py, sx: px / box.width, sy: 1 - py / box.height };
    }

    panelAt({ px, py }) {
      const [column, row] = [px, py].map((pixel) => Math.floor(pixel / (this.side + GAP)));
      const inside = column >= 0 && row >= 0 && column < this.properties.columns && row < this.rows;
      return inside ? row * this.properties.columns + column : -1;
    }

    pointerMoved(event) {
      const place = this.place(event);
      if (this.dragging) return this.drag(place);
      if (!this.single) {
        const panel = this.panelAt(place);
        return panel < 0 ? this.hideTip() : this.show(panel);
      }
      if (!this.kept) this.hover(place);
    }

    pointerLeft() {
      this.dragging = null;
      if (!this.kept) this.hideTip();
    }

    pointerDown(event) {
      if (event.target.closest(".tip") || event.button) return;
      const place = this.place(event);
      this.pressed = place;
      if (this.single && this.painter) this.dragging = place;
    }

    pointerUp(event) {
      const place = this.place(event);
      const moved = !this.pressed || Math.hypot(place.px - this.pressed.px, place.py - this.pressed.py) > 4;
      this.dragging = this.pressed = null;
      if (moved) return;
      if (!this.single) return this.open(this.panelAt(place));
      this.kept = false;
      this.hover(place);
      this.kept = this.hovered >= 0;
    }

    drag(place) {
      this.camera = headscape.camera.pan(this.camera, place.sx - this.dragging.sx, place.sy - this.dragging.sy);
      this.dragging = place;
      this.moved();
    }

    wheelTurned(event) {
      if (!this.single || !this.painter) return;
      event.preventDefault();
      const place = this.place(event);
      this.zoom(Math.exp(-event.deltaY * 0.0015), place.sx, place.sy);
    }

    zoom(factor, sx, sy) {
      this.camera = headscape.camera.zoomAt(this.camera, factor, sx, sy);
      this.moved();
    }

    reset() {
      this.camera = headscape.camera.start();
      this.moved();
    }

    moved() {
      this.kept = false;
      this.hideTip();
      this.frame.dataset.zoom = this.camera.zoom.toFixed(2);
      this.paint();
    }

    // -- what is said -----------------------------------------------------------------------------

    /** Grid: the ring round a head, and what it does. */
    show(panel) {
      this.focus = panel;
      const { name, says } = this.properties.panels[panel];
      const [row, column] = [Math.floor(panel / this.properties.columns), panel % this.properties.columns];
      this.moveRing(column * (this.side + GAP), row * (this.side + GAP), this.side);
      this.tip.replaceChildren(Object.assign(document.createElement("strong"), { textContent: name }), ` ${says}`);
      this.says.textContent = `${name} ${says}`;
      this.placeTip(column * (this.side + GAP) + this.side / 2, (row + 1) * (this.side + GAP));
    }

    /** One head: the nearest point, and its card from the server. */
    hover(place) {
      if (!this.index) return;
      const [x, y] = headscape.camera.toData(this.camera, place.sx, place.sy);
      const found = headscape.gridIndex.nearest(this.index, x, y, HOVER_RADIUS / this.side / this.camera.zoom);
      if (found === this.hovered) return;
      this.hideTip();
      this.hovered = found;
      if (found < 0) return;
      const [sx, sy] = headscape.camera.toScreen(this.camera, this.points.places[2 * found] / this.points.most, this.points.places[2 * found + 1] / this.points.most);
      const [px, py] = [sx * this.side, (1 - sy) * this.side];
      this.moveRing(px - 6, py - 6, 12);
      this.pausing = root.setTimeout(() => this.fetchCard(found, px, py), HOVER_PAUSE);
    }

    async fetchCard(point, px, py) {
      this.cardAbort = new AbortController();
      try {
        const response = await fetch(`${this.properties.card}${point & 1 ? "key" : "query"}/${point >> 1}.json`, { signal: this.cardAbort.signal });
        if (!response.ok) throw new Error(await response.text());
        const card = await response.json();
        this.tip.replaceChildren(headscape.card.draw(card));
        this.says.textContent = `${card.role} ${card.wordpiece}, position ${card.position} in sentence ${card.sentence}`;
        this.placeTip(px, py + 12);
      } catch (error) {
        if (error.name !== "AbortError") this.finish(error.message);
      }
    }

    moveRing(left, top, size) {
      Object.assign(this.ring.style, { display: "block", left: `${left}px`, top: `${top}px`, width: `${size}px`, height: `${size}px` });
    }

    /** Below the place, moved left or above where there is no room. */
    placeTip(px, py) {
      this.tip.style.display = "block";
      const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
      const box = this.canvas.getBoundingClientRect();
      const most = Math.min(this.frame.clientWidth, root.innerWidth - box.left) - width;
      const above = box.top + py + height > root.innerHeight && py - height - 24 > -box.top;
      this.tip.style.left = `${Math.max(0, Math.min(most, px - (this.single ? 0 : width / 2)))}px`;
      this.tip.style.top = `${above ? py - height - 24 - (this.single ? 0 : this.side) : py + 4}px`;
    }

    hideTip() {
      root.clearTimeout(this.pausing);
      this.cardAbort?.abort();
      this.hovered = -1;
      this.kept = false;
      this.ring.style.display = this.tip.style.display = "none";
    }

    // -- keys and what goes out -------------------------------------------------------------------

    keyPressed(event) {
      const step = STEPS[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (step && this.single) this.step(...step);
      else if (step) this.moveFocus(...step);
      else if (event.key === "Enter" && !this.single) this.open(this.focus);
      else if (event.key === "Escape") this.hideTip();
      else if (this.single && "+=".includes(event.key)) this.zoom(1.5, 0.5, 0.5);
      else if (this.single && event.key === "-") this.zoom(1 / 1.5, 0.5, 0.5);
      else if (this.single && event.key === "0") this.reset();
      else return;
      event.preventDefault();
    }

    step(rows, columns) {
      headscape.stepping = true;
      this.send({ stepped: { rows, columns } });
    }

    moveFocus(rows, columns) {
      const across = this.properties.columns;
      const row = Math.max(0, Math.min(this.rows - 1, Math.floor(this.focus / across) + rows));
      const column = Math.max(0, Math.min(across - 1, (this.focus % across) + columns));
      this.show(row * across + column);
    }

    open(panel) {
      if (panel >= 0) this.send({ opened: { panel } });
    }

    send(event) {
      const [name] = Object.keys(event);
      this.properties.setProps({ [name]: { ...event[name], count: ++this.count } });
    }

    release() {
      this.abort?.abort();
      this.cardAbort?.abort();
      this.listening.abort();
      this.watchers.forEach((watcher) => watcher.disconnect());
      this.painter?.release();
    }
  }

  // -- React ----------------------------------------------------------------------------------------

  function labels(className, count, letter) {
    const names = Array.from({ length: count }, (_, i) => root.React.createElement("span", { key: i }, letter + i));
    return root.React.createElement("div", { className, "aria-hidden": true }, names);
  }

  function PointPanels(properties) {
    const make = root.React.createElement;
    const frame = root.React.useRef(null);
    const panels = root.React.useRef(null);
    root.React.useEffect(() => {
      panels.current = new Panels(frame.current, properties);
      return () => panels.current.release();
    }, []);
    root.React.useEffect(() => panels.current.update(properties));
    const single = properties.panels.length === 1;
    const rows = Math.ceil(properties.panels.length / properties.columns);
    return make("div", { id: properties.id, className: single ? "points single" : "points grid" }, [
      single ? null : labels("column-names", properties.columns, "H"),
      single ? null : labels("row-names", rows, "L"),
      make("div", { key: "frame", ref: frame, className: "frame", tabIndex: 0, role: "application", "aria-label": properties.label }, [
        make("canvas", { key: "canvas", "aria-hidden": true }),
        make("img", { key: "image", alt: "" }),
        make("div", { key: "ring", className: "ring" }),
        make("div", { key: "tip", className: "tip" }),
        make("p", { key: "problem", className: "problem", role: "alert" }),
        make("div", { key: "says", className: "says", "aria-live": "polite" }),
      ]),
    ]);
  }

  headscape.PointPanels = PointPanels;
})(window);
