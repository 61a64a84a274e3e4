// The members of a group, live. Rows come from the same partial as the page's own, by way of a <template>.

import { now } from "./clock.js";
import { assignment, duration, epochOf, nameOf, number, steps, twin, visible } from "./formats.js";
import { setWord } from "./words.js";

const TICK_MS = 500;
const LATE_SHARE = 0.5;
const BASE = location.pathname;

const section = document.getElementById("members");
const body = section.querySelector("tbody");
const template = document.getElementById("member-row");
const shown = section.querySelectorAll("[data-when]");
/** A page that shows the first fifty goes on with those, and adds nobody behind them. */
const limited = section.querySelector('a[href*="members=all"]') !== null;

let members = new Map();

/** Shows the members of a description. */
export function showMembers(group) {
  members = new Map(group.members.map((member) => [member.key, member]));
  for (const row of [...body.rows]) {
    if (!members.has(row.dataset.key)) row.remove();
  }
  for (const member of group.members) showMember(member, group);
  for (const part of shown) part.hidden = (part.dataset.when === "members") !== group.members.length > 0;
  tick();
}

/** Takes over heartbeats only. */
export function showHeartbeats(group) {
  members = new Map(group.members.map((member) => [member.key, member]));
  tick();
}

function showMember(member, group) {
  let row = body.querySelector(`tr[data-key="${CSS.escape(member.key)}"]`);
  if (!row) {
    if (limited) return;
    row = template.content.firstElementChild.cloneNode(true);
    row.dataset.key = member.key;
    const remove = row.querySelector("[data-remove]");
    remove.href = `${BASE}members/${member.key}/remove/`;
    remove.lastElementChild.textContent = ` ${nameOf(member)}`;
    body.append(row);
  }
  for (const cell of row.querySelectorAll("[data-cell]")) cells[cell.dataset.cell]?.(cell, member, group);
  row.querySelector("[data-remove]").hidden = !group.actions.remove_member.allowed;
}

const cells = {
  member(cell, member, group) {
    set(cell.querySelector(".name"), nameOf(member));
    set(cell.querySelector(".member-id"), visible(member.member_id));
    const tags = [];
    if (member.is_leader) tags.push(element("span", "leader", "Hands out the partitions", "tag"));
    if (member.kind === "classic" && group.type === "consumer") {
      tags.push(element("span", "classic", "It speaks the classic protocol", "tag"));
    }
    replace(cell.querySelector(".tags"), tags);
  },
  state(cell, member, group) {
    setWord(cell.firstElementChild, "member", member.state);
    set(cell.querySelector(".epoch"), epochOf(member, group));
  },
  host: (cell, member) => set(cell, member.host && visible(member.host)),
  subscription(cell, member) {
    if (member.subscription === null) return setBytes(cell, member.subscription_raw);
    const topics = member.subscription.map(visible).join(", ");
    const { subscription_regex: regex, server_assignor: assignor } = member;
    const parts = [topics || (regex ? "" : "–")];
    if (regex) parts.push(" ", element("code", visible(regex), "Pattern"));
    if (assignor) parts.push(" ", element("span", `asks for ${visible(assignor)}`, "", "faint"));
    replace(cell, parts);
  },
  assignment(cell, member) {
    const has = cell.querySelector(".has");
    if (member.assignment === null) setBytes(has, member.assignment_raw);
    else set(has, assignment(member.assignment) || "none");
    replace(cell.querySelector(".steps"), steps(member).map((step) => element("li", step)));
  },
  lag: (cell, member) => set(cell, number(twin(member, "lag"))),
  heartbeat: (cell, member) => set(cell.querySelector(".session"), `of ${duration(member.session_timeout_ms)}`),
};

function element(name, text, title = "", className = "") {
  return Object.assign(document.createElement(name), { textContent: text, title, className });
}

/** Puts parts in place of what is there, unless they say the same. */
function replace(place, parts) {
  const [before, after] = [place.textContent, parts.map((part) => part.textContent ?? part).join("")];
  if (before.trim().replace(/\s+/g, " ") !== after.trim()) place.replaceChildren(...parts);
}

function setBytes(cell, raw) {
  if (cell.querySelector("code")?.textContent === raw) return;
  const code = document.createElement("code");
  code.textContent = raw;
  cell.replaceChildren("bytes ", code);
}

function set(element, text) {
  if (element.textContent.trim() !== text) element.textContent = text;
}

function tick() {
  for (const row of body.rows) {
    const member = members.get(row.dataset.key);
    if (!member?.last_heartbeat_at) continue;
    const past = Math.max(0, now() - Date.parse(member.last_heartbeat_at));
    const beat = row.querySelector(".beat");
    set(beat, `${duration(past < 1000 ? Math.floor(past / 100) * 100 : past)} ago`);
    beat.toggleAttribute("data-late", past > member.session_timeout_ms * LATE_SHARE);
  }
}

setInterval(() => document.hidden || tick(), TICK_MS);
