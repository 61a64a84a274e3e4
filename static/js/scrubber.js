// Back through the rebalances of a group: a slider, two links and two keys; the address holds the place.
//
// Job: show the rebalance that is chosen in the place of the live timeline, drawn by the server.
// Rules: only the newest choice is shown, however fast one slides. The live page goes on underneath.

import { number } from "./formats.js";
import { fetchPage } from "./refreshing.js";
import { drawTimes } from "./times.js";

const KEYS = { "[": "older", "]": "newer" };
const LIVE_PARTS = "#lanes, #moved, [data-lanes-window]";

let asked = 0;

const bar = () => document.getElementById("scrub");
const slider = () => bar()?.querySelector("input");

function atOf(address) {
  return new URL(address, location.href).searchParams.get("at");
}

/** The number of the newest rebalance that the page knows, null for none. */
export function newest() {
  return bar()?.dataset.last ?? null;
}

/** Shows a rebalance by its number, or the present for null. */
async function show(at) {
  const mine = ++asked;
  const address = new URL(location.href);
  if (at === null) address.searchParams.delete("at");
  else address.searchParams.set("at", at);
  say(at);
  const page = await fetchPage(address.href).catch(() => null);
  if (page === null || mine !== asked) return;
  history.replaceState(null, "", address);
  swap(page, at);
}

function swap(page, at) {
  const fresh = page.getElementById("recorded");
  document.getElementById("recorded").replaceWith(document.adoptNode(fresh));
  for (const part of document.querySelectorAll(LIVE_PARTS)) part.hidden = at !== null;
  const links = page.getElementById("scrub").querySelectorAll("a");
  bar().querySelectorAll("a").forEach((link, index) => {
    for (const name of ["href", "aria-disabled", "hidden"]) {
      if (links[index].hasAttribute(name)) link.setAttribute(name, links[index].getAttribute(name));
      else link.removeAttribute(name);
    }
  });
  drawTimes();
}

function say(at) {
  const { last } = bar().dataset;
  const text = at === null ? "now" : `rebalance ${number(at)} of ${number(last)}`;
  bar().querySelector("[data-said]").textContent = text;
  slider().value = at ?? Number(last) + 1;
  slider().setAttribute("aria-valuetext", text);
}

/** A rebalance was added to the history: the slider gets a step more, and one who looks at the present stays there. */
export function grow(page) {
  const fresh = page.getElementById("scrub");
  if (!fresh) return;
  if (!bar()) {
    document.querySelector("[data-lanes-window]").before(document.adoptNode(fresh));
    return listen();
  }
  const here = atOf(location.href);
  Object.assign(bar().dataset, { first: fresh.dataset.first, last: fresh.dataset.last });
  slider().min = fresh.dataset.first;
  slider().max = Number(fresh.dataset.last) + 1;
  const older = bar().querySelector("[data-older]");
  if (here === null) older.setAttribute("href", `?at=${fresh.dataset.last}`);
  say(here);
}

function listen() {
  slider().addEventListener("input", () => show(Number(slider().value) > Number(bar().dataset.last) ? null : slider().value));
  bar().addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(atOf(link.href));
  });
}

document.addEventListener("keydown", (event) => {
  if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input:not([type=range]), textarea, select")) return;
  bar()?.querySelector(`[data-${KEYS[event.key]}][href]`)?.click();
});
if (bar()) listen();
