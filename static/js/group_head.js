// The head of a group's page: facts and actions, from its description.

import { duration, mixed, number, twin, visible } from "./formats.js";
import { setTime, time } from "./times.js";
import { setWord } from "./words.js";

const facts = {
  state: (place, group) => setWord(place.firstElementChild, "state", group.state),
  generation: (place, group) => set(place, group.generation ?? "–"),
  group_epoch: (place, group) => set(place, group.group_epoch ?? "–"),
  assignment_epoch: (place, group) => set(place, group.assignment_epoch ?? "–"),
  type: (place, group) => set(place, group.type),
  mixed: (place, group) => set(place, mixed(group)),
  protocol_label: (place, group) => set(place, group.type === "consumer" ? "Assignor" : "Protocol"),
  protocol: (place, group) => set(place, visible(group.protocol || "–")),
  coordinator: (place, group) => set(place, group.coordinator),
  member_count: (place, group) => set(place, number(group.member_count)),
  uncommitted: showUncommitted,
  total_lag: (place, group) => set(place, number(twin(group, "total_lag"))),
  lag_status: (place, group) => setWord(place.firstElementChild, "lag_status", group.lag_status),
  topics: showTopics,
  last_rebalance: showLast,
};

/** Shows a description's facts and what may be done with the group. */
export function showHead(group) {
  for (const place of document.querySelectorAll("[data-fact]")) facts[place.dataset.fact](place, group);
  for (const part of document.querySelectorAll("[data-of]")) {
    part.hidden = (part.dataset.of === "consumer") !== (group.type === "consumer");
  }
  for (const button of document.querySelectorAll("[data-action]")) showAction(button, group.actions[button.dataset.action]);
  const blocked = document.querySelector("[data-blocked]");
  blocked.hidden = group.actions.reset.allowed;
  set(blocked, sentence(group.actions.reset.reason));
}

/** Why something may not be done: it names members, whose ids may hold anything. */
function sentence(reason) {
  return reason ? visible(reason) : "";
}

function showAction(button, action) {
  const reason = document.getElementById(button.getAttribute("aria-describedby"));
  reason.hidden = action.allowed;
  set(reason, sentence(action.reason));
  if (action.allowed) {
    button.href = button.dataset.href;
    for (const name of ["aria-disabled", "role", "tabindex"]) button.removeAttribute(name);
  } else {
    button.removeAttribute("href");
    button.setAttribute("aria-disabled", "true");
    button.setAttribute("role", "link");
    button.tabIndex = 0;
  }
}

function showUncommitted(place, group) {
  place.parentElement.hidden = !group.uncommitted;
  set(place, number(group.uncommitted));
}

/** Topics are links that the server makes; where they change they stand as text until the page is loaded again. */
function showTopics(place, group) {
  const shown = Array.from(place.querySelectorAll("[data-topic]"), (one) => one.dataset.topic);
  if (shown.join("\n") !== group.topics.join("\n")) place.replaceChildren(...group.topics.flatMap(topicParts));
  if (!group.topics.length) set(place, "–");
  for (const [at, readers] of place.querySelectorAll("[data-readers]").entries()) {
    set(readers, group.member_count ? ` (${number(group.topic_members[group.topics[at]])})` : "");
  }
}

function topicParts(topic, at) {
  const name = Object.assign(document.createElement("span"), { textContent: visible(topic) });
  name.dataset.topic = topic;
  const readers = Object.assign(document.createElement("span"), { className: "faint", title: "Members that read it" });
  readers.dataset.readers = "";
  return at ? [", ", name, readers] : [name, readers];
}

function showLast(place, group) {
  const last = group.last_rebalance;
  if (!last) return;
  if (!place.querySelector("time")) place.replaceChildren(time(last.at), "");
  setTime(place.querySelector("time"), last.at);
  const took = `, took ${duration(last.duration_ms)}`;
  if (place.lastChild.textContent !== took) place.lastChild.textContent = took;
}

function set(place, value) {
  const text = String(value);
  if (place.textContent !== text) place.textContent = text;
}
