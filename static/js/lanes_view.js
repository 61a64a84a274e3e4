// The timeline of a group's members, drawn.
//
// Job: one lane per member with what it did, is doing and holds; for many members a crowd with its counts over time, the
// lanes that matter on top, and the rest on demand.
// Rules: a change is drawn in the same turn in which it is told; between changes only transforms move. Lanes keep their
// places while the pointer is over them. Only lanes that can be seen are in the document.
// Must not know: sockets.

import { now } from "./clock.js";
import { assignment, number, running, visible } from "./formats.js";
import { drawOver, hushPattern, scaleOf, svg } from "./lanes_axis.js";
import { drawCrowd } from "./lanes_crowd.js";
import { KEEP_MS, URGENCY, isNew, kindNow, silentMs } from "./lanes_model.js";

const MANY = 16;
const SHOWN_OF_MANY = 12;
const TICK_MS = 100;
const SLOW_TICK_MS = 1000;
const SLACK_ROWS = 4;
const WINDOW_KEY = "kaas.lanes";
const NARROW_PX = 560;
/** Of a member that comes and goes all the time, so many of its last lives are drawn. */
const LIVES_DRAWN = 40;

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class LanesView {
  constructor(root, model) {
    this.model = model;
    this.root = root;
    this.rows = root.querySelector(".lanes-rows");
    this.over = root.querySelector(".lanes-over");
    this.more = root.querySelector(".lanes-more");
    this.crowd = root.querySelector("[data-crowd]");
    this.template = document.getElementById("lane");
    this.shown = new Map();
    this.order = [];
    this.all = false;
    this.over.prepend(hushPattern());
    this.switches();
    this.rows.addEventListener("scroll", () => this.place());
    new ResizeObserver(() => this.measure()).observe(this.over);
    this.loop();
  }

  /** The model changed: draws what is new of it at once. */
  changed() {
    this.arrange();
    this.place();
    for (const [id, row] of this.shown) {
      const lane = this.model.lanes.get(id);
      if (lane && row.drawn !== lane.version) this.drawLane(row, lane);
    }
    if (this.overDrawn !== this.model.version) this.drawOverlay();
    this.tick();
  }

  // Which lanes, in which order

  arrange() {
    const at = now();
    const from = at - this.windowMs;
    const seen = [...this.model.lanes.values()].filter((lane) => lane.to === null || lane.to > from);
    this.many = seen.length > MANY;
    if (this.many && this.root.matches(":hover") && this.order.length) {
      const kept = new Set(seen.map((lane) => lane.id));
      this.order = this.order.filter((id) => kept.has(id));
      const placed = new Set(this.order);
      this.order.push(...seen.filter((lane) => !placed.has(lane.id)).map((lane) => lane.id));
    } else {
      this.order = seen.sort(this.many ? byUrgency(at) : byName).map((lane) => lane.id);
    }
    this.seen = seen;
    this.root.querySelector(".lanes-none").hidden = seen.length > 0;
    this.root.querySelector(".lanes-field").classList.toggle("without", !seen.length);
    this.showMore();
  }

  /** Of many members only those that are not simply stable, unless all are asked for. */
  visibleIds() {
    if (!this.many || this.all) return this.order;
    const at = now();
    const stirred = this.order.filter((id) => kindNow(this.model.lanes.get(id), at) !== "stable");
    return stirred.slice(0, SHOWN_OF_MANY);
  }

  showMore() {
    const hidden = this.order.length - this.visibleIds().length;
    this.more.hidden = !this.many;
    this.crowd.hidden = !this.many;
    const [text, button] = this.more.children;
    text.textContent = this.all || !hidden ? "" : moreText(hidden, this.order.length);
    button.textContent = this.all ? "Show only what stirs" : `Show all ${number(this.order.length)}`;
    button.setAttribute("aria-expanded", String(this.all));
  }

  /** Puts the lanes that can be seen into the document, and takes the others out. */
  place() {
    const ids = this.visibleIds();
    const scrolls = this.many && this.all;
    this.rows.toggleAttribute("data-many", scrolls);
    this.rowPx ??= this.measureRow();
    const first = scrolls ? Math.max(0, Math.floor(this.rows.scrollTop / this.rowPx) - SLACK_ROWS) : 0;
    const count = scrolls ? Math.ceil(this.rows.clientHeight / this.rowPx) + 2 * SLACK_ROWS : ids.length;
    const wanted = ids.slice(first, first + count);
    const keep = new Set(wanted);
    for (const [id, row] of this.shown) {
      if (keep.has(id)) continue;
      row.remove();
      this.shown.delete(id);
    }
    let before = null;
    for (const id of wanted) {
      const row = this.shown.get(id) ?? this.makeRow(id);
      const next = before ? before.nextElementSibling : this.rows.firstElementChild;
      if (next !== row) this.rows.insertBefore(row, next);
      before = row;
    }
    // What is scrolled past stands as space above and below, so that the bar tells the truth.
    this.rows.style.setProperty("--above", `${first * this.rowPx}px`);
    this.rows.style.setProperty("--below", `${Math.max(0, ids.length - first - wanted.length) * this.rowPx}px`);
  }

  measureRow() {
    const probe = this.template.content.firstElementChild.cloneNode(true);
    this.rows.append(probe);
    const height = probe.offsetHeight;
    probe.remove();
    return height || 30;
  }

  makeRow(id) {
    const row = this.template.content.firstElementChild.cloneNode(true);
    row.dataset.member = id;
    this.shown.set(id, row);
    this.drawLane(row, this.model.lanes.get(id));
    return row;
  }

  // Drawing

  drawLane(row, lane) {
    if (!lane || !this.scale) return;
    row.drawn = lane.version;
    const [name, host] = row.querySelector(".lane-name").children;
    setText(name, lane.name);
    setText(host, lane.host && visible(lane.host));
    row.querySelector(".lane-name").title = `${lane.id} ${lane.host}`;
    row.toggleAttribute("data-ended", lane.to !== null);
    const plot = row.querySelector("g");
    const height = row.querySelector(".lane-plot").clientHeight || 16;
    plot.replaceChildren(...this.segments(lane, height));
    this.drawNote(row, lane, now());
    plot.setAttribute("transform", `translate(${this.scale.shift(now())} 0)`);
  }

  segments(lane, height) {
    const from = now() - this.windowMs;
    const seen = [...lane.earlier, lane].filter((one) => one.to === null || one.to > from);
    return seen.slice(-LIVES_DRAWN).flatMap((one) => this.segmentsOf(one, height));
  }

  segmentsOf(lane, height) {
    const end = lane.to ?? this.scale.origin + KEEP_MS * 1000;
    const parts = lane.segments.map((one, index) => {
      const to = Math.min(lane.segments[index + 1]?.from ?? end, end);
      return this.bar(`seg-${one.kind}`, Math.max(one.from, lane.from), to, height);
    });
    for (const one of lane.silences) parts.push(this.bar("seg-silent", one.from, one.to, height));
    if (silentMs(lane, now()) !== null) parts.push(this.bar("seg-silent", lane.heardAt, end, height));
    if (lane.to !== null) parts.push(svg("rect", { class: `end-${lane.outcome}`, x: this.scale.x(lane.to) - 2, width: 3, height }));
    return parts.filter(Boolean);
  }

  bar(kind, from, to, height) {
    const oldest = this.scale.origin - KEEP_MS;
    const x = this.scale.x(Math.max(from, oldest));
    // Far beyond now is far enough: the field cuts it off, and a browser keeps such numbers exact.
    const width = Math.min(this.scale.x(to) - x, 1e6) - 1;
    if (to <= from) return null;
    const inset = kind === "seg-missing" || kind === "seg-away" ? 1 : 0;
    const size = { y: inset, height: height - 2 * inset, rx: 3 };
    return svg("rect", { class: kind, x, width: Math.max(1.5, width), ...size });
  }

  drawNote(row, lane, at) {
    const note = row.querySelector(".lane-note");
    const [text, tone] = noteOf(lane, at);
    setText(note, text);
    note.dataset.tone = tone;
    if (tone === "") note.title = text;
  }

  drawOverlay() {
    if (!this.scale || this.root.hidden) return;
    const at = now();
    const group = this.over.querySelector("g");
    drawOver(group, this.model, this.scale, at, this.over.clientHeight);
    group.setAttribute("transform", `translate(${this.scale.shift(at)} 0)`);
    if (this.many) drawCrowd(this.crowd, this.seen, this.scale, at);
    this.drawnAt = at;
    this.overDrawn = this.model.version;
  }

  measure() {
    const width = this.over.clientWidth;
    if (!width) return;
    this.rowPx = null;
    this.windowMs ??= width < NARROW_PX ? 60_000 : this.chosenWindow();
    this.scale = scaleOf({ width, windowMs: this.windowMs, origin: now() });
    this.overDrawn = null;
    for (const row of this.shown.values()) row.drawn = null;
    this.changed();
  }

  // Time goes on

  loop() {
    const turn = () => {
      if (!document.hidden && this.scale) this.tick();
      setTimeout(() => requestAnimationFrame(turn), still.matches ? SLOW_TICK_MS : TICK_MS);
    };
    turn();
  }

  tick() {
    if (!this.scale) return;
    const at = now();
    const shift = `translate(${this.scale.shift(at)} 0)`;
    this.over.querySelector("g").setAttribute("transform", shift);
    for (const [id, row] of this.shown) {
      const lane = this.model.lanes.get(id);
      if (!lane) continue;
      const silent = silentMs(lane, at) !== null;
      if (silent !== "silent" in row.dataset) {
        row.toggleAttribute("data-silent", silent);
        this.drawLane(row, lane);
      }
      row.querySelector("g").setAttribute("transform", shift);
      this.drawNote(row, lane, at);
    }
    if (at - this.drawnAt > SLOW_TICK_MS) {
      if (this.many) this.arrange();
      this.place();
      this.drawOverlay();
    }
  }

  // Switches

  switches() {
    const buttons = document.querySelectorAll("[data-lanes-window] button");
    const show = () => buttons.forEach((one) => one.setAttribute("aria-pressed", String(+one.value === this.chosenWindow())));
    for (const button of buttons) {
      button.addEventListener("click", () => {
        localStorage.setItem(WINDOW_KEY, button.value);
        this.windowMs = +button.value;
        show();
        this.measure();
      });
    }
    show();
    this.more.querySelector("button").addEventListener("click", () => {
      this.all = !this.all;
      this.changed();
    });
  }

  chosenWindow() {
    return Number(localStorage.getItem(WINDOW_KEY)) || 60_000;
  }
}

function moreText(hidden, all) {
  return hidden === all ? "Every member is stable." : `${number(hidden)} more, none of them more urgent than these.`;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const byName = (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }) || (a.id < b.id ? -1 : 1);

function byUrgency(at) {
  const rank = (lane) => URGENCY.indexOf(kindNow(lane, at)) - (isNew(lane, at) ? 0.5 : 0);
  return (a, b) => rank(a) - rank(b) || byName(a, b);
}

const OUTCOMES = { expired: "session expired", late: "did not rejoin", removed: "removed", fenced: "fenced" };

/** What stands beside a lane, and in which tone: the state that matters, else what the member holds. */
function noteOf(lane, at) {
  const kind = kindNow(lane, at);
  if (kind === "ended") return [OUTCOMES[lane.outcome] ?? "left", "quiet"];
  if (kind === "silent") return [`silent for ${running(silentMs(lane, at))}`, "warning"];
  if (kind === "missing") return ["awaited", "warning"];
  if (kind === "revoking") return [lane.step ?? "gives partitions up", "warning"];
  if (kind === "waiting") return [lane.step ?? "waits for partitions", "busy"];
  if (kind === "away") return ["away, its partitions wait", "quiet"];
  if (kind === "joining") return [isNew(lane, at) ? "new, joining" : "rejoined", "busy"];
  if (kind === "syncing") return ["waits for its assignment", "busy"];
  if (lane.assignment === null) return ["assignment in bytes", "quiet"];
  return lane.assignment.length ? [assignment(lane.assignment), ""] : ["no partitions", "quiet"];
}
