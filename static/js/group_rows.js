// Rows of the groups list: an item of the socket into the cells of its row.

import { number, twin, visible } from "./formats.js";
import { setTime, time } from "./times.js";
import { setWord } from "./words.js";

const CHANGED_MS = 900;

/** Makes a row say what an item says; cells that change are marked for a moment. */
export function patchRow(row, item) {
  for (const cell of row.querySelectorAll("[data-cell]")) {
    const draw = cells[cell.dataset.cell];
    if (draw?.(cell, item)) flash(cell);
  }
}

const cells = {
  state: (cell, item) => setWord(cell.firstElementChild, "state", item.state),
  type: (cell, item) => setText(cell, item.type),
  protocol: (cell, item) => setText(cell, visible(item.protocol || "–")),
  member_count: (cell, item) => setText(cell, number(item.member_count)),
  topics: drawTopics,
  total_lag: (cell, item) => setText(cell, number(twin(item, "total_lag"))),
  lag_status: (cell, item) => setWord(cell.firstElementChild, "lag_status", item.lag_status),
  last_rebalance: drawLastRebalance,
  coordinator: (cell, item) => setText(cell, String(item.coordinator)),
};

function setText(cell, text) {
  if (cell.textContent === text) return false;
  cell.textContent = text;
  return true;
}

function drawTopics(cell, item) {
  const names = visible(item.topics.slice(0, 2).join(", ") || "–");
  const more = item.topics.length > 2 ? ` +${item.topics.length - 2}` : "";
  const place = cell.firstElementChild;
  place.title = visible(item.topics.join(", "));
  return place.textContent.trim().replace(/\s+/g, " ") !== names + more && setText(place, names + more);
}

function drawLastRebalance(cell, item) {
  const last = item.last_rebalance;
  if (!last) return setText(cell, "–");
  const shown = cell.querySelector("time");
  if (shown?.dateTime === last.at) return false;
  if (!shown) cell.replaceChildren(time(last.at), " ", Object.assign(document.createElement("span"), { className: "cause" }));
  setTime(cell.querySelector("time"), last.at);
  cell.querySelector(".cause").textContent = visible(last.cause_text);
  return true;
}

function flash(cell) {
  cell.dataset.changed = "";
  setTimeout(() => delete cell.dataset.changed, CHANGED_MS);
}

const values = {
  group_id: (item) => item.group_id,
  state: (item) => item.state,
  type: (item) => item.type,
  protocol: (item) => item.protocol || null,
  member_count: (item) => item.member_count,
  topics: (item) => item.topics.length,
  total_lag: (item) => item.total_lag,
  lag_status: (item) => item.lag_status,
  last_rebalance: (item) => item.last_rebalance && Date.parse(item.last_rebalance.at),
  coordinator: (item) => item.coordinator,
};

/** How many items stand after one that should come later; those without a value stand last in both directions. */
export function outOfOrder(items, column, descending) {
  const sign = descending ? -1 : 1;
  const told = items.map(values[column]);
  let wrong = 0;
  for (let at = 1; at < told.length; at += 1) {
    const [before, here] = [told[at - 1], told[at]];
    if (here !== null && (before === null || (here < before ? -sign : here > before ? sign : 0) < 0)) wrong += 1;
  }
  return wrong;
}
