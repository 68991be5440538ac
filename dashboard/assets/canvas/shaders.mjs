// The two programs that draw a point: where it is and how large, then its shape. The first role is a disc, the second a diamond.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});

  const VERTEX = `#version 300 es
    layout(location = 0) in vec3 place;
    layout(location = 1) in float code;      // 0..254, 255 is missing
    layout(location = 2) in float scaled;    // 0..254, 255 is missing
    layout(location = 3) in vec3 onward;      // the next place, on the way to it
    uniform int perPanel, roles, columns, shift;
    uniform bool coloured, masked, selected, sized, clipped;   // masked: dim; selected: stand out
    uniform vec2 canvas, centre;             // pixels
    uniform float side, gap, title, inset, part, zoom, size, alpha, dim, between;
    uniform mat3 turn;
    uniform vec3 firstColour, secondColour, missingColour;
    uniform sampler2D ramp;
    out vec4 colour;
    out float pixels;
    flat out int role;

    vec3 colourOf(int role) {
      if (!coloured) return role == 0 ? firstColour : secondColour;
      return code > 254.5 ? missingColour : texelFetch(ramp, ivec2(int(code), role), 0).rgb;
    }

    void main() {
      role = gl_VertexID % roles;
      int panel = gl_VertexID / perPanel + shift;
      vec3 seen = turn * (mix(place, onward, between) - 0.5);
      if (clipped && any(greaterThan(abs(seen.xy) * part, vec2(0.5)))) {
        gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
        return;
      }
      vec2 corner = vec2(panel % columns, panel / columns) * (side + gap + vec2(0.0, title)) + vec2(0.0, title);
      vec2 inFrame = corner + 0.5 * side + vec2(seen.x, -seen.y) * part * (side - 2.0 * inset);
      vec2 pixel = (inFrame - centre) * zoom + 0.5 * canvas;
      gl_Position = vec4(pixel / canvas * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0);
      float opacity = selected ? 1.0 : masked ? min(alpha, 0.045) : alpha * dim;
      colour = vec4(colourOf(role) * opacity, opacity);
      float grown = sized && scaled < 254.5 ? 0.5 + scaled / 254.0 * 2.0 : 1.0;
      pixels = max(selected ? 4.5 : 2.0, size * grown * (selected ? 1.6 : 1.0) * (1.0 + 0.6 * seen.z));
      gl_PointSize = pixels;
    }`;

  const FRAGMENT = `#version 300 es
    precision mediump float;
    uniform bool outlined;                   // colours are categories: of the second role only the outline
    in vec4 colour;
    in float pixels;
    flat in int role;
    out vec4 shown;
    void main() {
      vec2 from = abs(gl_PointCoord - 0.5) * 2.0;
      float edge = 1.0 - (role == 0 ? length(from) : from.x + from.y);
      float covered = clamp(edge * pixels * 0.5 + 0.5, 0.0, 1.0);
      if (covered <= 0.0) discard;
      // A ring needs room: in a smaller mark the hole would take all of it.
      float hole = outlined && role == 1 && pixels > 4.0 ? clamp((edge - 0.45) * pixels * 0.5 + 0.5, 0.0, 1.0) : 0.0;
      shown = colour * covered * (1.0 - 0.85 * hole);
    }`;

  function compile(gl, kind, source) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
    return shader;
  }

  /** The linked program, and the place of every uniform by its name. */
  function link(gl) {
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) || 0;
    const names = Array.from({ length: count }, (_, i) => gl.getActiveUniform(program, i).name);
    return { program, at: Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(program, name)])) };
  }

  headscape.shaders = { link };
})(window);
