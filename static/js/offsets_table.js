// The offsets of a group, live: asked for again when the group commits and while the section can be seen, because logs
// grow without a word of the group.

import { number, twin, visible } from "./formats.js";
import { setTime, time } from "./times.js";
import { setWord } from "./words.js";

const EVERY_MS = 2000;
const AFTER_EVENT_MS = 150;
/** Lag is drawn against the largest of the group, or against this: three records behind are no full bar. */
const LAG_OF_A_FULL_BAR = 100;
const KINDS = ["offsets_committed", "offsets_reset", "offsets_deleted", "rebalance_completed", "state_changed"];

const section = document.getElementById("offsets");
let seen = false;
let asked = 0;
let soon = null;
let largest = LAG_OF_A_FULL_BAR;

async function ask() {
  asked = performance.now();
  const answer = await fetch(section.dataset.offsets, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok) return;
  const { items } = await answer.json();
  const rows = new Map([...section.querySelectorAll("tbody tr")].map((row) => [row.dataset.key, row]));
  const known = items.filter((item) => rows.has(`${item.topic}/${item.partition}`));
  if (known.length !== Math.min(items.length, rows.size) || rows.size > items.length || (!rows.size && items.length)) {
    document.dispatchEvent(new CustomEvent("kaas:sections"));
    return;
  }
  largest = Math.max(LAG_OF_A_FULL_BAR, ...items.map((item) => item.lag ?? 0));
  for (const item of known) patch(rows.get(`${item.topic}/${item.partition}`), item);
}

function patch(row, item) {
  for (const cell of row.querySelectorAll("[data-cell]")) cells[cell.dataset.cell](cell, item);
}

const cells = {
  owner(cell, item) {
    const place = cell.firstElementChild;
    place.className = item.owner ? "" : "faint";
    place.title = item.owner ?? "";
    set(place, item.owner ? visible(item.owner_client_id || item.owner) : "nobody");
  },
  log_start: (cell, item) => set(cell, number(twin(item, "log_start"))),
  committed: (cell, item) => set(cell.firstElementChild, number(twin(item, "committed"))),
  log_end(cell, item) {
    const stable = item.last_stable !== null && item.last_stable < item.log_end;
    set(cell, number(twin(item, "log_end")) + (stable ? ` stable ${number(twin(item, "last_stable"))}` : ""));
  },
  lag(cell, item) {
    set(cell.firstElementChild, number(twin(item, "lag")));
    cell.querySelector("rect").setAttribute("width", ((100 * (item.lag ?? 0)) / largest).toFixed(1));
  },
  state(cell, item) {
    setWord(cell.firstElementChild, "lag_state", item.lag_state);
    const [, lost, why] = cell.children;
    lost.hidden = !item.lost;
    set(lost, `${number(item.lost)} records lost`);
    why.hidden = item.lag_state !== "unknown";
  },
  committed_at(cell, item) {
    if (!item.committed_at) return set(cell, "–");
    if (!cell.querySelector("time")) cell.replaceChildren(time(item.committed_at));
    return setTime(cell.querySelector("time"), item.committed_at);
  },
  metadata(cell, item) {
    const place = cell.firstElementChild;
    place.title = item.metadata ?? "";
    cell.toggleAttribute("data-none", !item.metadata);
    set(place, item.metadata ? visible(item.metadata) : "–");
  },
};

function set(element, text) {
  if (element.textContent.trim().replace(/\s+/g, " ") !== text) element.textContent = text;
}

function choose(chosen) {
  for (const chip of section.querySelectorAll(".chip")) chip.setAttribute("aria-pressed", String(chip === chosen));
  for (const row of section.querySelectorAll("tbody tr")) {
    row.hidden = chosen.dataset.topic !== "" && row.dataset.topic !== chosen.dataset.topic;
  }
}

/** Begins to keep the section up to date; `place` tells the events of the group. */
export function followOffsets(place) {
  if (!section) return;
  section.addEventListener("click", (event) => {
    const chip = event.target.closest(".chip");
    if (chip) choose(chip);
  });
  new IntersectionObserver(([entry]) => (seen = entry.isIntersecting)).observe(section);
  place.addEventListener("kaas:event", ({ detail }) => {
    if (!KINDS.includes(detail.kind)) return;
    clearTimeout(soon);
    soon = setTimeout(ask, AFTER_EVENT_MS);
  });
  setInterval(() => {
    if (seen && !document.hidden && performance.now() - asked > EVERY_MS) ask();
  }, EVERY_MS / 4);
}
