// Draws all panels with one call on one WebGL2 canvas; what is selected is drawn once more, on top.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  /** Attributes beside the place: each one byte per point, replaced without touching the places. */
  const BYTES = { colours: 1, sizes: 2 };
  const ONWARD = 3;
  const MISSING = { light: "#868a91", dark: "#8b8f96" };

  const rgb = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16) / 255);

  /** How many of ascending numbers are below `limit`. */
  function lowerBound(numbers, limit) {
    let [low, high] = [0, numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < limit) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Texture of 256 colours for the first role, below them those for the second. */
  function texels(ramp) {
    const values = new Uint8Array(2 * 256 * 4).fill(255);
    Object.values(ramp).slice(0, 2).forEach((colours, row) => colours.slice(0, 256).forEach((hex, i) => values.set(rgb(hex).map((part) => Math.round(255 * part)), 4 * (256 * row + i))));
    return values;
  }

  /** A painter on a canvas, or null where there is no WebGL2. */
  function create(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: false });
    if (!gl) return null;
    let linked, buffers, ramp;
    let parts = {};
    let selected = new Uint32Array();
    prepare();

    function prepare() {
      linked = headscape.shaders.link(gl);
      buffers = Object.fromEntries(["points", "onward", "selected", ...Object.keys(BYTES)].map((name) => [name, gl.createBuffer()]));
      ramp = null;
      gl.useProgram(linked.program);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    }

    function fill(name, index, values, components, kind, normalized) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(index);
      gl.vertexAttribPointer(index, components, kind, normalized, 0, 0);
    }

    const fillPlaces = (name, index, { places, components, width }) => fill(name, index, places, components, width === 1 ? gl.UNSIGNED_BYTE : gl.UNSIGNED_SHORT, true);

    /** Where the same points are on their way to; null for nowhere. */
    function takeOnward(points) {
      if (points) fillPlaces("onward", ONWARD, points);
      else gl.disableVertexAttribArray(ONWARD);
    }

    function fillBytes(name, points, decoded) {
      checkTokens(name, points, decoded);
      if (decoded) fill(name, BYTES[name], headscape.decode.spread(decoded, points.panels), 1, gl.UNSIGNED_BYTE, false);
      else gl.disableVertexAttribArray(BYTES[name]);
    }

    function checkTokens(name, points, decoded) {
      if (decoded && (decoded.tokens !== points.tokens || decoded.roles !== points.roles)) throw new Error(`The ${name} belong to other points. Reload the page.`);
    }

    /** The selected points by their number, ascending: few are drawn twice, and the others need not know. */
    function fillSelected(points, mask) {
      checkTokens("mask", points, mask);
      selected = mask ? headscape.decode.selected(mask, points.panels) : new Uint32Array();
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.selected);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, selected, gl.STATIC_DRAW);
    }

    /** {points, colours, mask, sizes} as decoded or null; only what is another object than before goes to the graphics card. */
    function take(next) {
      const { points } = next;
      const renewed = parts.points !== points;
      if (renewed) fillPlaces("points", 0, points);
      for (const name of Object.keys(BYTES)) if (renewed || parts[name] !== next[name]) fillBytes(name, points, next[name]);
      if (renewed || parts.mask !== next.mask) fillSelected(points, next.mask);
      parts = next;
    }

    function takeRamp(colours) {
      if (!colours || ramp === colours) return;
      ramp = colours;
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 2, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels(colours));
    }

    function uniforms({ layout, camera, scale, size, alpha, dim, between, palette, scheme, roles, outlined }) {
      const { at } = linked;
      const [width, height] = [layout.width * scale, layout.height * scale];
      const pixels = { side: layout.side * scale, gap: layout.gap * scale, title: layout.title * scale, inset: layout.inset * scale, size: size * scale };
      const whole = { perPanel: perPanel(), roles: parts.points.roles, columns: layout.columns, coloured: parts.colours && ramp ? 1 : 0 };
      // Where nothing is selected there is nothing to make stand out: no point fades.
      const flags = { masked: selected.length ? 1 : 0, outlined: outlined ? 1 : 0, selected: 0, sized: parts.sizes ? 1 : 0, clipped: layout.single ? 0 : 1 };
      for (const [name, value] of Object.entries({ ...whole, ...flags })) gl.uniform1i(at[name], value);
      for (const [name, value] of Object.entries({ ...pixels, part: layout.part, zoom: camera.zoom, alpha, dim, between })) gl.uniform1f(at[name], value);
      gl.uniform2f(at.canvas, width, height);
      gl.uniform2f(at.centre, camera.x * width, (1 - camera.y) * height);
      const colours = { firstColour: palette[roles[0]], secondColour: palette[roles[1] || roles[0]], missingColour: MISSING[scheme] || MISSING.light };
      for (const [name, hex] of Object.entries(colours)) gl.uniform3f(at[name], ...rgb(hex));
      gl.uniformMatrix3fv(at.turn, true, parts.points.components === 3 ? headscape.camera.rotation(camera).flat() : [1, 0, 0, 0, 1, 0, 0, 0, 0]);
    }

    /** The ground of every panel: scissored clears, so that nothing but points goes through a shader. */
    function ground({ layout, camera, scale, palette }) {
      gl.disable(gl.SCISSOR_TEST);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.enable(gl.SCISSOR_TEST);
      gl.clearColor(...rgb(palette.panel), 1);
      for (let panel = 0; panel < layout.count; panel++) {
        const [left, top, side] = layout.single ? [0, 0, layout.width] : headscape.layout.rectangle(layout, camera, panel);
        gl.scissor(...[left, layout.height - top - side, side, side].map((pixels) => Math.round(pixels * scale)));
        gl.clear(gl.COLOR_BUFFER_BIT);
      }
      gl.disable(gl.SCISSOR_TEST);
    }

    const perPanel = () => parts.points.tokens * parts.points.roles;

    /**
     * Ranges of points to draw, each with by how many places its panels are moved on: all in one, or panel by panel, of each
     * its first `most`: any first part of a corpus is a fair sample.
     */
    function ranges({ only, most, shift, layout }) {
      const each = perPanel();
      const count = Math.min(each, most);
      if (only !== undefined) return [[only * each, count, shift]];
      if (count === each && !layout.slots) return [[0, parts.points.panels * each, shift]];
      return Array.from({ length: parts.points.panels }, (_, panel) => [panel * each, count, shift + headscape.layout.slotOf(layout, panel) - panel]);
    }

    /** `only` draws one of the panels that were taken, `shift` moves panels on by so many places, `most` is the most points of each. */
    function paint(view) {
      if (gl.isContextLost()) return;
      gl.viewport(0, 0, canvas.width, canvas.height);
      ground(view);
      if (!parts.points) return;
      takeRamp(view.ramp);
      uniforms(view);
      for (const [first, count, shift] of ranges(view)) {
        gl.uniform1i(linked.at.shift, shift);
        gl.drawArrays(gl.POINTS, first, count);
      }
      if (parts.mask) paintSelected(view);
    }

    function paintSelected(view) {
      gl.uniform1i(linked.at.selected, 1);
      for (const [first, count, shift] of ranges(view)) {
        gl.uniform1i(linked.at.shift, shift);
        const [from, to] = [lowerBound(selected, first), lowerBound(selected, first + count)];
        gl.drawElements(gl.POINTS, to - from, gl.UNSIGNED_INT, 4 * from);
      }
    }

    /** Calls when all that was asked for is drawn: the graphics card works frames behind. */
    function whenDone(act) {
      const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
      gl.flush();
      const look = () => {
        if (gl.isContextLost()) return;
        if (gl.getSyncParameter(fence, gl.SYNC_STATUS) !== gl.SIGNALED) return root.setTimeout(look, 15);
        gl.deleteSync(fence);
        act();
      };
      root.setTimeout(look, 15);
    }

    function restore() {
      const before = parts;
      parts = {};
      prepare();
      if (before.points) take(before);
    }

    /** Give the context back: a browser keeps only sixteen. */
    const release = () => gl.getExtension("WEBGL_lose_context")?.loseContext();

    return { take, takeOnward, paint, whenDone, restore, release };
  }

  headscape.painter = { create };
})(window);
