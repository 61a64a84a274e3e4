// A group's description and what changes in it: the counterpart of groups/changes.py.
// Pure: knows no document.

/** The description after a difference; null when the group is gone. Members are merged one by one, null takes one away. */
export function merged(held, changes) {
  if (changes === null) return null;
  const { members: changed = {}, ...rest } = changes;
  const whole = { ...held, ...rest };
  for (const [name, value] of Object.entries(rest)) {
    if (name.endsWith("_str") && value === null) delete whole[name];
  }
  if (Object.keys(changed).length || !held) whole.members = mergedMembers(held?.members ?? [], changed);
  return whole;
}

function mergedMembers(held, changed) {
  const members = new Map(held.map((member) => [member.member_id, member]));
  for (const [memberId, row] of Object.entries(changed)) {
    if (row === null) members.delete(memberId);
    else members.set(memberId, { ...row, last_heartbeat_at: later(row, members.get(memberId)) });
  }
  return [...members.values()].sort((a, b) => (a.member_id < b.member_id ? -1 : 1));
}

/** Heartbeat times travel apart from the rest: the later one is true. */
function later(row, held) {
  const times = [row.last_heartbeat_at, held?.last_heartbeat_at].filter(Boolean).sort();
  return times.at(-1) ?? null;
}

/** The description after the heartbeats of a ping. */
export function heardFrom(held, heartbeats) {
  if (!Object.keys(heartbeats).length) return held;
  const members = held.members.map((member) => {
    const at = heartbeats[member.member_id];
    return at && at > (member.last_heartbeat_at ?? "") ? { ...member, last_heartbeat_at: at } : member;
  });
  return { ...held, members };
}
