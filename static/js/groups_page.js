// The groups list, live. Rows are patched where they stand; what would move under the pointer or the focus waits for a
// calm moment, or for the reader's word. Search, filters and sorting change the address, and the address is the view.

import { follow } from "./live.js";
import { number } from "./formats.js";
import { outOfOrder, patchRow } from "./group_rows.js";
import { keepPicked } from "./picking.js";
import { ageOf, fetchPage, patchCells, takeOver } from "./refreshing.js";
import { soon } from "./soon.js";

const TYPED_MS = 200;
const CALM_MS = 1500;
const LOOK_EVERY_MS = 500;
const REFRESH_AT_MOST_EVERY_MS = 5000;
/** Groups of other pages may come in between: what nothing told of is asked for so often. */
const TRUE_UP_MS = 60_000;
/** The same where lag decides the order: it changes without any event. */
const TRUE_UP_BY_LAG_MS = 10_000;

const form = document.getElementById("filters");
const hint = document.getElementById("changed-order");
const hintText = hint.querySelector("[data-changed-text]");

let live = null;
let items = new Map();
let waiting = { created: 0, gone: 0, moved: 0 };
let touchedAt = 0;
let refreshedAt = performance.now();

/** Follows what the address asks for; a question that makes no sense has nothing to follow. */
function begin() {
  end();
  const cluster = listing().dataset.live;
  if (cluster) live = follow({ path: `ws/clusters/${cluster}/groups/${location.search}`, onMessage: take, poll });
}

function end() {
  live?.close();
  live = null;
}

const listing = () => document.getElementById("listing");
const row = (key) => document.querySelector(`#groups tr[data-key="${CSS.escape(key)}"]`);

// What the socket tells

function take(message) {
  if (message.type === "snapshot") takeSnapshot(message);
  if (message.type === "event" && message.item !== undefined) takeEvent(message);
  if (message.totals) takeTotals(message.totals);
}

/** Lag grows without any event of the group: the pings tell of it. */
function takeTotals(totals) {
  for (const total of totals) {
    const [item, shown] = [items.get(total.key), row(total.key)];
    if (!item) continue;
    const { total_lag_str: _, ...rest } = item;
    items.set(total.key, { ...rest, ...total });
    if (shown) patchRow(shown, items.get(total.key));
  }
  noteOrder();
}

function takeSnapshot({ groups }) {
  items = new Map(groups.map((item) => [item.key, item]));
  let strange = 0;
  for (const item of groups) {
    const shown = row(item.key);
    if (shown) patchRow(shown, item);
    else strange += 1;
  }
  if (strange || document.querySelectorAll("#groups tbody tr").length !== groups.length) {
    waiting.created += strange;
    waiting.moved += 1;
  }
  noteOrder();
}

function takeEvent({ event, item }) {
  const shown = row(event.key);
  if (event.kind === "state_changed") count(event.before, event.after);
  if (item === null) {
    if (shown && !("gone" in shown.dataset)) {
      shown.dataset.gone = "";
      waiting.gone += 1;
    }
    items.delete(event.key);
  } else if (shown) {
    delete shown.dataset.gone;
    items.set(item.key, item);
    patchRow(shown, item);
  } else if (event.kind === "group_created") {
    waiting.created += 1;
  }
  soon(noteOrder);
}

function count(before, after) {
  for (const [state, by] of [[before, -1], [after, 1]]) {
    const counter = document.querySelector(`#counters a[data-states~="${CSS.escape(state)}"] b`);
    if (!counter) continue;
    counter.dataset.count = Math.max(0, Number(counter.dataset.count) + by);
    counter.textContent = number(counter.dataset.count);
  }
}

// What waits for a calm moment

function noteOrder() {
  const head = document.querySelector("#groups th[aria-sort]");
  if (head) {
    const shown = [...document.querySelectorAll("#groups tbody tr")].map((one) => items.get(one.dataset.key));
    const descending = head.getAttribute("aria-sort") === "descending";
    waiting.moved = outOfOrder(shown.filter(Boolean), head.dataset.column, descending);
  }
  showHint();
}

function showHint() {
  const parts = [];
  if (waiting.moved) parts.push(`${waiting.moved} ${waiting.moved === 1 ? "row is" : "rows are"} out of order`);
  if (waiting.created) parts.push(`${waiting.created} new`);
  if (waiting.gone) parts.push(`${waiting.gone} gone`);
  const text = parts.join(", ");
  if (hintText.textContent !== text) hintText.textContent = text;
  hint.hidden = !text;
}

function isCalm() {
  const table = document.getElementById("groups");
  if (table?.matches(":hover") || table?.contains(document.activeElement)) return false;
  return performance.now() - touchedAt > CALM_MS && !String(getSelection());
}

async function refresh() {
  refreshedAt = performance.now();
  const page = await fetchPage(location.href);
  waiting = { created: 0, gone: 0, moved: 0 };
  takeOver(page);
  keepPicked();
  showHint();
  if (live && showsOthers()) begin();
  return ageOf(page);
}

/** The socket's pings tell of the groups that it gave in its snapshot: rows of other ones need another snapshot. */
function showsOthers() {
  return [...document.querySelectorAll("#groups tbody tr[data-key]")].some((one) => !items.has(one.dataset.key));
}

async function trueUp() {
  if (isCalm()) return refresh();
  refreshedAt = performance.now();
  const page = await fetchPage(location.href);
  patchCells(page);
  keepPicked();
  return ageOf(page);
}

const poll = () => trueUp();

function trueUpMs() {
  const column = document.querySelector("#groups th[aria-sort]")?.dataset.column;
  return column === "total_lag" || column === "lag_status" ? TRUE_UP_BY_LAG_MS : TRUE_UP_MS;
}

setInterval(() => {
  if (document.hidden) return;
  const since = performance.now() - refreshedAt;
  if (!hint.hidden && since > REFRESH_AT_MOST_EVERY_MS && isCalm()) refresh().catch(() => {});
  else if (since > trueUpMs()) trueUp().catch(() => {});
}, LOOK_EVERY_MS);

// The address is the view

async function go(href, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", href);
  await show();
}

async function show() {
  end();
  items = new Map();
  try {
    await refresh();
  } catch {
    location.reload();
    return;
  }
  begin();
}

function asked() {
  const query = new URLSearchParams();
  const regex = form.elements.mode.checked;
  for (const [name, value] of new FormData(form)) {
    if (value && name !== "mode") query.append(name === "search" && regex ? "regex" : name, value);
  }
  return `${location.pathname}${query.size ? `?${query}` : ""}`;
}

let typing = null;
form.addEventListener("input", (event) => {
  clearTimeout(typing);
  const typed = event.target.matches("input:not([type=checkbox])");
  typing = setTimeout(() => go(asked(), { replace: typed }), typed ? TYPED_MS : 0);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  go(asked());
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("#listing thead a, #listing .counters a, #listing .pages a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.href);
});
addEventListener("popstate", () => location.reload());

hint.querySelector("[data-refresh]").addEventListener("click", refresh);
document.addEventListener("kaas:refresh", refresh);
for (const kind of ["pointermove", "keydown", "scroll", "wheel"]) {
  addEventListener(kind, () => (touchedAt = performance.now()), { passive: true, capture: true });
}

begin();
