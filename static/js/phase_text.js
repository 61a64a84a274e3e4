// The phase a group is in, in words: the counterpart of groups/views/phase.py, which a test compares.
// Pure: knows no document and no clock.

import { assignment, duration, nameOf, visible } from "./formats.js";

const CALM = {
  Stable: "The group waits for nobody.",
  Empty: "Nobody is in the group. Its offsets are kept until they expire.",
  Dead: "The group is gone. A client that joins makes it anew.",
  Assigning: "The next heartbeat of a member has the coordinator work out the new assignment.",
  Reconciling: "Members give up and take over partitions, each at its next heartbeat.",
};

/** Timers of consumer groups, which name whom they wait for in an order of their own. */
const OWN_ORDER = ["revocation", "heartbeat", "away"];

/** Waits that the end of the member's session may end, which moves with each heartbeat. */
const SESSION_ENDS = ["rebalance", "heartbeat", "away"];

/** Phases of a consumer group in which nobody is waited for by name. */
const HEADS = { assigning: "Waiting for a heartbeat", reconciling: "Taking over partitions" };

const UNTIL = {
  session: "is silent, and is removed when its session of {session} ends",
  rebalance: "has not rejoined, and is removed when its rebalance timeout of {rebalance} ends",
  pending_member: "got a member id and has not joined with it; the id is given up when its time ends",
  sync: "leads the group and has not handed out the partitions; the group starts over when its time ends",
  revocation: "has not given up {holds}, and is removed when its rebalance timeout of {rebalance} ends",
  heartbeat: "is told of it at its next heartbeat, and is removed when its session of {session} ends without one",
  away: "is a static member between two lives; its partitions wait for it until its session of {session} ends",
};

/** `head`, `text`, and since when and until when (milliseconds since 1970, null for open). */
export function phaseWords(group) {
  const { phase } = group;
  const since = Date.parse(phase.since);
  const waiting = phase.waiting_for.map((one) => soonest(one, group));
  const head = group.rebalance ? headOf(group, waiting) : group.state;
  if (!waiting.length) {
    const text = !group.rebalance || phase.name in HEADS ? (CALM[group.state] ?? "") : "";
    return { head, text, since, until: null };
  }
  const first = OWN_ORDER.includes(waiting[0].timer) ? waiting[0] : waiting.reduce((a, b) => (b.deadline < a.deadline ? b : a));
  return { head, text: firstOf(first, phase.waiting_count), since, until: first.deadline };
}

function headOf(group, waiting) {
  const { name, waiting_count: count } = group.phase;
  if (name in HEADS) return count ? `Waiting for ${count} of ${Math.max(group.member_count, count)}` : HEADS[name];
  if (name === "joining" && waiting[0]?.timer === "initial_delay") return "Waiting for more members";
  if (name === "joining" && count) return `Waiting for ${count} of ${Math.max(group.member_count, count)} to rejoin`;
  if (name === "joining") return "Everybody has rejoined";
  return waiting.length ? "Waiting for the assignment" : "Handing out the assignment";
}

function firstOf(first, count) {
  if (first.timer === "initial_delay") {
    return "A new group waits a moment, so that members that start together share its first generation.";
  }
  const more = count > 1 ? ` And ${count - 1} more.` : "";
  const until = (UNTIL[first.timer] ?? "is awaited").replace(/\{(\w+)\}/g, (_, name) => first[name] ?? "");
  return `${first.name} ${until}.${more}`;
}

/** An awaited member with its name, and with its session's end where that comes before the end of the wait. */
function soonest(one, group) {
  const deadline = Date.parse(one.deadline);
  const member = group.members.find((row) => row.member_id === one.member_id);
  if (!member) return { name: visible(one.client_id || one.member_id || "A member"), timer: one.timer, deadline };
  const [session, rebalance] = [duration(member.session_timeout_ms), duration(member.rebalance_timeout_ms)];
  const holds = assignment(member.gives_up) || "its partitions";
  const found = { name: nameOf(member), timer: one.timer, deadline, session, rebalance, holds };
  if (SESSION_ENDS.includes(one.timer) && member.last_heartbeat_at) {
    const ends = Date.parse(member.last_heartbeat_at) + member.session_timeout_ms;
    if (one.timer !== "rebalance") return { ...found, deadline: ends };
    if (ends < deadline) return { ...found, timer: "session", deadline: ends };
  }
  return found;
}
