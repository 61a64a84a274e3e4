// How numbers, durations, ids and moves are written. The same rules as groups/templatetags/console.py: a test compares.
// Pure: knows no document and no clock.

const UNKNOWN = "–";

/** A whole number with its thousands apart. Takes numbers, digits of any length, null for what is not known. */
export function number(value) {
  if (value === null || value === undefined || value === "") return UNKNOWN;
  return BigInt(value).toLocaleString("en");
}

/** A number of a row, exact also where JSON carries it as text beside. */
export function twin(row, name) {
  return row[`${name}_str`] ?? row[name];
}

/** Milliseconds in their largest sensible unit: 250 ms, 1.9 s, 45 s, 12 min, 9 h, 3 d. */
export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return UNKNOWN;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1).replace(/\.0$/, "")} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** A duration that runs while somebody looks: seconds with one digit behind the point, then minutes. */
export function running(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
}

/** A past moment relative to another one; whole seconds, so that it does not flicker. */
export function ago(pastMs) {
  if (pastMs < 0) return `in ${duration(-pastMs)}`;
  return pastMs < 1000 ? "now" : `${duration(Math.floor(pastMs / 1000) * 1000)} ago`;
}

/** An id with everything in it to be seen: control characters as pictures, spaces at its ends as open boxes. */
export function visible(id) {
  if (id === null || id === undefined) return UNKNOWN;
  if (id === "") return "(the empty id)";
  const shown = Array.from(id, picture).join("");
  const inner = shown.replace(/^ +| +$/g, "");
  const before = shown.length - shown.replace(/^ +/, "").length;
  return "␣".repeat(before) + inner + "␣".repeat(shown.length - before - inner.length);
}

const SEEN = { "\n": "↵", "\r": "␍", "\t": "⇥" };

function picture(mark) {
  const code = mark.codePointAt(0);
  if (mark in SEEN) return SEEN[mark];
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(mark) && mark !== "\u200d") {
    return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  }
  return mark;
}

const UUID = /-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What an operator knows a member by when only its id is left: the id without the random end that Kafka gives it. */
export function memberName(memberId) {
  return memberId === null ? "nobody" : visible(memberId.replace(UUID, "") || memberId);
}

/** What an operator knows a member by: its instance, else its client, else its member id. */
export function nameOf(member) {
  return visible(member.instance_id || member.client_id || member.member_id);
}

/** Partition numbers as ranges: 0–2, 5, 7–8. */
export function ranges(partitions) {
  const runs = [];
  for (const partition of [...partitions].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && partition === last[1] + 1) last[1] = partition;
    else runs.push([partition, partition]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

/** An assignment in one line: orders 0–2; refunds 1. */
export function assignment(parts) {
  return parts.map((part) => `${visible(part.topic)} ${ranges(part.partitions)}`).join("; ");
}

/** Members that another one waits for, by name. */
const WAITS_SHOWN = 3;

/** What a member of a consumer group has still to do, a line each. */
export function steps(member) {
  const waits = member.waits_for.slice(0, WAITS_SHOWN);
  const lines = waits.map((part) => `waits for ${assignment([part])} from ${visible(part.name)}`);
  if (member.gives_up.length) lines.unshift(`gives up ${assignment(member.gives_up)}`);
  if (member.waits_for.length > WAITS_SHOWN) lines.push(`and for ${member.waits_for.length - WAITS_SHOWN} more`);
  if (member.gets.length) lines.push(`gets ${assignment(member.gets)} at its next heartbeat`);
  return lines;
}

/** The epoch that a member of a consumer group is at, against the group's; nothing for one that is away. */
export function epochOf(member, group) {
  if (group.group_epoch === null || member.epoch < 0) return "";
  return member.epoch === group.group_epoch ? `epoch ${member.epoch}` : `epoch ${member.epoch} of ${group.group_epoch}`;
}

/** That members of both protocols are in a consumer group; nothing where they are not. */
export function mixed(group) {
  const classic = group.classic_member_count;
  return classic ? `${number(classic)} of ${number(group.member_count)} members on the classic protocol` : "";
}

/** Moved partitions by topic and by who gave and who took them: topic, partitions, from, to. */
export function moves(moved) {
  const grouped = new Map();
  for (const one of moved) {
    const key = JSON.stringify([one.topic, one.from ?? "", one.to ?? ""]);
    if (!grouped.has(key)) grouped.set(key, { topic: one.topic, from: one.from, to: one.to, partitions: [], without_ms: null });
    const row = grouped.get(key);
    row.partitions.push(one.partition);
    if (one.without_ms != null) row.without_ms = Math.max(row.without_ms ?? 0, one.without_ms);
  }
  return [...grouped.keys()].sort().map((key) => grouped.get(key));
}
