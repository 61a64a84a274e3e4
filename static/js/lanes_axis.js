// What lies over all lanes: the time scale, the spans of rebalances, the marks of generations.
// Times become pixels once, from a fixed origin; time going on moves the whole group by one transform.

import { clockText } from "./times.js";

const SVG = "http://www.w3.org/2000/svg";
const STEPS_MS = [5000, 10_000, 15_000, 30_000, 60_000, 120_000, 180_000, 300_000];
const LABEL_PX = 84;
const SHORT_LABEL_PX = 28;
const MARKS_DRAWN = 60;
const LABEL_Y = 13;
const GRID_Y = 20;

/** An element of an SVG with its attributes. */
export function svg(name, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

/** The scale of a field: how wide it is, how much time it shows, where pixel 0 of the drawing lies in time. */
export function scaleOf({ width, windowMs, origin }) {
  const perMs = width / windowMs;
  return { width, windowMs, origin, x: (at) => (at - origin) * perMs, shift: (now) => width - (now - origin) * perMs };
}

/** Draws grid, spans and marks into the overlay's group. */
export function drawOver(group, model, scale, now, height) {
  const from = now - scale.windowMs;
  const parts = [];
  for (const span of model.spans.filter((one) => one.to === null || one.to > from).slice(-MARKS_DRAWN)) {
    const x = scale.x(span.from);
    const width = (span.to === null ? scale.x(now) + scale.width : scale.x(span.to)) - x;
    const shade = svg("rect", { class: "span", x, y: GRID_Y, width: Math.max(2, width), height: height - GRID_Y });
    shade.append(svg("title", {}, span.cause));
    parts.push(shade);
  }
  parts.push(...grid(scale, from, now, height));
  const marks = model.generations.filter((one) => one.at > from).slice(-MARKS_DRAWN);
  marks.forEach((mark, index) => parts.push(...generation(mark, marks[index + 1], scale, now, height)));
  group.replaceChildren(...parts);
}

function grid(scale, from, now, height) {
  const step = STEPS_MS.find((one) => scale.x(scale.origin + one) >= LABEL_PX) ?? STEPS_MS.at(-1);
  const parts = [];
  for (let at = Math.floor(from / step) * step; at <= now + step; at += step) {
    const x = scale.x(at);
    parts.push(svg("line", { class: "grid", x1: x, x2: x, y1: GRID_Y, y2: height }));
    parts.push(svg("text", { x: x + 4, y: LABEL_Y }, clockText(at)));
  }
  return parts;
}

/** A mark's label has the room up to the next mark: it is shortened, or left out. */
function generation({ at, generation: number, kind }, next, scale, now, height) {
  const x = scale.x(at);
  const line = svg("line", { class: "generation", x1: x, x2: x, y1: GRID_Y, y2: height });
  const room = (next ? scale.x(next.at) : scale.x(now)) - x;
  const text = room > LABEL_PX ? `${kind === "consumer" ? "epoch" : "generation"} ${number}` : room > SHORT_LABEL_PX ? String(number) : "";
  return [line, svg("text", { class: "generation-label", x: x + 5, y: height - 4 }, text)];
}

/** The pattern that silence is drawn with; patterns are found by their id in the whole page. */
export function hushPattern() {
  const pattern = svg("pattern", {
    id: "hush",
    width: 6,
    height: 6,
    patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  pattern.append(svg("rect", { class: "hush-ground", width: 6, height: 6 }));
  pattern.append(svg("line", { class: "hush-line", x1: 1, x2: 1, y1: 0, y2: 6 }));
  const defs = svg("defs");
  defs.append(pattern);
  return defs;
}
