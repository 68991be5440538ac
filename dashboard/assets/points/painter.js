// Draws all panels with one call on one WebGL2 canvas. Queries are discs, keys are diamonds.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});

  const VERTEX = `#version 300 es
    in vec2 place;
    uniform int perPanel, columns;
    uniform vec2 canvas;          // pixels
    uniform float side, gap, size, zoom;
    uniform vec2 centre;
    uniform vec3 queryColour, keyColour;
    out vec3 colour;
    flat out int role;
    void main() {
      int panel = gl_VertexID / perPanel;
      role = gl_VertexID & 1;
      colour = role == 0 ? queryColour : keyColour;
      vec2 corner = vec2(panel % columns, panel / columns) * (side + gap);
      vec2 inside = (place - centre) * zoom + 0.5;
      float margin = 0.5 * size / side;
      if (any(lessThan(inside, vec2(-margin))) || any(greaterThan(inside, vec2(1.0 + margin)))) {
        gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
        return;
      }
      float inset = zoom > 1.0 ? 0.0 : size * 0.5 + 1.0;
      vec2 pixel = corner + vec2(inset) + vec2(inside.x, 1.0 - inside.y) * (side - 2.0 * inset);
      gl_Position = vec4(pixel / canvas * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0);
      gl_PointSize = size;
    }`;

  const FRAGMENT = `#version 300 es
    precision mediump float;
    in vec3 colour;
    flat in int role;
    uniform float alpha;
    out vec4 shown;
    void main() {
      vec2 from = abs(gl_PointCoord - 0.5);
      if (role == 0 ? dot(from, from) > 0.25 : from.x + from.y > 0.5) discard;
      shown = vec4(colour * alpha, alpha);
    }`;

  function compile(gl, kind, source) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
    return shader;
  }

  function link(gl) {
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    return program;
  }

  const rgb = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16) / 255);

  /** A painter on a canvas, or null where there is no WebGL2. */
  function create(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: false });
    if (!gl) return null;
    let program = link(gl);
    let points = null;

    function upload(decoded) {
      points = decoded;
      gl.useProgram(program);
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, decoded.places, gl.STATIC_DRAW);
      const place = gl.getAttribLocation(program, "place");
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 2, decoded.width === 1 ? gl.UNSIGNED_BYTE : gl.UNSIGNED_SHORT, true, 0, 0);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    }

    function paint({ columns, side, gap, size, alpha, camera, palette }) {
      if (!points || gl.isContextLost()) return;
      const at = (name) => gl.getUniformLocation(program, name);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform1i(at("perPanel"), points.tokens * 2);
      gl.uniform1i(at("columns"), columns);
      gl.uniform2f(at("canvas"), canvas.width, canvas.height);
      gl.uniform2f(at("centre"), camera.x, camera.y);
      for (const [name, value] of Object.entries({ side, gap, size, alpha, zoom: camera.zoom })) gl.uniform1f(at(name), value);
      gl.uniform3f(at("queryColour"), ...rgb(palette.query));
      gl.uniform3f(at("keyColour"), ...rgb(palette.key));
      gl.drawArrays(gl.POINTS, 0, points.panels * points.tokens * 2);
    }

    function restore() {
      program = link(gl);
      if (points) upload(points);
    }

    /** Give the context back: a browser keeps only sixteen. */
    const release = () => gl.getExtension("WEBGL_lose_context")?.loseContext();

    return { upload, paint, restore, release };
  }

  headscape.painter = { create };
})(window);
