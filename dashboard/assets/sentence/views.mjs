// The state of the component: which sentence, what of it has come, which view shows it. The views call it.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const make = (...given) => sentence.make(...given);
  const KINDS = () => ({ head: sentence.headView, model: sentence.modelView, matrix: sentence.matrixView, neuron: sentence.neuronView });
  const scheme = () => document.documentElement.getAttribute("data-mantine-color-scheme") || "light";
  const UNREACHABLE = "The server cannot be reached. Check the connection, then reload the page.";

  /** What a view needs: its address and how it is read. */
  function part({ show, layer_url, model_url, neuron_url }) {
    const { bytes, json } = headscape.loading || {};
    if (show === "model") return { url: model_url, read: bytes?.(sentence.decode.model) };
    if (show === "neuron") return { url: neuron_url, read: json };
    return { url: layer_url, read: bytes?.(sentence.decode.layer) };
  }

  class Views {
    constructor(host, source, { offline = false } = {}) {
      this.host = host;
      this.source = source;
      this.shown = this.asked = this.view = null;
      this.count = 0;
      this.build();
      this.pointer = sentence.tip.create(this);
      this.files = sentence.tools.create(this, { offline });
      this.watch();
      sentence.current = this;
    }

    build() {
      this.legend = make("p", { className: "legend", hidden: true }, "0", make("span", { className: "bar" }), make("span", { className: "most" }), "(shade by the square root)");
      this.lead = make("div", { className: "lead" });
      this.tools = make("div", { className: "tools", hidden: true, role: "group", "aria-label": "Save" });
      this.problem = make("p", { className: "problem", role: "alert" });
      this.note = make("p", { className: "note" });
      this.stage = make("div", { className: "stage" });
      this.tip = make("div", { className: "tip" });
      this.says = make("div", { className: "says", "aria-live": "polite" });
      const above = make("div", { className: "above" }, this.lead, this.legend, this.tools);
      this.host.replaceChildren(above, this.problem, this.note, this.stage, this.tip, this.says);
    }

    watch() {
      this.listening = new AbortController();
      this.host.addEventListener("keydown", (event) => this.press(event), { signal: this.listening.signal });
      this.watchers = [new ResizeObserver(() => this.resized()), new MutationObserver(() => this.redraw())];
      this.watchers[0].observe(this.host);
      this.watchers[1].observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });
    }

    get palette() {
      return this.shown.palette[scheme()] || this.shown.palette.light;
    }

    get ramp() {
      return sentence.shades.ramp(this.palette, scheme());
    }

    colour(head) {
      const colours = this.shown.colours[scheme()] || this.shown.colours.light;
      return colours[head % colours.length];
    }

    /** As in a legend: `H3`, or what takes the place of heads. */
    nameOf(head) {
      return this.shown.head_names[head] ?? `H${head}`;
    }

    // -- what is asked and what has come ------------------------------------------------------------

    update(asked, setProps) {
      this.setProps = setProps;
      const text = JSON.stringify(asked);
      if (text === this.text) return;
      this.text = text;
      this.asked = asked;
      if (asked) this.load();
      else this.clear();
    }

    async load() {
      const { asked } = this;
      const wanted = part(asked);
      this.host.setAttribute("aria-busy", "true");
      try {
        const come = await this.source.load({ data: wanted });
        if (come && asked === this.asked) this.show(asked, come.data, wanted.url);
      } catch (error) {
        if (asked === this.asked) this.fail(error);
      }
    }

    show(asked, data, url) {
      const before = this.view?.kind;
      if (before !== asked.show) this.leaveView();
      this.shown = { ...asked, queries: asked.queries || [], chosen: within(asked, data), data };
      if (before !== asked.show) this.enterView(asked.show);
      for (const [name, value] of [["role", "group"], ["aria-label", asked.title]]) this.host.setAttribute(name, value);
      this.finish("", url);
      this.redraw();
      root.requestAnimationFrame(() => root.performance.mark("headscape-drawn"));
    }

    fail(error) {
      this.finish(error instanceof TypeError ? UNREACHABLE : error.message, "");
    }

    finish(problem, url) {
      this.problem.textContent = problem;
      this.stage.hidden = this.lead.hidden = this.tools.hidden = this.legend.hidden = Boolean(problem);
      if (problem) this.note.textContent = "";
      this.host.removeAttribute("aria-busy");
      this.host.dataset.drawn = url || "";
    }

    clear() {
      this.source.cancel();
      this.leaveView();
      this.shown = null;
      this.finish("", "");
    }

    // -- the view -----------------------------------------------------------------------------------

    enterView(kind) {
      const ending = new AbortController();
      this.view = { ...KINDS()[kind].create(this, this.stage, ending.signal), kind, ending };
    }

    leaveView() {
      this.view?.ending.abort();
      this.view = null;
      this.leave();
      this.note.textContent = "";
      this.stage.replaceChildren();
      this.lead.replaceChildren();
      delete this.host.dataset.lines;
    }

    redraw() {
      if (!this.view || this.stage.hidden) return;
      this.files.renew();
      this.drawLegend();
      this.view.draw(this.shown);
    }

    resized() {
      if (!this.view || this.stage.hidden || !this.host.clientWidth || this.width === this.host.clientWidth) return;
      this.width = this.host.clientWidth;
      this.leave();
      this.view.resize();
    }

    drawLegend() {
      const { show, data } = this.shown;
      this.legend.hidden = !["model", "matrix"].includes(show);
      if (this.legend.hidden) return;
      const colours = this.ramp.filter((_, i) => i % 15 === 0).map(sentence.shades.hex);
      this.legend.querySelector(".bar").style.background = `linear-gradient(to right, ${colours.join(", ")})`;
      this.legend.querySelector(".most").textContent = data.most === 1 ? "1" : data.most.toPrecision(3);
    }

    // -- what is said -------------------------------------------------------------------------------

    say(text) {
      if (this.note.textContent !== text) this.note.textContent = text;
    }

    announce(text) {
      this.says.textContent = text;
    }

    leave() {
      this.pointer.hide();
    }

    async trying(act) {
      try {
        this.problem.textContent = "";
        await act();
      } catch (error) {
        this.problem.textContent = error instanceof TypeError ? UNREACHABLE : error.message;
      }
    }

    // -- what goes out ------------------------------------------------------------------------------

    /** Shown at once; what the page makes of it comes as another `sentence`. */
    choose(change, event) {
      Object.assign(this.shown, change);
      this.redraw();
      this.send(event);
    }

    press(event) {
      const layer = { "[": -1, "]": 1 }[event.key];
      if (!layer || !this.shown || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const next = this.shown.layer + layer;
      if (next >= 0 && next < this.shown.layers) this.send({ stepped: { layer } });
    }

    send(event) {
      const [name] = Object.keys(event);
      this.setProps({ [name]: { ...event[name], count: ++this.count } });
    }

    release() {
      this.source.cancel();
      this.leaveView();
      this.listening.abort();
      this.watchers.forEach((watcher) => watcher.disconnect());
      if (sentence.current === this) sentence.current = null;
    }
  }

  /** A link may name heads that there are not; a rollout has one. */
  const within = ({ chosen }, data) => (chosen || []).filter((head) => head < (data?.heads ?? Infinity));

  sentence.Views = Views;
})(window);
