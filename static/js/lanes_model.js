// What each member of a group did over the last minutes: the timeline without its drawing.
//
// Job: from a description, its changes and finished rebalances to lanes of segments, rebalance spans and generation marks.
// Rules: times are the server's, in milliseconds since 1970. What was before the page was opened is told from the finished
// rebalances, as exactly as those know it. A member is silent since its last heartbeat once it missed one by far. A member
// that left keeps its lane until that leaves the window; one of the same name and host that comes later goes on in that
// lane, because it is the same process to whoever looks after it. Bounded: what is older than KEEP_MS is dropped.
// Pure: knows no document and no clock.

import { nameOf, memberName, steps } from "./formats.js";

export const KEEP_MS = 15 * 60_000;

const KINDS = {
  joining: "joining",
  missing: "missing",
  syncing: "syncing",
  unsynced: "syncing",
  behind: "missing",
  revoking: "revoking",
  waiting: "waiting",
  assigning: "stable",
  reconciling: "stable",
  stable: "stable",
  away: "away",
};

/** Kinds in the order in which a reader wants to see their members. */
export const URGENCY = ["silent", "missing", "revoking", "ended", "joining", "waiting", "syncing", "away", "stable"];

/** A member that is not heard for so much of its session is called silent. Clients beat every third of it or more often. */
const SILENT_SHARE = 0.5;
const SILENT_AT_LEAST_MS = 3500;
/** A member is new for so long. */
const NEW_MS = 30_000;

/** Causes by which a member goes, and how its lane ends. */
const ENDS = { session_expired: "expired", rebalance_timeout: "late", member_left: "left", member_removed: "removed" };

/** How a lane ends whose member is no longer there, as long as nobody said why. */
const GONE = "left";

export class LanesModel {
  constructor() {
    this.lanes = new Map();
    this.spans = [];
    this.generations = [];
    /** Grows whenever spans or generations change; each lane has such a number too. Views draw anew what grew. */
    this.version = 0;
  }

  /** Takes over a whole description; `past` holds finished rebalances, the newest first. */
  begin(group, past, at) {
    if (!this.lanes.size) this.recall(group, past, at);
    this.update(group, at);
  }

  /** Takes over the description as it is since `at`. */
  update(group, at) {
    const present = new Set();
    for (const member of group?.members ?? []) {
      present.add(member.member_id);
      this.see(member, group, at);
    }
    for (const lane of this.lanes.values()) {
      if (!present.has(lane.id) && lane.to === null) end(lane, at, GONE);
    }
    this.seeRebalance(group, at);
    this.forget(at);
  }

  /** Takes over an event: why a member went, where a rebalance ended. */
  note(event, at) {
    const lane = this.find(event.member_id);
    if (event.kind === "member_expired" && lane) this.expire(lane, at, event.silent_ms);
    if (event.kind === "member_left" && lane) end(lane, at, "left");
    if (event.kind === "member_fenced" && lane) end(lane, at, "fenced");
    if (event.kind === "rebalance_completed" && event.rebalance) {
      this.mark(event.rebalance);
    }
  }

  /** Takes over the heartbeats of a ping: member id to ISO 8601. */
  beat(heartbeats) {
    for (const [memberId, iso] of Object.entries(heartbeats)) {
      const lane = this.lanes.get(memberId);
      if (lane) hear(lane, Date.parse(iso), { live: true });
    }
  }

  /** A member's lane, also when somebody else goes on in it. */
  find(memberId) {
    const all = [...this.lanes.values()];
    return this.lanes.get(memberId) ?? all.flatMap((lane) => lane.earlier).find((lane) => lane.id === memberId);
  }

  see(member, group, at) {
    let lane = this.lanes.get(member.member_id);
    if (!lane) {
      lane = newLane(member.member_id, Math.min(at, Date.parse(member.joined_at ?? "") || at));
      Object.assign(lane, { name: nameOf(member), host: member.host });
      this.add(lane);
    }
    if (lane.to !== null) Object.assign(lane, { to: null, outcome: null, version: lane.version + 1 });
    Object.assign(lane, {
      name: nameOf(member),
      host: member.host,
      sessionMs: member.session_timeout_ms,
      assignment: member.assignment,
      isLeader: member.is_leader,
      step: steps(member)[0],
    });
    if (member.last_heartbeat_at) hear(lane, Date.parse(member.last_heartbeat_at));
    turn(lane, KINDS[member.state] ?? "stable", at);
  }

  /** A new lane; it goes on in the lane of somebody of that name who is gone. */
  add(lane) {
    const gone = [...this.lanes.values()]
      .filter((one) => one.to !== null && one.to <= lane.from && one.name === lane.name)
      .filter((one) => !one.host || !lane.host || one.host === lane.host)
      .sort((a, b) => b.to - a.to)[0];
    if (gone) {
      this.lanes.delete(gone.id);
      lane.earlier = [...gone.earlier, gone];
      lane.host ||= gone.host;
    }
    this.lanes.set(lane.id, lane);
  }

  seeRebalance(group, at) {
    const open = this.spans.find((span) => span.to === null);
    if (group?.rebalance && !open) {
      this.spans.push({ from: Date.parse(group.rebalance.started_at), to: null, cause: group.rebalance.cause_text });
      this.version += 1;
    } else if (!group?.rebalance && open) {
      open.to = at;
      this.version += 1;
    }
  }

  expire(lane, at, silentMs) {
    const since = (silentMs ?? null) === null ? lane.heardAt : at - silentMs;
    if (since) lane.silences.push({ from: Math.max(since, lane.from), to: lane.to ?? at });
    end(lane, at, "expired");
  }

  /** The generation that a rebalance ended with, or the epoch. */
  mark({ ended_at: endedAt, generation_after: generation, kind }) {
    if (this.generations.some((one) => one.generation === generation && one.kind === kind)) return;
    this.version += 1;
    this.generations.push({ at: Date.parse(endedAt), generation, kind });
    this.generations.sort((a, b) => a.at - b.at);
  }

  /** Members that are here now, and those that went in a rebalance that is remembered. */
  recall(group, past, at) {
    const recent = past.filter((one) => Date.parse(one.ended_at) > at - KEEP_MS).reverse();
    const joined = new Map();
    for (const one of recent) {
      const began = Date.parse(one.started_at);
      this.spans.push({ from: began, to: Date.parse(one.ended_at), cause: one.cause_text });
      this.mark(one);
      for (const cause of [one, ...one.also]) {
        if (cause.cause === "member_joined") joined.set(cause.member_id, began);
        else this.recallEnd(cause, joined.get(cause.member_id) ?? at - KEEP_MS, began, group, recent);
      }
    }
    for (const member of group?.members ?? []) this.recallMember(member, group, recent, at);
  }

  recallMember(member, group, recent, at) {
    const from = Math.max(Date.parse(member.joined_at ?? "") || 0, at - KEEP_MS);
    const lane = newLane(member.member_id, from);
    Object.assign(lane, { name: nameOf(member), host: member.host });
    this.add(lane);
    recallSegments(lane, recent, Infinity);
    const running = group.rebalance && member.state !== "stable";
    if (running) turn(lane, KINDS[member.state] ?? "stable", Math.max(Date.parse(group.rebalance.started_at), from));
  }

  recallEnd(cause, from, at, group, recent) {
    const present = group?.members.some((member) => member.member_id === cause.member_id);
    if (!(cause.cause in ENDS) || !cause.member_id || present) return;
    const lane = newLane(cause.member_id, from);
    lane.name = cause.detail?.instance_id || cause.detail?.client_id || memberName(cause.member_id);
    this.add(lane);
    recallSegments(lane, recent, at);
    if (ENDS[cause.cause] === "expired") this.expire(lane, at, cause.detail?.silent_ms ?? null);
    else end(lane, at, ENDS[cause.cause]);
  }

  forget(at) {
    const oldest = at - KEEP_MS;
    for (const [memberId, lane] of this.lanes) {
      if (lane.to !== null && lane.to < oldest) this.lanes.delete(memberId);
      lane.earlier = lane.earlier.filter((one) => one.to > oldest);
      while (lane.segments.length > 1 && lane.segments[1].from < oldest) lane.segments.shift();
      while (lane.silences.length && lane.silences[0].to < oldest) lane.silences.shift();
    }
    this.spans = this.spans.filter((span) => span.to === null || span.to > oldest);
    this.generations = this.generations.filter((one) => one.at > oldest);
  }
}

/** What a member did in the rebalances that are remembered, up to a moment. One that joined in the middle of one is
    shown from then on. */
function recallSegments(lane, recent, until) {
  turn(lane, "stable", lane.from);
  for (const one of recent) {
    let since = Date.parse(one.started_at);
    if (Date.parse(one.ended_at) <= lane.from || since >= until) continue;
    for (const phase of one.phases) {
      const ended = since + phase.duration_ms;
      if (ended > lane.from) turn(lane, KINDS[phase.name] ?? "syncing", Math.max(since, lane.from));
      since = ended;
    }
    turn(lane, "stable", Date.parse(one.ended_at));
  }
  lane.heardAt = null;
}

function newLane(id, from) {
  return {
    id,
    name: memberName(id),
    host: "",
    from,
    to: null,
    outcome: null,
    heardAt: null,
    heardLive: false,
    sessionMs: 0,
    assignment: [],
    isLeader: false,
    step: undefined,
    segments: [],
    silences: [],
    earlier: [],
    version: 0,
  };
}

function turn(lane, kind, at) {
  const last = lane.segments.at(-1);
  if (last?.kind === kind) return;
  lane.version += 1;
  lane.segments.push({ kind, from: last ? Math.max(at, last.from) : Math.min(at, lane.from) });
  // Every turn but one is a member's own request, or the answer to it: then it was heard.
  if (last && kind !== "missing") lane.heardAt = Math.max(lane.heardAt ?? 0, at);
}

/** A heartbeat. Only between two that this page heard itself can a silence have been: a description's may be old. */
function hear(lane, at, { live = false } = {}) {
  if (lane.heardAt !== null && at <= lane.heardAt) return;
  if (live && lane.heardLive && isSilence(lane, at) && kindAt(lane) !== "joining") {
    lane.silences.push({ from: lane.heardAt, to: at });
    lane.version += 1;
  }
  lane.heardAt = at;
  lane.heardLive ||= live;
}

/** A description may be newer than the event that says why a member went: the reason may come afterwards. */
function end(lane, at, outcome) {
  lane.version += 1;
  lane.to ??= at;
  if (lane.outcome === null || lane.outcome === GONE) lane.outcome = outcome;
}

function isSilence(lane, at) {
  return at - lane.heardAt > Math.max(SILENT_AT_LEAST_MS, lane.sessionMs * SILENT_SHARE);
}

function kindAt(lane) {
  return lane.segments.at(-1)?.kind ?? "stable";
}

/** How long a member has been silent, null while it is not. One whose request is parked need not beat. */
export function silentMs(lane, at) {
  const beats = !["joining", "syncing", "away"].includes(kindAt(lane));
  return lane.to === null && beats && lane.heardAt !== null && isSilence(lane, at) ? at - lane.heardAt : null;
}

/** What a member is doing now, in one of URGENCY's words. */
export function kindNow(lane, at) {
  if (lane.to !== null) return "ended";
  return silentMs(lane, at) !== null ? "silent" : kindAt(lane);
}

/** Whether a member joined a moment ago. */
export function isNew(lane, at) {
  return lane.to === null && at - lane.from < NEW_MS;
}

/** How many members did what at a moment: kind to count. */
export function crowdAt(lanes, at) {
  const counts = {};
  for (const lane of lanes.flatMap((one) => [...one.earlier, one])) {
    if (at < lane.from || (lane.to !== null && at > lane.to)) continue;
    const silent = lane.silences.some((one) => at >= one.from && at <= one.to);
    const kind = silent ? "silent" : (lane.segments.findLast((one) => one.from <= at)?.kind ?? "stable");
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}
