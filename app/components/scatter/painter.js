// Points on the graphics processor: one call draws all of them (WebGL 2, by twgl). Each has two places, between which
// `mix` moves it; a shape and colour by its category; and a state: hidden, faint or bright.

import {
  createBufferInfoFromArrays, createProgramInfo, drawBufferInfo, setAttribInfoBufferFromArray, setBuffersAndAttributes,
  setUniforms,
} from "./vendor.min.js";

export const HIDDEN = 0, FAINT = 1, BRIGHT = 2;
export const MARKS = ["dot", "circle", "square", "triangle", "diamond", "plus", "cross", "star", "pentagon"];
const LINES = 10; // of a legend, at most
const SHAPED = 3.5; // pixels from which a point has a shape

const VERTEX = `#version 300 es
in vec2 before; in vec2 after; in float category; in float state;
uniform vec2 middle, scale; uniform float mixed, size, faint; uniform vec4 colours[${LINES}]; uniform float marks[${LINES}];
flat out vec4 colour; flat out float mark;
void main() {
  int line = int(category);
  colour = colours[line];
  mark = marks[line];
  float depth = mark == 0. ? .4 : .2;
  if (state < 1.5) { colour.a *= faint; depth += .4; }
  gl_Position = vec4((mix(before, after, mixed) - middle) * scale, depth, 1.);
  if (state < .5) gl_Position = vec4(2., 2., 2., 1.);
  gl_PointSize = size * (mark == 0. ? .75 : 1.);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 colour; flat in float mark;
uniform float size, outline; uniform vec4 ink; uniform bool shaped;
out vec4 shade;
const float FIFTH = 1.2566371;
float bars(vec2 p) { p = abs(p); return min(max(p.x - .9, p.y - .3), max(p.y - .9, p.x - .3)); }
float outside(vec2 p) {
  float r = length(p), turn = atan(p.x, p.y);
  if (mark < 1.5) return r - .78;
  if (mark < 2.5) return max(abs(p.x), abs(p.y)) - .7;
  if (mark < 3.5) return max(abs(p.x) * .866 + p.y * .5, -p.y) - .5;
  if (mark < 4.5) return (abs(p.x) + abs(p.y) - .95) * .707;
  if (mark < 5.5) return bars(p);
  if (mark < 6.5) return bars(mat2(.707, -.707, .707, .707) * p);
  if (mark < 7.5) return (r - mix(.38, .98, abs(fract(turn / FIFTH) - .5) * 2.)) * .6;
  return r * cos(mod(turn + FIFTH * .5, FIFTH) - FIFTH * .5) - .72;
}
void main() {
  float alpha = colour.a;
  vec3 tint = colour.rgb;
  if (shaped) {
    vec2 p = gl_PointCoord * 2. - 1.;
    float pixel = 2. / size, far = outside(vec2(p.x, -p.y));
    if (far > pixel) discard;
    alpha *= 1. - smoothstep(0., pixel, far);
    if (mark > .5) tint = mix(tint, ink.rgb, outline * smoothstep(-1.4 * pixel, -.4 * pixel, far));
  }
  shade = vec4(tint * alpha, alpha);
}`;

const known = new Map();

// The parts of a CSS colour, 0 to 1.
export function parts(css) {
  if (!known.has(css)) {
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    pen.fillStyle = css;
    pen.fillRect(0, 0, 1, 1);
    known.set(css, [...pen.getImageData(0, 0, 1, 1).data].map((one) => one / 255));
  }
  return known.get(css);
}

export class Painter {
  // Throws where the browser has no WebGL 2.
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    if (!this.gl) throw new Error("no WebGL 2");
    this.program = createProgramInfo(this.gl, [VERTEX, FRAGMENT]);
    this.count = 0;
  }

  // before, after: Float32Array [2 n]; categories, states: Uint8Array [n]; all in the order in which they are drawn.
  load({ before, after, categories, states }) {
    const { gl } = this;
    if (this.buffers) for (const one of Object.values(this.buffers.attribs)) gl.deleteBuffer(one.buffer);
    this.count = states.length;
    this.buffers = createBufferInfoFromArrays(gl, {
      before: { numComponents: 2, data: before },
      after: { numComponents: 2, data: after },
      category: { numComponents: 1, data: categories, normalize: false },
      state: { numComponents: 1, data: states, normalize: false },
    });
  }

  // Replace one of the arrays: "before", "after", "category" or "state".
  change(name, data) {
    setAttribInfoBufferFromArray(this.gl, this.buffers.attribs[name], data);
  }

  clear() {
    this.gl.disable(this.gl.SCISSOR_TEST);
    this.gl.clearColor(0, 0, 0, 0);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT | this.gl.DEPTH_BUFFER_BIT);
  }

  // pane: left, width and height in pixels of the canvas, whose places are `mixed`. most: points that are drawn.
  draw({ pane, middle, scale, mixed, size, faint, colours, marks, ink, outline, most }) {
    const { gl } = this;
    gl.viewport(pane.left, 0, pane.width, pane.height);
    gl.enable(gl.SCISSOR_TEST); // a point at the edge would reach into the other pane
    gl.scissor(pane.left, 0, pane.width, pane.height);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.useProgram(this.program.program);
    setBuffersAndAttributes(gl, this.program, this.buffers);
    const padded = Array.from({ length: 4 * LINES }, (_, at) => colours[at >> 2]?.[at & 3] ?? 0);
    setUniforms(this.program, {
      middle, scale: [2 * scale / pane.width, 2 * scale / pane.height], mixed, size, faint, ink, outline, colours: padded,
      marks: Array.from({ length: LINES }, (_, at) => marks[at] ?? 0), shaped: size >= SHAPED,
    });
    drawBufferInfo(gl, this.buffers, gl.POINTS, Math.min(most, this.count));
  }
}
