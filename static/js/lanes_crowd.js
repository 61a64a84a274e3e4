// Many members at once: how many did what, stacked over time, and how many do what now.

import { number } from "./formats.js";
import { svg } from "./lanes_axis.js";
import { crowdAt, kindNow } from "./lanes_model.js";

const SAMPLES = 120;
const HEIGHT = 52;
const KINDS = ["stable", "syncing", "joining", "waiting", "revoking", "missing", "silent"];
const WORDS = {
  silent: "silent",
  missing: "awaited",
  revoking: "giving up",
  joining: "joining",
  waiting: "waiting",
  syncing: "syncing",
  stable: "stable",
  away: "away",
};

/** Draws the crowd of these lanes into its place. */
export function drawCrowd(place, lanes, scale, now) {
  const present = lanes.filter((lane) => lane.to === null);
  const counts = {};
  for (const lane of present) {
    const kind = kindNow(lane, now);
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  if (!place.firstElementChild) place.append(...frame());
  const [name, plot, list] = place.children;
  name.firstElementChild.textContent = `${number(present.length)} members`;
  plot.setAttribute("viewBox", `0 0 ${SAMPLES} ${HEIGHT}`);
  plot.replaceChildren(...areas(lanes, scale, now));
  list.replaceChildren(
    ...Object.keys(WORDS).filter((kind) => counts[kind]).map((kind) => {
      const item = document.createElement("li");
      item.textContent = `${number(counts[kind])} ${WORDS[kind]}`;
      return item;
    }),
  );
}

function frame() {
  const name = document.createElement("div");
  name.className = "crowd-name";
  name.append(document.createElement("b"));
  const plot = svg("svg", { preserveAspectRatio: "none", "aria-hidden": "true" });
  return [name, plot, document.createElement("ul")];
}

function areas(lanes, scale, now) {
  const step = scale.windowMs / SAMPLES;
  const samples = Array.from({ length: SAMPLES }, (_, index) => crowdAt(lanes, now - (SAMPLES - 1 - index) * step));
  const most = Math.max(1, ...samples.map((one) => Object.values(one).reduce((a, b) => a + b, 0)));
  const floor = new Array(SAMPLES).fill(0);
  return KINDS.map((kind) => {
    const path = [];
    for (let index = 0; index < SAMPLES; index += 1) {
      const height = ((samples[index][kind] ?? 0) / most) * HEIGHT;
      if (height > 0) path.push(`M${index} ${HEIGHT - floor[index] - height}h1v${height}h-1z`);
      floor[index] += height;
    }
    return svg("path", { class: kind === "missing" ? "crowd-missing" : `seg-${kind}`, d: path.join("") });
  });
}
