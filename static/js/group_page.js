// One group, live: its socket's messages into a description, and the description into the parts of the page.

import * as clock from "./clock.js";
import { heardFrom, merged } from "./description.js";
import { showHead } from "./group_head.js";
import { LanesModel } from "./lanes_model.js";
import { LanesView } from "./lanes_view.js";
import { follow } from "./live.js";
import { showHeartbeats, showMembers } from "./members_table.js";
import { showMoved } from "./moved.js";
import { followOffsets } from "./offsets_table.js";
import { showPhase } from "./phase_banner.js";
import { ageOf, fetchPage } from "./refreshing.js";
import { grow, newest } from "./scrubber.js";
import { soon } from "./soon.js";
import { drawTimes } from "./times.js";

/** The history is written by a worker, which looks for news about once a second. */
const HISTORY_MS = 2500;
const HISTORY_READS = 4;

const place = document.getElementById("group");
const past = JSON.parse(document.getElementById("lanes-past").textContent);
const model = new LanesModel();
const view = new LanesView(document.getElementById("lanes"), model);

let group = null;
let oldest = null;

function take(message) {
  takers[message.type]?.(message);
}

const takers = {
  snapshot(message) {
    if (message.group === null) return gone();
    group = message.group;
    model.begin(group, past, clock.now());
    soon(show);
  },
  event({ event, changes }) {
    clock.heard(event.at);
    const at = Date.parse(event.at);
    model.note(event, at);
    if (changes === null) return gone();
    if (group && Object.keys(changes).length) {
      group = merged(group, changes);
      model.update(group, at);
    }
    oldest ??= event.at;
    soon(show);
    if (event.rebalance) {
      showMoved(event.rebalance, group?.members ?? []);
      setTimeout(readHistory, HISTORY_MS);
    }
    place.dispatchEvent(new CustomEvent("kaas:event", { detail: event }));
  },
  ping(message) {
    if (!group || !message.heartbeats) return;
    model.beat(message.heartbeats);
    group = { ...heardFrom(group, message.heartbeats), ...lagOf(message) };
    showHead(group);
    showHeartbeats(group);
  },
};

function lagOf({ total_lag, total_lag_str, lag_status }) {
  return lag_status === undefined ? {} : { total_lag, total_lag_str, lag_status };
}

/** Draws what all messages so far have changed. `data-shown` tells the broker's time of the oldest event in it. */
function show() {
  if (!group) return;
  view.changed();
  showPhase(group);
  showHead(group);
  showMembers(group);
  if (oldest) place.dataset.shown = oldest;
  oldest = null;
}

/** The group was deleted or expired: its page says so, and waits for it to come back. */
function gone() {
  location.reload();
}

/** Reads the history again, and once more where the worker was slower than usual. */
async function readHistory(left = HISTORY_READS) {
  const before = newest();
  await takeOver(["rebalances"]).catch(() => {});
  if (newest() === before && left > 1) setTimeout(readHistory, HISTORY_MS, left - 1);
}

/** Takes parts of the page over from a fresh one, but none in which somebody is at work. */
async function takeOver(ids) {
  const page = await fetchPage(location.href);
  for (const id of ids) {
    const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (old && fresh && !old.contains(document.activeElement)) old.replaceChildren(...document.adoptNode(fresh).childNodes);
  }
  if (ids.includes("rebalances")) grow(page);
  drawTimes();
  return ageOf(page);
}

/** Where no socket can be had, the page is fetched and its parts are taken over whole. */
const poll = () => takeOver(["phase", "rebalances", "members", "offsets", "actions"]);

document.addEventListener("kaas:sections", () => takeOver(["offsets"]).catch(() => {}));
document.addEventListener("kaas:refresh", () => takeOver(["rebalances", "offsets"]).catch(() => {}));

followOffsets(place);
follow({ path: `ws/clusters/${place.dataset.cluster}/groups/${place.dataset.key}/`, onMessage: take, poll });
