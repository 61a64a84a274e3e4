// The banner over the lanes: whom the group waits for, since when, until which timer fires.

import { now } from "./clock.js";
import { running, visible } from "./formats.js";
import { phaseWords } from "./phase_text.js";
import { time } from "./times.js";

const TICK_MS = 100;
/** The rest of a wait in which the banner warns. */
const LATE_SHARE = 0.5;

const banner = document.getElementById("phase");
const [head, text, clock, cause] = ["head", "text", "time", "cause"].map((name) => banner.querySelector(`[data-phase-${name}]`));
const bar = banner.querySelector(".phase-bar rect");
const said = document.getElementById("lanes-said");

let words = null;

/** Shows the phase of a described group. */
export function showPhase(group) {
  words = phaseWords(group);
  banner.dataset.phase = group.rebalance ? group.phase.name : "calm";
  set(head, words.head);
  set(text, words.text);
  showCause(group);
  if (!group.rebalance) clock.replaceChildren("since ", time(group.phase.since, "clock"));
  if (said.dataset.said !== words.head) {
    said.dataset.said = words.head;
    said.textContent = `${words.head}. ${words.text}`;
  }
  tick();
}

/** The line is always there, so that nothing below it moves when a rebalance begins. */
function showCause({ rebalance, last_rebalance: last }) {
  const also = (rebalance?.also ?? []).map((one) => ` Also: ${visible(one.cause_text)}`);
  if (rebalance) set(cause, `Began because: ${visible(rebalance.cause_text)}${also.join("")}`);
  else set(cause, last ? `Last rebalance: ${visible(last.cause_text)}` : "No rebalance yet.");
}

function tick() {
  if (!words || banner.dataset.phase === "calm") {
    banner.removeAttribute("data-late");
    return;
  }
  const past = now() - words.since;
  const left = words.until === null ? null : Math.max(0, words.until - now());
  set(clock, left === null ? `for ${running(past)}` : `for ${running(past)}, ${running(left)} left`);
  const share = left === null ? 0 : Math.min(1, past / Math.max(1, words.until - words.since));
  bar.setAttribute("width", (100 * share).toFixed(1));
  banner.toggleAttribute("data-late", left !== null && share > LATE_SHARE);
}

function set(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

setInterval(() => document.hidden || tick(), TICK_MS);
