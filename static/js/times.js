// Times on the page: relative, in the reader's zone, or in UTC; the choice is remembered.
// Each <time> keeps its exact moment in `datetime`; the title always shows it whole, in both zones.

import { now } from "./clock.js";
import { ago } from "./formats.js";

const FORMS = ["ago", "local", "utc"];
const KEY = "kaas.times";
const TICK_MS = 1000;

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });
const zone = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" });

let form = FORMS.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "ago";

/** Points a <time> at another moment (ISO 8601). */
export function setTime(element, iso) {
  if (element.dateTime !== iso) {
    element.dateTime = iso;
    element.removeAttribute("title");
  }
  draw(element);
}

/** A new <time>. `shape` as in the template tag: ago, clock or full. */
export function time(iso, shape = "ago") {
  const element = document.createElement("time");
  element.dataset.form = shape;
  setTime(element, iso);
  return element;
}

/** Hours, minutes and seconds in the reader's zone, or in UTC when that is chosen. */
export function clockText(at) {
  return form === "utc" ? `${utc(at).slice(11)} UTC` : clock.format(at);
}

/** Draws every time below an element anew. */
export function drawTimes(root = document) {
  root.querySelectorAll("time[datetime]").forEach(draw);
}

/** Takes the next form: relative, local, UTC. */
export function nextForm() {
  choose(FORMS[(FORMS.indexOf(form) + 1) % FORMS.length]);
}

function draw(element) {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) return;
  if (!element.title || element.title.length < 30) element.title = `${local(at)} (${utc(at)} UTC)`;
  const text = textOf(at, element.dataset.form);
  if (element.textContent !== text) element.textContent = text;
}

function textOf(at, shape) {
  if (shape === "ago" && form === "ago") return ago(now() - at);
  const today = now() - at < 12 * 3600_000 && now() - at > -3600_000;
  const short = shape === "clock" || (shape === "ago" && today);
  if (form === "utc") return short ? `${utc(at).slice(11)} UTC` : `${utc(at)} UTC`;
  return short ? clock.format(at) : local(at);
}

function utc(at) {
  return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

function local(at) {
  const name = zone.formatToParts(at).find((part) => part.type === "timeZoneName").value;
  return `${day.format(at)} ${clock.format(at)} ${name}`;
}

function choose(chosen) {
  form = chosen;
  localStorage.setItem(KEY, chosen);
  showChoice();
  drawTimes();
}

function showChoice() {
  for (const button of document.querySelectorAll("[data-times-switch] button")) {
    button.setAttribute("aria-pressed", String(button.value === form));
  }
}

for (const button of document.querySelectorAll("[data-times-switch] button")) {
  button.addEventListener("click", () => choose(button.value));
}
showChoice();
drawTimes();
setInterval(() => document.hidden || drawTimes(), TICK_MS);
