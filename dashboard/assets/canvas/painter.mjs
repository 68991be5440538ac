// Paints all panels with one call on one WebGL2 canvas; selected points are painted once more, on top. Where painting
// all points is slow, fewer are painted while the camera moves. Also decodes the bytes from the server, all
// little-endian: points (HSP3), colours or sizes (HSC2), masks (HSM2).
import { rotationRows, squareWidth } from "./camera.mjs";
import { panelBox, slotOf } from "./layout.mjs";
import { rgbOf } from "../web/drawing.mjs";
import { required } from "../web/elements.mjs";
import { RELOAD, expectBytes, readHeader } from "../web/loading.mjs";

/** Attributes beside the place: each one byte per point, replaced without touching the places. */
const BYTES = { colours: 1, sizes: 2 };
const ONWARD = 3;
const MISSING = { light: "#868a91", dark: "#8b8f96" };

/** Red, green and blue as shaders have them, 0..1. @param {string} hex */
const shaderColour = (hex) => /** @type {Colour} */ (rgbOf(hex).map((part) => part / 255));

/** Count of ascending numbers that are below `limit`. @param {Uint32Array} numbers @param {number} limit */
function lowerBound(numbers, limit) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Texture of 256 colours for the first role, and 256 for the second below.
 * @param {Record<string, string[]>} ramp
 */
function texels(ramp) {
  const values = new Uint8Array(2 * 256 * 4).fill(255);
  Object.values(ramp)
    .slice(0, 2)
    .forEach((colours, row) => colours.slice(0, 256).forEach((hex, i) => values.set(rgbOf(hex), 4 * (256 * row + i))));
  return values;
}

/** A painter on a canvas, or null where there is no WebGL2. @param {HTMLCanvasElement} canvas */
export function createPainter(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: false });
  return gl && painterOn(canvas, gl);
}

/** @param {HTMLCanvasElement} canvas @param {WebGL2RenderingContext} gl */
function painterOn(canvas, gl) {
  let buffers = /** @type {Record<string, WebGLBuffer>} */ ({});
  let ramp = /** @type {Record<string, string[]> | null} */ (null);
  let parts = /** @type {Loaded} */ ({});
  let selected = new Uint32Array();
  let linked = prepare();

  function prepare() {
    const linkedProgram = linkProgram(gl);
    buffers = Object.fromEntries(
      ["points", "onward", "selected", ...Object.keys(BYTES)].map((name) => [name, gl.createBuffer()]),
    );
    ramp = null;
    gl.useProgram(linkedProgram.program);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
      gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    return linkedProgram;
  }

  /**
   * @param {string} name @param {number} index @param {AllowSharedBufferSource} values @param {number} components
   * @param {number} kind @param {boolean} normalized
   */
  function fill(name, index, values, components, kind, normalized) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(index);
    gl.vertexAttribPointer(index, components, kind, normalized, 0, 0);
  }

  /** @param {string} name @param {number} index @param {Points} points */
  const fillPlaces = (name, index, { places, components, width }) =>
    fill(name, index, places, components, width === 1 ? gl.UNSIGNED_BYTE : gl.UNSIGNED_SHORT, true);

  /** Takes the next places of the points; null ends an animation. @param {Points | null} points */
  function takeOnward(points) {
    if (points) fillPlaces("onward", ONWARD, points);
    else gl.disableVertexAttribArray(ONWARD);
  }

  /** @param {keyof typeof BYTES} name @param {Points} points @param {Values | null | undefined} decoded */
  function fillBytes(name, points, decoded) {
    checkTokens(name, points, decoded);
    if (decoded) fill(name, BYTES[name], spreadOverPanels(decoded, points.panels), 1, gl.UNSIGNED_BYTE, false);
    else gl.disableVertexAttribArray(BYTES[name]);
  }

  /** @param {string} name @param {Points} points @param {Values | null | undefined} decoded */
  function checkTokens(name, points, decoded) {
    if (decoded && (decoded.tokens !== points.tokens || decoded.roles !== points.roles))
      throw new Error(`The ${name} belong to other points. Reload the page.`);
  }

  /**
   * Fills the numbers of the selected points, ascending: only these few points are drawn twice.
   * @param {Points} points @param {Mask | null | undefined} mask
   */
  function fillSelected(points, mask) {
    checkTokens("mask", points, mask);
    selected = mask ? selectedPoints(mask, points.panels) : new Uint32Array();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.selected);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, selected, gl.STATIC_DRAW);
  }

  /**
   * Takes decoded {points, colours, mask, sizes}, each or null; only changed objects go to the graphics card.
   * @param {Loaded} next
   */
  function take(next) {
    const points = required(next.points, "the points of a picture");
    const renewed = parts.points !== points;
    if (renewed) fillPlaces("points", 0, points);
    for (const name of /** @type {(keyof typeof BYTES)[]} */ (Object.keys(BYTES)))
      if (renewed || parts[name] !== next[name]) fillBytes(name, points, next[name]);
    if (renewed || parts.mask !== next.mask) fillSelected(points, next.mask);
    parts = next;
  }

  /** @param {Record<string, string[]> | undefined} colours */
  function takeRamp(colours) {
    if (!colours || ramp === colours) return;
    ramp = colours;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 2, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels(colours));
  }

  /** @param {Points} points @param {View} view */
  function uniforms(points, { layout, camera, scale, size, alpha, dim, between, palette, scheme, roles, outlined }) {
    const { at } = linked;
    const [width, height] = [layout.width * scale, layout.height * scale];
    const pixels = {
      side: layout.side * scale,
      gap: layout.gap * scale,
      title: layout.title * scale,
      inset: layout.inset * scale,
      size: size * scale,
    };
    const whole = {
      perPanel: perPanel(points),
      roles: points.roles,
      columns: layout.columns,
      coloured: parts.colours && ramp ? 1 : 0,
    };
    // Where nothing is selected, no point fades.
    const flags = {
      masked: selected.length ? 1 : 0,
      outlined: outlined ? 1 : 0,
      selected: 0,
      sized: parts.sizes ? 1 : 0,
      clipped: layout.single ? 0 : 1,
    };
    for (const [name, value] of Object.entries({ ...whole, ...flags })) gl.uniform1i(at[name], value);
    for (const [name, value] of Object.entries({
      ...pixels,
      part: layout.part,
      zoom: camera.zoom,
      alpha,
      dim,
      between,
    }))
      gl.uniform1f(at[name], value);
    gl.uniform2f(at.canvas, width, height);
    gl.uniform2f(at.centre, camera.x * squareWidth(layout) * scale, (1 - camera.y) * height);
    const colours = {
      firstColour: palette[roles[0]],
      secondColour: palette[roles[1] || roles[0]],
      missingColour: MISSING[scheme] || MISSING.light,
    };
    for (const [name, hex] of Object.entries(colours)) gl.uniform3f(at[name], ...shaderColour(hex));
    gl.uniformMatrix3fv(
      at.turn,
      true,
      points.components === 3 ? rotationRows(camera).flat() : [1, 0, 0, 0, 1, 0, 0, 0, 0],
    );
  }

  /**
   * Paints the ground of every panel by scissored clears: only points go through a shader.
   * @param {View} view
   */
  function ground({ layout, camera, scale, palette }) {
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    gl.clearColor(...shaderColour(palette.panel), 1);
    for (let panel = 0; panel < layout.count; panel++) {
      if (slotOf(layout, panel) < 0) continue;
      const [left, top, side] = layout.single ? [0, 0, layout.width] : panelBox(layout, camera, panel);
      const pixels = [left, layout.height - top - side, side, side].map((length) => Math.round(length * scale));
      gl.scissor(pixels[0], pixels[1], pixels[2], pixels[3]);
      gl.clear(gl.COLOR_BUFFER_BIT);
    }
    gl.disable(gl.SCISSOR_TEST);
  }

  /** @param {Points} points */
  const perPanel = ({ tokens, roles }) => tokens * roles;

  /**
   * Ranges of points to draw, [first, count, shift of the panels in places]: one range for all panels, or
   * one for the first `most` points of each panel (any first part of a corpus is a fair sample).
   * @param {Points} points @param {View} view
   */
  function ranges(points, { only, most, shift, layout }) {
    const each = perPanel(points);
    const count = Math.min(each, most);
    if (only !== undefined) return [[only * each, count, shift]];
    if (count === each && !layout.slots) return [[0, points.panels * each, shift]];
    const panels = Array.from({ length: points.panels }, (_, panel) => panel);
    return panels
      .filter((panel) => slotOf(layout, panel) >= 0)
      .map((panel) => [panel * each, count, shift + slotOf(layout, panel) - panel]);
  }

  /**
   * `only` draws one of the taken panels, `shift` moves panels by this number of places, `most` limits the points
   * of each.
   * @param {View} view
   */
  function paint(view) {
    if (gl.isContextLost()) return;
    gl.viewport(0, 0, canvas.width, canvas.height);
    ground(view);
    const { points } = parts;
    if (!points) return;
    takeRamp(view.ramp);
    uniforms(points, view);
    for (const [first, count, shift] of ranges(points, view)) {
      gl.uniform1i(linked.at.shift, shift);
      gl.drawArrays(gl.POINTS, first, count);
    }
    if (parts.mask) paintSelected(points, view);
  }

  /** @param {Points} points @param {View} view */
  function paintSelected(points, view) {
    gl.uniform1i(linked.at.selected, 1);
    for (const [first, count, shift] of ranges(points, view)) {
      gl.uniform1i(linked.at.shift, shift);
      const [from, to] = [lowerBound(selected, first), lowerBound(selected, first + count)];
      gl.drawElements(gl.POINTS, to - from, gl.UNSIGNED_INT, 4 * from);
    }
  }

  /** Calls `act` once the graphics card has drawn everything: it is frames behind. @param {() => void} act */
  function whenDone(act) {
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    if (!fence) return; // a lost context has none
    const look = () => {
      if (gl.isContextLost()) return;
      if (gl.getSyncParameter(fence, gl.SYNC_STATUS) !== gl.SIGNALED) return setTimeout(look, 15);
      gl.deleteSync(fence);
      act();
    };
    setTimeout(look, 15);
  }

  function restore() {
    const before = parts;
    parts = /** @type {Loaded} */ ({});
    linked = prepare();
    if (before.points) take(before);
  }

  /** Gives the context back: a browser keeps only sixteen. */
  const release = () => gl.getExtension("WEBGL_lose_context")?.loseContext();

  /** Whether the browser has taken the context away, or gives it fewer pixels than the canvas has. */
  const isLost = () =>
    gl.isContextLost() || gl.drawingBufferWidth < canvas.width || gl.drawingBufferHeight < canvas.height;

  /** The longest side of a picture, in pixels. */
  const longest = () => gl.getParameter(gl.MAX_RENDERBUFFER_SIZE) ?? Infinity;

  return { take, takeOnward, paint, whenDone, restore, release, isLost, longest };
}

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

/** @param {WebGL2RenderingContext} gl @param {number} kind @param {string} source */
function compile(gl, kind, source) {
  const shader = required(gl.createShader(kind), "a shader");
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
    throw new Error(gl.getShaderInfoLog(shader) ?? "");
  return shader;
}

/** The linked program, and the place of every uniform by its name. @param {WebGL2RenderingContext} gl */
function linkProgram(gl) {
  const program = gl.createProgram();
  gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, VERTEX));
  gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, FRAGMENT));
  gl.linkProgram(program);
  const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) || 0;
  const names = Array.from({ length: count }, (_, i) => required(gl.getActiveUniform(program, i), "a uniform").name);
  return { program, at: Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(program, name)])) };
}

/**
 * {panels, tokens, roles, components, width, places, most}; point i of a panel is token i / roles in its role i %
 * roles.
 * @param {ArrayBuffer} buffer
 */
export function decodePoints(buffer) {
  const { numbers, start } = readHeader(buffer, "HSP3", "points", 5);
  const [panels, tokens, roles, components, width] = numbers;
  if (![1, 2].includes(roles) || ![2, 3].includes(components) || ![1, 2].includes(width))
    throw new Error(`These points are of another version. ${RELOAD}`);
  const count = panels * tokens * roles * components;
  expectBytes(buffer, start, count * width, "points");
  const places = width === 1 ? new Uint8Array(buffer, start, count) : new Uint16Array(buffer, start, count);
  return { panels, tokens, roles, components, width, places, most: width === 1 ? 255 : 65535 };
}

/** {panels, tokens, roles, values}: a code 0..254 per point, 255 where it is missing. @param {ArrayBuffer} buffer */
export function decodeColours(buffer) {
  const { numbers, start } = readHeader(buffer, "HSC2", "colours", 3);
  const [panels, tokens, roles] = numbers;
  expectBytes(buffer, start, panels * tokens * roles, "colours");
  return { panels, tokens, roles, values: new Uint8Array(buffer, start) };
}

/**
 * {panels, tokens, roles, values, selected}: 1 per selected point, else 0, and how many are selected.
 * @param {ArrayBuffer} buffer
 */
export function decodeMask(buffer) {
  const { numbers, start } = readHeader(buffer, "HSM2", "selected points", 3);
  const [panels, tokens, roles] = numbers;
  const count = panels * tokens * roles;
  expectBytes(buffer, start, Math.ceil(count / 8), "selected points");
  const bits = new Uint8Array(buffer, start);
  const values = new Uint8Array(count);
  let selected = 0;
  for (let i = 0; i < count; i++) selected += values[i] = (bits[i >> 3] >> (7 - (i & 7))) & 1;
  return { panels, tokens, roles, values, selected };
}

/**
 * One value per point of all panels: values that are the same in every panel are repeated.
 * @param {Values} decoded @param {number} panels
 */
export function spreadOverPanels(decoded, panels) {
  if (decoded.panels === panels) return decoded.values;
  const all = new Uint8Array(panels * decoded.values.length);
  for (let panel = 0; panel < panels; panel++) all.set(decoded.values, panel * decoded.values.length);
  return all;
}

/**
 * Numbers of the selected points of all panels, ascending; a mask of one panel holds for every one.
 * @param {Mask} mask @param {number} panels
 */
export function selectedPoints(mask, panels) {
  const { values, selected: count } = mask;
  const numbers = new Uint32Array(mask.panels === panels ? count : count * panels);
  let next = 0;
  for (let panel = 0; panel < panels / mask.panels; panel++)
    for (let i = 0; i < values.length; i++) if (values[i]) numbers[next++] = panel * values.length + i;
  return numbers;
}

/** The points of one panel. @param {Points} points @param {number} panel */
export function pointsOfPanel(points, panel) {
  const length = points.places.length / points.panels;
  return { ...points, panels: 1, places: points.places.subarray(panel * length, (panel + 1) * length) };
}
