// How old the data is, and whether it is live: always in the top bar, and aloud in a banner when the page is cut off.

import { duration, running } from "./formats.js";

const TICK_MS = 200;
const OLD_AFTER_MS = 10_000;

const place = document.getElementById("age");
const text = place?.querySelector("[data-age-text]");
const banner = document.getElementById("cut-off");
const bannerText = banner?.querySelector("[data-cut-off-text]");

const given = place?.dataset.ageMs;
let state = "page";
let ageMs = given ? Number(given) : null;
let toldAt = performance.now();
let why = "";

/** The socket spoke: the data was `age` milliseconds old then, null when no broker ever spoke. */
export function live(age) {
  state = "live";
  if (age !== undefined) {
    ageMs = age;
    toldAt = performance.now();
  }
  draw();
}

/** The page was fetched again instead: `reason` says why there is no socket. */
export function polled(age, reason) {
  [state, why] = ["polling", reason];
  ageMs = age;
  toldAt = performance.now();
  draw();
}

/** Nobody looks, so nobody asks. */
export function paused() {
  state = "paused";
  draw();
}

/** The console does not answer, or shows this page to us no longer. */
export function cutOff(reason) {
  [state, why] = ["cut-off", reason];
  draw();
}

function draw() {
  if (!place) return;
  const age = ageMs === null ? null : ageMs + performance.now() - toldAt;
  const shown = state === "live" && (age === null || age > OLD_AFTER_MS) ? "old" : state;
  place.dataset.state = shown;
  const line = lines[shown](age);
  if (text.textContent !== line) text.textContent = line;
  showBanner(shown, age);
}

const old = (age) => (age === null ? "age unknown" : `${age < 60_000 ? running(age) : duration(age)} old`);

const lines = {
  page: (age) => `${old(age)}, not live`,
  live: (age) => `live, ${old(age)}`,
  old: (age) => (age === null ? "no broker speaks" : `no news, ${old(age)}`),
  polling: (age) => `polling, ${old(age)}`,
  paused: () => "paused while hidden",
  "cut-off": (age) => `cut off, ${old(age)}`,
};

const banners = {
  "cut-off": (age) => `${why} What you see is ${old(age)}.`,
  old: () => "The broker tells nothing new: what you see may be out of date.",
  polling: () => why,
};

/** Words in the banner change by whole steps only, so that a reader's voice is not flooded. */
function showBanner(shown, age) {
  const tell = banners[shown];
  banner.hidden = !tell;
  if (!tell) return;
  banner.dataset.tone = shown === "polling" ? "warning" : "bad";
  if (banner.dataset.said !== `${shown}${why}`) {
    banner.dataset.said = `${shown}${why}`;
    bannerText.textContent = tell(age);
  }
}

if (place) setInterval(draw, TICK_MS);
