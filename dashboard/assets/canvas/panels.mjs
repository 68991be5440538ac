// The state of the component: which picture, what of it has come, where the reader looks. Pointer, keys and toolbar call it.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const scheme = () => document.documentElement.getAttribute("data-mantine-color-scheme") || "light";
  const placeOf = (picture) => picture?.points.split("?")[0];

  class Panels {
    constructor(host) {
      this.host = host;
      for (const name of ["frame", "tools", "note", "problem", "says", "ring", "tip", "overlay"]) this[name] = host.querySelector(`.${name}`);
      this.canvas = this.frame.querySelector("canvas");
      this.image = this.frame.querySelector("img");
      this.picture = null;
      this.listening = new AbortController();
      this.data = {};
      this.count = 0;
      this.camera = headscape.camera.start();
      this.painter = headscape.painter.create(this.canvas);
      this.host.toggleAttribute("data-still", !this.painter);
      this.parts = headscape.loading.create();
      this.hover = headscape.hover.create(this);
      this.pace = headscape.pace.create(this);
      this.gaze = headscape.gaze.create(this);
      this.layer = headscape.overlay.create(this);
      this.address = headscape.cameraAddress.create(this);
      this.tool = headscape.toolbar.create(this);
      this.player = headscape.player.create(this);
      this.twins = headscape.twins.create(this);
      headscape.pointer.listen(this);
      headscape.keys.listen(this);
      this.watch();
    }

    get single() {
      return this.picture?.panels.length === 1;
    }

    get scheme() {
      return scheme();
    }

    get palette() {
      return this.picture.palette[scheme()] || this.picture.palette.light;
    }

    /** What the points of a token are: its query and its key, or the token itself. */
    get roles() {
      return this.picture.roles;
    }

    /** The token of a point, and which role of it. */
    named(point) {
      return { token: Math.floor(point / this.roles.length), role: this.roles[point % this.roles.length] };
    }

    on(target, name, act, options) {
      target.addEventListener(name, act, { signal: this.listening.signal, ...options });
    }

    watch() {
      this.on(this.canvas, "webglcontextlost", (event) => event.preventDefault());
      this.on(this.canvas, "webglcontextrestored", () => (this.painter.restore(), this.paint()));
      this.watchers = [new ResizeObserver(() => headscape.room.take(this)), new MutationObserver(() => this.schemeChanged())];
      this.watchers[0].observe(this.host.parentElement);
      this.watchers[1].observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });
    }

    // -- the picture ------------------------------------------------------------------------------

    update(picture, setProps) {
      this.setProps = setProps;
      if (picture === this.picture) return;
      const before = this.picture;
      this.picture = picture;
      if (!picture?.after) this.askAfter("");
      if (!picture) return this.hide();
      const isElsewhere = placeOf(before) !== placeOf(picture) && !headscape.player.isOfOneWay(before, picture);
      if (isElsewhere) this.arrive(before, picture);
      this.player.renew(isElsewhere);
      headscape.room.take(this);
      if (this.emerging && this.layout) this.camera = headscape.layout.fill(this.layout, this.camera, this.came);
      // Else what is shown stays right until its new parts have come: where a processor draws, a painting more is felt.
      if (isElsewhere) this.paint();
      this.tool.renew();
      this.loaded = this.load();
      this.layer.load();
    }

    hide() {
      this.gaze.still();
      this.player.leave();
      this.hover.hide();
      this.address.forget();
    }

    /** Another picture than before: where the reader looks at first, and out of which panel it grows. */
    arrive(before, picture) {
      this.gaze.still();
      this.hover.hide();
      this.tool.cancel();
      this.address.forget();
      const [grid, one] = before && before.panels.length > picture.panels.length ? [before, picture] : [picture, before];
      const across = before && grid.panels.length > 1 && one.panels.length === 1;
      this.came = across ? grid.panels.findIndex((panel) => panel.name === one.panels[0].name) : -1;
      this.emerging = Boolean(this.came >= 0 && grid === picture && !picture.at && this.painter);
      const turned = before && !picture.at && before.dimensions === 3 && picture.dimensions === 3;
      const { yaw, pitch } = this.camera;
      this.camera = headscape.camera.parse(picture.at, picture.dimensions);
      if (turned) this.camera = { ...this.camera, yaw, pitch };
      this.address.write();
      this.hover.focus = grid === picture ? Math.max(0, this.came) : 0;
      this.frame.dataset.zoom = this.camera.zoom.toFixed(2);
    }

    async load() {
      const { points, colours, mask, sizes } = this.picture;
      const { bytes } = headscape.loading;
      this.frame.setAttribute("aria-busy", "true");
      if (!this.painter) return headscape.stillPicture.load(this);
      try {
        const data = await this.parts.load({
          points: { url: points, read: bytes(headscape.decode) },
          colours: { url: colours, read: bytes(headscape.decode.colours) },
          mask: { url: mask, read: bytes(headscape.decode.mask) },
          sizes: { url: sizes, read: bytes(headscape.decode.colours) },
        });
        if (data && this.picture) this.show(data);
      } catch (error) {
        this.finish(error.message);
      }
    }

    show(came) {
      const { points } = this.data;
      const stays = this.player.isAway() && points?.panels === 1 && points.tokens === came.points.tokens;
      const data = stays ? { ...came, points } : came;
      const renewed = Object.keys(data).some((name) => data[name] !== this.data[name]);
      this.painter.take(data);
      this.data = data;
      this.finish("", renewed);
      this.layer.renew();
      if (renewed) this.paint();
      if (!this.emerging) return;
      this.emerging = false;
      this.gaze.glide(headscape.camera.parse(null, this.picture.dimensions));
    }

    finish(problem, renewed) {
      const { points, colours, mask } = this.picture || {};
      this.problem.textContent = problem;
      this.frame.removeAttribute("aria-busy");
      Object.assign(this.frame.dataset, { drawn: problem ? "" : points || "", coloured: (!problem && colours) || "", masked: (!problem && mask) || "" });
      root.requestAnimationFrame(() => (renewed && root.performance.mark("headscape-drawn"), this.askAfter(this.picture?.after || "")));
    }

    /** What a page has below its picture and takes long is asked for when the picture is painted, once for each `after`. */
    askAfter(after) {
      if (after === (this.after || "")) return;
      this.after = after;
      this.send({ painted: { after } });
    }

    // -- painting ---------------------------------------------------------------------------------

    paint() {
      if (!this.painter || this.waiting) return;
      this.waiting = root.requestAnimationFrame(() => {
        this.waiting = 0;
        if (this.picture && this.layout) this.paintNow();
      });
    }

    paintNow() {
      const { layout, camera, scale, palette, scheme } = this;
      const shown = { layout, camera, scale, palette, scheme, roles: this.roles, ramp: this.picture.ramp?.[scheme], outlined: this.picture.outlined, ...this.section() };
      const most = this.pace.most(this.data.points, shown.only !== undefined);
      const marks = headscape.marks(Math.min(most, (this.data.points?.tokens || 1) * this.roles.length), layout.side * camera.zoom);
      this.painter.paint({ ...shown, ...marks, most, dim: this.layer.focused ? 0.45 : 1, between: this.player.between });
      this.pace.drawn();
      this.layer.draw();
      headscape.names.place(this);
    }

    /** Acts while the points are painted at so many pixels for each of the page: WebGL keeps no picture after that. */
    enlarged(scale, act) {
      const before = this.scale;
      const paint = (pixels) => {
        this.scale = pixels;
        [this.canvas.width, this.canvas.height] = [this.layout.width, this.layout.height].map((length) => Math.round(length * pixels));
        this.paintNow();
      };
      paint(scale);
      act();
      paint(before);
    }

    /** While a head's picture is on its way its panel of the grid stands in for it, and the other way round. */
    section() {
      const drawn = this.data.points?.panels;
      if (!drawn || drawn === this.picture.panels.length) return { shift: 0 };
      return drawn === 1 ? { only: 0, shift: headscape.layout.slotOf(this.layout, Math.max(0, this.came)) } : { only: Math.max(0, this.came), shift: -Math.max(0, this.came) };
    }

    schemeChanged() {
      if (!this.picture) return;
      if (this.painter) this.paint();
      else headscape.stillPicture.load(this);
    }

    // -- what goes out ----------------------------------------------------------------------------

    openAt(px, py) {
      const { layout, camera } = this;
      const under = headscape.layout.panelAt(layout, camera, px, py);
      this.open(under >= 0 ? under : headscape.layout.panelAt(layout, camera, layout.width / 2, layout.height / 2));
    }

    open(panel) {
      if (panel < 0 || this.gaze.gliding) return;
      const go = () => (this.address.forget(), this.send({ opened: { panel } }));
      if (!this.painter) return go();
      this.gaze.glide(headscape.layout.fill(this.layout, this.camera, panel), go);
    }

    /** Out of a head, back to all of them. */
    leave() {
      this.player.leave();
      this.address.forget();
      this.send({ left: { panel: this.came ?? -1 } });
    }

    step(rows, columns) {
      if (this.picture.sequence) return this.player.step(rows + columns);
      const link = this.picture.page ? null : headscape.address.neighbour(this.picture, { rows, columns });
      if (!link) return;
      this.address.forget();
      headscape.address.visit(link);
    }

    /** A point, or none: where none was chosen that is no news. */
    pick(point) {
      if (point >= 0) this.send({ picked: { ...this.named(point) } });
      else if (this.picture.chosen) this.send({ picked: { token: -1, role: this.picture.chosen.role } });
    }

    send(event) {
      const [name] = Object.keys(event);
      this.setProps({ [name]: { ...event[name], count: ++this.count } });
    }

    release() {
      this.hide();
      this.parts.cancel();
      this.layer.release();
      this.player.leave();
      this.pace.release();
      this.listening.abort();
      this.watchers.forEach((watcher) => watcher.disconnect());
      this.painter?.release();
    }
  }

  headscape.Panels = Panels;
})(window);
