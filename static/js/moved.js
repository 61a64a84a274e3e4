// What a rebalance moved, the moment it ends: the counterpart of groups/_moved.html.

import { duration, memberName, moves, nameOf, number, ranges, visible } from "./formats.js";
import { time } from "./times.js";

const SHOWN = 8;

const place = document.getElementById("moved");

/** Shows the moves of a rebalance that ended; its parts give names to the ids in it, and so do `members`. */
export function showMoved(rebalance, members) {
  const names = new Map(members.map((member) => [member.member_id, nameOf(member)]));
  for (const part of rebalance.parts) if (part.name) names.set(part.member_id, visible(part.name));
  const nameFor = (memberId) => names.get(memberId) ?? memberName(memberId);
  const grouped = moves(rebalance.moved);
  const list = element("ul", "moves");
  list.append(...grouped.slice(0, SHOWN).map((move) => line(move, nameFor)));
  place.replaceChildren(heading(rebalance), list);
  if (grouped.length > SHOWN) place.append(element("p", "faint", `and ${number(grouped.length - SHOWN)} more`));
}

function heading(rebalance) {
  const head = element("h3");
  const count = rebalance.moved_count;
  if (count) head.append(element("span", "accented", `${number(count)} moved`), `, ${number(rebalance.kept)} kept `);
  else head.append(`Nothing moved, ${number(rebalance.kept)} kept `);
  const where = element("span", "faint", `in ${rebalance.kind === "consumer" ? "epoch" : "generation"} ${rebalance.generation_after}, `);
  where.append(time(rebalance.ended_at));
  head.append(where);
  return head;
}

function line(move, nameFor) {
  const item = element("li");
  const what = element("b", "", `${visible(move.topic)} `);
  what.append(element("span", "accented", ranges(move.partitions)));
  const arrow = element("span", "", "→");
  arrow.ariaHidden = "true";
  const parts = [what, element("span", "", nameFor(move.from)), arrow, element("span", "hidden", "to"), element("span", "", nameFor(move.to))];
  if (move.without_ms != null) parts.push(element("span", "faint", `${duration(move.without_ms)} without a reader`));
  item.append(...parts.flatMap((part) => [part, " "]));
  return item;
}

function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}
